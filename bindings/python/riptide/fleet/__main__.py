# SPDX-License-Identifier: MIT
"""riptide-fleet: adds riptided's sums to the site's, sends it those of others; docs/fleet.md."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from . import config, host, sums

try:
    from .site import Site, SiteError
except ImportError as missing:
    sys.exit(f"riptide-fleet: {missing}: install the Debian package python3-redis, or in a checkout pip install './bindings/python[fleet]'")

PAGE = 256  # destinations in one request
FEW = 256  # up to so many are requested each time; of more, the changed ones and 1 / TURNS
TURNS = 6
LIST_S = 600  # after this all destinations are listed again, to drop those that no longer exist
SAY_S = 3  # time for riptided to answer
LINES = 8  # that a failure may have


class Riptided:
    """The control socket of riptided. Errors of each request: OSError, with a line."""

    def __init__(self, path: str) -> None:
        self._path = path

    def ask(self, name: str, **members: Any) -> dict[str, Any]:
        """Sends a request of docs/control.md and returns the answer."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(SAY_S)
            try:
                connection.connect(self._path)
            except OSError as error:
                raise OSError(0, f"{_words(error)}: does riptided run, with this --control?") from error
            connection.sendall(json.dumps({"request": name, **members}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                line = lines.readline()
        try:
            answer: Any = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not answer.get("ok"):
            said = answer.get("error") if isinstance(answer, dict) else None
            remedy = ": set that in riptided.conf, and add the user of riptide-fleet to the group" if "control-group" in str(said) else ""
            raise OSError(0, str(said or "it closed before its answer") + remedy)
        return answer


class Said:
    """Logs each thing that is wrong once, and once that nothing is any more."""

    def __init__(self, back: str) -> None:
        self._back, self._logged, self.is_up = back, set[str](), False

    def says(self, wrong: str) -> None:
        """`wrong`: what is wrong; empty: nothing."""
        if not wrong and self._logged:
            _log(self._back)
            self._logged.clear()
        elif wrong and wrong not in self._logged and len(self._logged) < LINES:  # a server may vary its words
            _log(wrong)
            self._logged.add(wrong)
        self.is_up = not wrong


class Fleet:
    """One host of a site."""

    def __init__(self, given: config.Config, saved: Any = None) -> None:
        """`saved`: what the predecessor has saved (save), after which it has added nothing."""
        self._given = given
        self._sites = [_open(given, given.name, half_life_s) for half_life_s in (given.half_life, given.books_half_life)]
        self._riptided = Riptided(given.control)
        self._riptided_said = Said("riptided: answers again")
        self._engine_said = Said("engine: answers again; what was learned meanwhile is added")
        self._books_said = Said("books: shared again")
        self._lost_said = Said("engine: it has all sums of this host again")
        self._name_said = Said("")  # until the end
        self._trials_said = Said("riptided: has trials")
        if saved and saved["of"] != self._of():
            _log("state: of another site, host, half-life or key: results from the time without riptide-fleet"
                 " are not shared")
            saved = None
        saved = saved or {}
        self._share = host.Share(given.half_life, saved.get("share"))
        self._books_share = host.Share(given.books_half_life, saved.get("books_share"))
        self._life = self._revision = self._connections = self._turn = 0
        self._listed_s = -LIST_S
        self._ladders = {dst: host.Ladder(*one) for dst, one in saved.get("ladders", {}).items()}
        self._books: dict[str, dict[str, float]] = saved.get("books", {})
        self._books_since: Any = saved.get("books_since")
        self._told: dict[str, str] = {}  # the site's sums that riptided has
        self._is_told = False
        self.figures = {"exchanges": 0, "failures": 0, "lost": 0, "from_site": 0}
        self._took_s = 0.0

    def _of(self) -> list[Any]:
        """Identifies the site, host and key; with others, saved data does not apply."""
        given = self._given
        return [given.site, given.name, given.half_life, given.books_half_life, self._sites[0].key_of("0.0.0.0")]

    def save(self) -> dict[str, Any]:
        """The data with which a successor continues, as JSON."""
        return {"of": self._of(), "share": self._share.save(), "books_share": self._books_share.save(),
                "ladders": self._ladders, "books": self._books, "books_since": self._books_since}

    def close(self) -> None:
        """Ends the connections to the engine."""
        for one in self._sites:
            one.close()

    def turn(self) -> None:
        """Adds what riptided has learned to the site's sums, and sends it those of other hosts."""
        try:
            changed = self._learn()
            self._learn_books()
            self._riptided_said.says("")
        except (OSError, ValueError) as error:
            self._riptided_said.says(f"riptided: {self._given.control}: {_words(error)}; tried again each"
                                     f" {self._given.interval:g} s")
            return
        begin_s = time.monotonic()
        others, wrong = self._exchange(changed)
        self._took_s = time.monotonic() - begin_s
        self.figures["failures" if wrong else "exchanges"] += 1
        self._engine_said.says(f"engine: {wrong}; {'' if others else 'riptided continues alone; '}sums are added later"
                               if wrong else "")
        if others or not wrong:
            with contextlib.suppress(OSError):  # the next turn reports it
                self._tell(others)

    def _learn(self) -> set[str]:
        """Takes riptided's changes since the last time; returns the changed destinations."""
        is_whole = time.monotonic() >= self._listed_s + LIST_S
        since, start = 0 if is_whole else self._revision, 0
        changed: set[str] = set()
        revision = None
        while start is not None:
            page = self._riptided.ask("learned", life=self._life, since=since, **{"from": start})
            if page["life"] != self._life:  # another process, which lists all destinations
                self._life, self._is_told, is_whole, self._revision, since = page["life"], False, True, 0, 0
                if start:
                    start, changed, revision = 0, set(), None
                    continue
            for row in page["ladders"]:
                dst, ladder = host.read_ladder(row)
                self._share.put(dst, ladder.sums, host.learned_since(self._ladders.get(dst), ladder))
                self._ladders[dst] = ladder
                changed.add(dst)
            revision = page["revision"] if revision is None else revision
            start = page["next"]
        self._revision = revision or 0
        self._trials_said.says("" if page["trial_percent"] else "riptided: it has no trials: set trial-percent, and apply = connections"
                               " or both; until then only books are shared")
        if is_whole:
            gone = set(self._ladders) - changed
            self._share.forget(gone)
            for dst in gone:
                self._ladders.pop(dst)
                self._told.pop(dst, None)
            self._listed_s = time.monotonic()
        return changed

    def _learn_books(self) -> None:
        answer = self._riptided.ask("books", known=self._connections)
        shares = f"{answer['holdout_percent']} {answer['trial_percent']}"
        begun = [answer["since_s"], shares]
        self._connections = answer["connections"]
        if answer["books"] is None:
            return
        is_void = (answer["pooled"] or {}).get("verdict") == "void"
        self._books_said.says("books: void (`riptide verdict` says why): they would bias the site's, and are not shared"
                              if is_void else "")
        if is_void:
            return
        books = host.read_books(answer["books"], shares)
        since = host.books_since(self._books if begun == self._books_since else {}, books)
        self._books_since, self._books = begun, books
        for key, cells in books.items():
            self._books_share.put(key, cells, since.get(key, {}))

    def _exchange(self, changed: set[str]) -> tuple[dict[str, dict[str, float]], str]:
        """Returns the other hosts' sums for the destinations that were read, empty: there are none;
        and what was wrong, for all keys or for some.
        """
        wanted = set(self._ladders)
        self._turn += 1
        if len(wanted) > FEW:
            wanted = {*sums.turn(wanted, self._turn, TURNS), *changed, *self._share.unsure}
        books = {*sums.turn(self._books, self._turn, TURNS), *self._books_share.unsure}
        n_lost, wrong = 0, ""
        for share, site, keys in zip((self._share, self._books_share), self._sites, (wanted, books)):
            sequence, batch = share.outbox.batch(max(time.time_ns() // 1_000_000, site.sequence + 1))
            try:
                site.exchange(batch, keys, sequence)
            except (SiteError, ValueError) as error:
                wrong = wrong or _words(error)
            n_lost += share.confirm(batch, site.own, time.time_ns() / 1e6)
        self.figures["lost"] += n_lost
        self._name_said.says("host: somebody else has this host's name, so that neither gets what the other learns: set another `host`"
                             if any(site.is_shared for site in self._sites) else "")
        self._lost_said.says("engine: it had lost sums of this host, which are added again" if n_lost else "")
        found = {dst: one for dst, one in self._sites[0].found.items() if dst in wanted}
        self.figures["from_site"] = len([1 for one in found.values() if one])
        return found, wrong

    def _tell(self, others: dict[str, dict[str, float]]) -> None:
        """Sends riptided the sums that it lacks; they count for `keep` after the last request."""
        if not self._is_told:
            self._told = {}
        empty = host.write_ladder({}, 1)
        rows = [[dst, text] for dst, text in ((dst, host.write_ladder(one, self._given.weight))
                                              for dst, one in others.items()) if self._told.get(dst, empty) != text]
        for at in range(0, max(len(rows), 1), PAGE):
            some = rows[at:at + PAGE]
            members: dict[str, Any] = {} if self._is_told else {"replace": True}
            self._riptided.ask("site", for_ms=round(1000 * self._given.keep), weight=self._given.weight, ladders=some,
                               **members)
            self._is_told = True
            self._told.update({dst: text for dst, text in some})

    def metrics(self) -> str:
        """The metrics, as text for Prometheus."""
        rows = [("riptide_fleet_engine_up", "gauge", "Whether the last exchange with the engine succeeded", int(self._engine_said.is_up)),
                ("riptide_fleet_riptided_up", "gauge", "Whether riptided has answered last", int(self._riptided_said.is_up)),
                ("riptide_fleet_exchanges_total", "counter", "Exchanges with the engine", self.figures["exchanges"]),
                ("riptide_fleet_failures_total", "counter", "Exchanges that failed", self.figures["failures"]),
                ("riptide_fleet_lost_total", "counter", "Keys that the engine had lost, and has again", self.figures["lost"]),
                ("riptide_fleet_exchange_seconds", "gauge", "How long the last one took", self._took_s),
                ("riptide_fleet_destinations", "gauge", "Destinations with trials", len(self._ladders)),
                ("riptide_fleet_waiting", "gauge", "Keys with sums that the engine does not have yet",
                 len(self._share.outbox) + len(self._books_share.outbox)),
                ("riptide_fleet_from_site", "gauge", "Destinations of the last exchange that others have sums of", self.figures["from_site"])]
        return "".join(f"# HELP {name} {words}.\n# TYPE {name} {kind}\n{name} {value}\n" for name, kind, words, value in rows)


def _open(given: config.Config, name: str, half_life_s: float) -> Site:
    return Site(given.engine, given.site, name, half_life_s=half_life_s, timeout_s=given.timeout, key=given.key,
                username=given.username or None, password=given.password, tls_ca=given.authority)


def _words(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _log(line: str) -> None:
    print(f"riptide-fleet: {line}", file=sys.stderr, flush=True)


def _write(path: Path, text: str) -> None:
    """Writes the file whole or not at all."""
    beside = Path(f"{path}.tmp")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def _state_path() -> Path | None:
    """The path of the state, in the unit's StateDirectory=."""
    folder = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    return Path(folder) / "state" if folder else None


def _read_state() -> Any:
    """Reads the state and removes it: after a crash it would lack what was added since."""
    path = _state_path()
    try:
        if not path:
            return None
        digest, _, text = path.read_text(encoding="utf-8").partition(" ")
        path.unlink()
        if digest != _digest(text):
            raise ValueError("damaged")
        return json.loads(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _log(f"state: {path}: {_words(error)}: results from the time without riptide-fleet are not shared")
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _write_state(saved: dict[str, Any]) -> None:
    path = _state_path()
    try:
        if path:
            text = json.dumps(saved)
            _write(path, f"{_digest(text)} {text}")
    except OSError as error:
        _log(f"state: {path}: {_words(error)}")


def _serve(given: config.Config) -> int:
    ends = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    metrics_said = Said("metrics: written again")
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind("\0riptide-fleet " + hashlib.sha256(f"{given.site} {given.name}".encode()).hexdigest())
    except OSError:
        _log(f"host {given.name} of site {given.site}: another riptide-fleet runs here under this name, and all would count twice: end it")
        return 1
    with lock, contextlib.closing(Fleet(given, _read_state())) as fleet:
        _log(f"host {given.name} of site {given.site}, each {given.interval:g} s")
        while True:
            fleet.turn()
            try:
                if given.metrics:
                    _write(Path(given.metrics), fleet.metrics())
                metrics_said.says("")
            except OSError as error:
                metrics_said.says(f"metrics: {given.metrics}: {_words(error)}")
            # A random interval, so that hosts started together do not always exchange together.
            if signal.sigtimedwait(ends, given.interval * random.uniform(0.8, 1.2)):
                _write_state(fleet.save())
                return 0


def _verdict(given: config.Config, shares: tuple[int, int] | None, is_json: bool) -> int:
    """Runs `riptide verdict` on the sums of all hosts, as the state of one host."""
    if not shares:
        try:
            answer = Riptided(given.control).ask("books")
            shares = answer["holdout_percent"], answer["trial_percent"]
        except OSError as error:
            _log(f"verdict: {given.control}: {_words(error)}; --shares HOLDOUT,TRIAL says which books, without riptided")
            return 1
    keys = host.books_keys("{} {}".format(*shares))
    with contextlib.closing(_open(given, "verdict", given.books_half_life)) as site:
        try:
            found = site.exchange({}, keys, 0)
        except (SiteError, ValueError) as error:
            _log(f"verdict: {_words(error)}")
            return 1
    with tempfile.NamedTemporaryFile("w", encoding="ascii", suffix=".state") as state:
        state.write(host.write_books(found, *shares))
        state.flush()
        try:
            return subprocess.run(["riptide", "verdict", *(["--json"] if is_json else []), state.name], check=False).returncode
        except OSError as error:
            _log(f"verdict: cannot run `riptide verdict`: {_words(error)}")
            return 1


def _shares(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,2}),(\d{1,2})", text, re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: not two whole percentages, such as 5,20")
    return int(found[1]), int(found[2])


def main() -> int:
    """Exit status 2: the configuration is wrong; with `verdict` that of `riptide verdict`."""
    parser = argparse.ArgumentParser(prog="riptide-fleet", description="Shares what riptided learns with the hosts of a site.",
                                     usage="%(prog)s [--config FILE] [--check] [verdict [--json] [--shares HOLDOUT,TRIAL]]")
    parser.add_argument("--config", metavar="FILE", default=config.PATH, help=f"the file (default {config.PATH})")
    parser.add_argument("--check", action="store_true", help="check the file and exit")
    commands = parser.add_subparsers(dest="command", prog="riptide-fleet", title="commands", metavar="")
    verdict = commands.add_parser("verdict", help="whether windows help, from the sums of all hosts of the site")
    verdict.add_argument("--json", action="store_true", help="print JSON, as riptide verdict does")
    verdict.add_argument("--shares", type=_shares, metavar="HOLDOUT,TRIAL",
                         help="per cent of connections, of the hosts (default those of riptided here)")
    given = parser.parse_args()
    try:
        read = config.read(given.config)
        try:
            Fleet(read).close()
        except ValueError as error:  # of a name
            raise ValueError(f"{given.config}: {error}") from error
    except ValueError as error:
        _log(str(error))
        return 2
    if given.check:
        return 0
    if given.command == "verdict":
        return _verdict(read, given.shares, given.json)
    return _serve(read)


if __name__ == "__main__":
    sys.exit(main())
