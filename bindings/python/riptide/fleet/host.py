# SPDX-License-Identifier: MIT
"""What a host shares with its site, and takes from it: rows of riptided's ladders and its books as sums. Pure.

A destination is one key of the site, whose sums are of each rung: connections, what they cost, and what they
sent again. riptided says where its own sums stand, in which each connection that comes makes those before count
less; what has come since the last time is what is shared. Books are keys by round trip time and congestion
control, and by the shares of their arms, as those of other shares are not to be added.
"""

from __future__ import annotations

import math
import re
from typing import Any, Iterable, Mapping, NamedTuple

from . import sums

KEPT = 1 - 1 / 1000  # of a ladder, with each connection that is entered: lib/proof/ladder.c
ENTERED, HALVED = 1 << 24, 1 << 8  # counters of riptided begin anew there
LEAST = 0.01  # connections: less is what rounding leaves
MOST_COST = 30.0  # of a connection; riptided takes up to 32
THOUSAND = 1000  # sums of a state are integers of thousandths
RUNG = re.compile(r"(\d+):(\d+),(-?\d+),(\d+)")

BOOKS_HEAD = "riptide books 1\n"
BOOK_LINE = re.compile(r"(\w+) bytes=(\d+) rtt_us=(\d+) control=(\w+) n=(\d+) n_again=(\d+) time=(\d+),(\d+)"
                       r" again=(\d+),(\d+)$", re.MULTILINE)
ARMS = {"window": "w", "holdout": "h", "smaller": "s", "larger": "l"}
RTTS_US = (5000, 20000, 50000, 100000, 150000, 300000)
CONTROLS = ("unknown", "loss", "bbr")
FIELDS = ("n", "m", "t", "tt", "a", "aa")  # as in a line of books
MOST_TIME, MOST_AGAIN = 20 << 10, 1 << 14  # of a connection: lib/proof/books.h


class Ladder(NamedTuple):
    """What riptided says of a destination."""

    sums: dict[str, float]
    entered: int  # connections since the ladder began
    halved: int  # and how often what was known has counted half from then on

    @property
    def connections(self) -> float:
        """In its sums."""
        return sum(value for name, value in self.sums.items() if name.endswith("n"))


def read_ladder(row: list[Any]) -> tuple[str, Ladder]:
    """Of a row of `learned`: the destination, and its ladder."""
    dst, text, entered, halved = row
    found = {}
    for cwnd, *values in RUNG.findall(text):
        found.update({f"{cwnd}{what}": int(value) / THOUSAND for what, value in zip("nca", values)})
    return str(dst), Ladder(found, int(entered), int(halved))


def write_ladder(site: sums.Sums, weight: float) -> str:
    """Sums of others as riptided takes them, of no more connections on a rung than `weight`; empty sums
    take what it had away. What no hosts can have seen is left out.
    """
    rungs = {}
    for name, n in site.items():
        cost, again = site.get(name[:-1] + "c", 0.0), site.get(name[:-1] + "a", 0.0)
        if name[:-1].isdigit() and name[-1] == "n" and n > LEAST and math.isfinite(cost + again):
            rungs[int(name[:-1])] = n, min(max(cost / n, -MOST_COST), MOST_COST), min(max(again / n, 0.0), 1.0)
    factor = min(1.0, weight / max((n for n, _, _ in rungs.values()), default=weight))
    words, squares = [], 0.0
    for cwnd, (n, cost, again) in sorted(rungs.items()):
        many = round(THOUSAND * n * factor)
        if many > 0:
            words.append(f"{cwnd}:{many},{round(many * cost)},{round(many * again)}")
            squares += many * cost * cost
    return ";".join([f"0,0,{math.ceil(squares) + len(words)}", *words])


def learned_since(before: Ladder | None, now: Ladder) -> dict[str, float]:
    """Sums of the connections that have come between the two; all of `now` where it began meanwhile, but
    for what riptided has read from a file, which it had said before.
    """
    if before and (now.entered - before.entered) % ENTERED < ENTERED // 2:
        kept = KEPT ** ((now.entered - before.entered) % ENTERED) * 0.5 ** ((now.halved - before.halved) % HALVED)
        had = {name: value * kept for name, value in before.sums.items()}
    elif now.connections <= now.entered + 0.5:
        had = {}
    else:
        return {}
    found = {}
    for name in now.sums:
        if name.endswith("n") and now.sums[name] - had.get(name, 0.0) > LEAST:
            found.update({part: now.sums[part] - had.get(part, 0.0) for part in (name, name[:-1] + "c", name[:-1] + "a")})
    return found


