# SPDX-License-Identifier: MIT
"""Sums that a host shares with its site: those of riptided's ladders and books. Pure.

A destination is one key, with sums for each rung: connections, their time, their retransmissions.
In riptided's own sums each new connection reduces the weight of earlier ones; only connections
since its last answer are shared. Books have a key for each round trip time, congestion control and
shares of arms, because books of different shares must not be added.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, Iterable, Mapping, NamedTuple

from . import sums

KEPT = 1 - 1 / 1000  # of a ladder's sums, after each new connection: lib/proof/ladder.c
ENTERED, HALVED = 1 << 24, 1 << 8  # riptided's counters wrap at these values
LEAST = 0.01  # connections; smaller numbers come from rounding
LOST = 0.05  # of a host's sums at the site; a smaller loss may be a difference of clocks
MOST_COST = 30.0  # of a connection; riptided accepts up to 32
THOUSAND = 1000  # sums of a state are integers, in thousandths
CWNDS = (10, 14, 20, 28, 40, 57, 81, 115, 163, 231, 327, 462, 653)  # the rungs: lib/proof/ladder.c
RUNG = re.compile(r"(\d+):(\d+),(-?\d+),(\d+)")

BOOKS_HEAD = "riptide books 1\n"
BOOK_LINE = re.compile(r"(\w+) bytes=(\d+) rtt_us=(\d+) control=(\w+) n=(\d+) n_again=(\d+) time=(\d+),(\d+)"
                       r" again=(\d+),(\d+)$", re.MULTILINE)
ARMS = {"window": "w", "holdout": "h", "smaller": "s", "larger": "l"}
SIZES = (0, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20)  # lib/proof/books.c
RTTS_US = (5000, 20000, 50000, 100000, 150000, 300000)
CONTROLS = ("unknown", "loss", "bbr")
CELL = re.compile(r"\w\d+")  # an arm and a size; one of FIELDS follows
FIELDS = ("n", "m", "t", "tt", "a", "aa")  # in the order of a line of books
MOST_TIME, MOST_AGAIN = 20 << 10, 1 << 14  # of a connection: lib/proof/books.h
MOST_CONNECTIONS = 1 << 35  # of a cell


class Ladder(NamedTuple):
    """The ladder of a destination, from riptided."""

    sums: dict[str, float]
    entered: int  # connections since the ladder began
    halved: int  # how often since then its sums were halved

    @property
    def connections(self) -> float:
        """The number of connections in its sums."""
        return sum(value for name, value in self.sums.items() if name.endswith("n"))


def read_ladder(row: list[Any]) -> tuple[str, Ladder]:
    """Reads a row of `learned`: the destination, and its ladder."""
    dst, text, entered, halved = row
    found = {}
    for cwnd, *values in RUNG.findall(text):
        n, cost, again = (int(value) / THOUSAND for value in values)
        found.update({f"{cwnd}n": n, f"{cwnd}c": cost, f"{cwnd}a": again})
    return str(dst), Ladder(found, int(entered), int(halved))


def write_ladder(site: sums.Sums, weight: float) -> str:
    """Other hosts' sums as text for riptided; empty sums remove the ones that it has.

    From half of `weight` on, more connections of a rung count less and less, so that it remains below
    `weight`, the rung of most remains the first, and no rung's number reduces that of another.
    """
    words, squares, half = [], 0.0, weight / 2
    for cwnd in CWNDS:
        n = site.get(f"{cwnd}n", 0.0)
        if n > LEAST:
            cost = min(max(site.get(f"{cwnd}c", 0.0) / n, -MOST_COST), MOST_COST)
            many = round(THOUSAND * (n if n < half else weight - half * half / n))
            again = min(max(site.get(f"{cwnd}a", 0.0) / n, 0.0), 1.0)
            words.append(f"{cwnd}:{many},{round(many * cost)},{round(many * again)}")
            squares += many * cost * cost
    return ";".join([f"0,0,{math.ceil(squares) + len(words)}", *words])


def learned_since(before: Ladder | None, now: Ladder) -> dict[str, float]:
    """Sums of the connections between two answers; all of `now` if the ladder has begun anew. If
    riptided has loaded it from its file meanwhile, some may be missing, but none is shared twice.
    """
    had: dict[str, float] = {}
    entered, halved = now.entered, now.halved  # since riptided has read its file
    if before:
        if (now.entered - before.entered) % ENTERED < ENTERED // 2:
            entered, halved = (now.entered - before.entered) % ENTERED, (now.halved - before.halved) % HALVED
        had = {name: value * KEPT ** entered * 0.5 ** halved for name, value in before.sums.items()}
    is_less = any(now.sums.get(name, 0.0) < value - LEAST for name, value in had.items() if name.endswith("n"))
    if (not before or is_less or entered == now.entered) and now.connections <= now.entered + 0.5:
        had = {}
    elif not before:
        return {}
    found = {}
    for name in now.sums:
        if name.endswith("n") and now.sums[name] - had.get(name, 0.0) > LEAST:
            found.update({part: now.sums[part] - had.get(part, 0.0) for part in (name, name[:-1] + "c", name[:-1] + "a")})
    return found


def read_books(text: str, shares: str) -> dict[str, dict[str, float]]:
    """Reads books: their sums by key, which contains `shares`."""
    found: dict[str, dict[str, float]] = {}
    for arm, n_bytes, rtt_us, control, *values in BOOK_LINE.findall(text):
        cells = found.setdefault(books_key(shares, int(rtt_us), control), {})
        cells.update({f"{ARMS[arm]}{n_bytes}{field}": float(value) for field, value in zip(FIELDS, values) if int(value)})
    return found


def books_key(shares: str, rtt_us: int, control: str) -> str:
    """The key of a part of the books, so small that no key has more names than a site accepts."""
    return f"books {shares} {rtt_us} {control}"


def books_keys(shares: str) -> list[str]:
    """All keys of books."""
    return [books_key(shares, rtt_us, control) for rtt_us in RTTS_US for control in CONTROLS]


def books_since(before: Mapping[str, sums.Sums], now: Mapping[str, sums.Sums]) -> dict[str, dict[str, float]]:
    """The sums between two answers. Ignores cells with less than before, which a crash has lost."""
    found = {}
    for key, cells in now.items():
        had = before.get(key, {})
        less = {CELL.match(name)[0] for name, value in had.items() if value > cells.get(name, 0)}  # type: ignore[index]
        found[key] = {name: value - had.get(name, 0) for name, value in cells.items()
                      if value != had.get(name, 0) and CELL.match(name)[0] not in less}  # type: ignore[index]
    return {key: cells for key, cells in found.items() if cells}


def write_books(site: Mapping[str, sums.Sums], holdout_percent: int, trial_percent: int) -> str:
    """Sums of all hosts as the state of one, for `riptide verdict`. Faded numbers of connections
    are rounded to integers, and the sums scaled with them, so that means stay the same.
    """
    lines = []
    for key, cells in sorted(site.items()):
        _, _, _, rtt_us, control = key.split()
        for arm, n_bytes in itertools.product(ARMS, SIZES):
            cell = f"{ARMS[arm]}{n_bytes}"
            value = cells.get(cell + "n", 0.0)
            n = min(round(value), MOST_CONNECTIONS)
            if n <= 0:
                continue
            m, t, tt, a, aa = (max(0, round(cells.get(cell + field, 0.0) * n / value)) for field in FIELDS[1:])
            t, a = min(t, n * MOST_TIME), min(a, n * MOST_AGAIN)
            tt = max(min(tt, t * MOST_TIME), -(-t * t // n))
            aa = max(min(aa, a * MOST_AGAIN), -(-a * a // n))
            lines.append(f"{arm} bytes={n_bytes} rtt_us={rtt_us} control={control} n={n} n_again={min(m, n)}"
                         f" time={t},{tt} again={a},{aa}\n")
    return (f"riptide state 2 saved_ns=1 host=1\n{BOOKS_HEAD}{''.join(lines)}"
            f"holdout_percent={holdout_percent} trial_percent={trial_percent}\n")


class Share:
    """New sums of each key, and the site's sums of this host."""

    def __init__(self, half_life_s: float, saved: Any = None) -> None:
        self.outbox = sums.Outbox(saved and saved["outbox"])
        self._half_life_s = half_life_s
        # The site's sums of this host, from its last answer.
        self._had = {key: sums.Held(*held) for key, held in saved["had"].items()} if saved else {}
        self._new: dict[str, dict[str, float]] = {}  # sums that the site may have already

    def save(self) -> Any:
        """The data for a successor, as JSON."""
        return {"outbox": self.outbox.save(), "had": self._had}

    def put(self, key: str, everything: Mapping[str, float], since: Mapping[str, float]) -> None:
        """Takes `everything` of a key, and the part `since` the last time."""
        if key not in self._had:
            self._new[key] = dict(everything)
        elif since:
            self.outbox.put(key, since)

    def forget(self, keys: Iterable[str]) -> None:
        """Forgets keys that are no longer used. Sums that wait are added all the same."""
        for key in keys:
            self._had.pop(key, None)
            self._new.pop(key, None)

    @property
    def unsure(self) -> set[str]:
        """Keys of which it is unknown what the site has from this host: to be requested."""
        return set(self._new)

    def confirm(self, batch: Mapping[str, sums.Sums], own: Mapping[str, sums.Sums], now_ms: float) -> int:
        """The engine has answered: `own` has its sums of this host, by key, including the batch.
        Sums that it has lost are added again; returns of how many keys.
        """
        self.outbox.confirm(own)
        n_lost = 0
        for key, has in own.items():
            there = has
            if key in self._new:
                everything = self._new.pop(key)
                missing = {} if has else everything
            elif key in self._had:
                expected = sums.add(sums.fade(self._had[key], now_ms, self._half_life_s), batch.get(key, {}))
                missing = {name: value - has.get(name, 0.0) for name, value in expected.items()}
                if not any(value > max(LEAST, LOST * expected[name]) for name, value in missing.items()
                           if name.endswith("n")):
                    missing, there = {}, expected  # small losses add up until they count
                n_lost += bool(missing)
            else:
                continue
            if missing:
                self.outbox.put(key, missing)
            self._had[key] = sums.Held(now_ms, there)
        return n_lost