def read_books(text: str, shares: str) -> dict[str, dict[str, float]]:
    """Sums of books by key, which `shares` is a part of."""
    found: dict[str, dict[str, float]] = {}
    for arm, n_bytes, rtt_us, control, *values in BOOK_LINE.findall(text):
        cells = found.setdefault(books_key(shares, int(rtt_us), control), {})
        cells.update({f"{ARMS[arm]}{n_bytes}{field}": float(value) for field, value in zip(FIELDS, values) if int(value)})
    return found


def books_key(shares: str, rtt_us: int, control: str) -> str:
    """Of a part of the books, in which no key has more names than a site takes."""
    return f"books {shares} {rtt_us} {control}"


def books_keys(shares: str) -> list[str]:
    """All of them."""
    return [books_key(shares, rtt_us, control) for rtt_us in RTTS_US for control in CONTROLS]


def books_since(before: Mapping[str, sums.Sums], now: Mapping[str, sums.Sums]) -> dict[str, dict[str, float]]:
    """What has come between the two; where something is less than before, they began anew."""
    if any(value > now.get(key, {}).get(name, 0) for key, cells in before.items() for name, value in cells.items()):
        before = {}
    found = {}
    for key, cells in now.items():
        had = before.get(key, {})
        found[key] = {name: value - had.get(name, 0) for name, value in cells.items() if value != had.get(name, 0)}
    return {key: cells for key, cells in found.items() if cells}


def write_books(site: Mapping[str, sums.Sums], holdout_percent: int, trial_percent: int) -> str:
    """Sums of all hosts as a state of one, which `riptide verdict` reads. Connections are whole ones there:
    where they have faded, sums are scaled with them, and means stay.
    """
    arms, lines = {letter: arm for arm, letter in ARMS.items()}, []
    for key, cells in sorted(site.items()):
        _, _, _, rtt_us, control = key.split()
        for name, value in sorted(cells.items()):
            n, cell = round(value), name[:-1]
            if not name.endswith("n") or name[0] not in arms or n <= 0:
                continue
            m, t, tt, a, aa = (max(0, round(cells.get(cell + field, 0.0) * n / value)) for field in FIELDS[1:])
            t, a = min(t, n * MOST_TIME), min(a, n * MOST_AGAIN)
            tt = max(min(tt, t * MOST_TIME), -(-t * t // n))
            aa = max(min(aa, a * MOST_AGAIN), -(-a * a // n))
            lines.append(f"{arms[name[0]]} bytes={cell[1:]} rtt_us={rtt_us} control={control} n={n} n_again={min(m, n)}"
                         f" time={t},{tt} again={a},{aa}\n")
    return (f"riptide state 2 saved_ns=1 host=1\n{BOOKS_HEAD}{''.join(lines)}"
            f"holdout_percent={holdout_percent} trial_percent={trial_percent}\n")


class Share:
    """What has come of each key, and what of it the site is still to have."""

    def __init__(self) -> None:
        self.outbox = sums.Outbox()
        self._all: dict[str, dict[str, float]] = {}  # all that is to be there, if it began empty now
        self._had: set[str] = set()  # of these the site has had something
        self._new: set[str] = set()  # it may have, from the process before

    def put(self, key: str, everything: Mapping[str, float], since: Mapping[str, float]) -> None:
        """`everything` that there is of a key, and what of it has come since the last time."""
        if key not in self._all:
            self._new.add(key)
        elif since and key not in self._new:
            self.outbox.put(key, since)
        self._all[key] = dict(everything)

    def forget(self, keys: Iterable[str]) -> None:
        """They are used no more."""
        for key in keys:
            self._all.pop(key, None)
            self._had.discard(key)
            self._new.discard(key)

    @property
    def unsure(self) -> set[str]:
        """Keys of which the site is to be asked, as nobody knows what it has of this host."""
        return self._new

    def confirm(self, batch: Mapping[str, sums.Sums], own: Mapping[str, sums.Sums]) -> int:
        """The site has the batch; `own` is what it has of this host, of the keys that were asked for. What it
        had once and has no more, as one that began empty, is to be added again; of how many keys.
        """
        self.outbox.confirm()
        n_lost = 0
        for key in own:
            added = batch.get(key, {})
            is_lost = (key in self._had or key in self._new) and all(
                abs(value - added.get(name, 0.0)) <= sums.ROUNDING * abs(value) for name, value in own[key].items())
            left: dict[str, float] = {}
            if is_lost:
                there = sums.add(added, self.outbox.waits(key))
                left = sums.add(self._all.get(key, {}), {name: -value for name, value in there.items()})
            if left and any(abs(value) > LEAST for value in left.values()):
                self.outbox.put(key, left)
                n_lost += key in self._had
            self._new.discard(key)
            if own[key]:
                self._had.add(key)
        return n_lost
