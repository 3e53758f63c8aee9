# SPDX-License-Identifier: MIT
"""What the hosts of a site share: sums of named floats that fade with a half-life. Pure.

The sums are those of lib/proof: numbers of connections, their costs, squares of costs. The caller
chooses names and their meaning. As sums can be added in any order, and fade by a factor, the result
does not depend on who writes first.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any, Iterable, Mapping, NamedTuple

Sums = Mapping[str, float]

MAX_NAMES = 4096  # enough for all classes of books
NAME = re.compile(r"[!-~]{1,32}")
MAX_SUM = 1e30  # so small that no arithmetic here exceeds a float
HALVES_KEPT = 10  # half-lives without a write, after which a key, or a host's sums, are forgotten
ROUNDING = 1e-9  # sums have 14 digits: a smaller difference is not another host's


def check(sums: Sums) -> None:
    """Raises a ValueError if no host may add these sums; `read` of site's script has the same limits."""
    if len(sums) > MAX_NAMES:
        raise ValueError(f"sums: {len(sums)} names, of {MAX_NAMES} at most")
    for name, value in sums.items():
        if not NAME.fullmatch(name):
            raise ValueError(f"sums: no name of 1 to 32 ASCII characters without blanks: {name!r:.80}")
        if not abs(value) <= MAX_SUM:  # refuses NaN as well
            raise ValueError(f"sums: {name} is {value}: beyond {MAX_SUM:g}")


def add(one: Sums, other: Sums) -> dict[str, float]:
    """The sum of both, by name."""
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def share_left(passed_s: float, half_life_s: float) -> float:
    """The share of sums that is left after this time; all of them if the clock was set back."""
    return float(0.5 ** (max(0.0, passed_s) / half_life_s))


class Held(NamedTuple):
    """The engine's sums for a prefix, of a site or of one host."""

    at_ms: float  # when they were last faded, by the engine's clock
    sums: Sums
    sequence: float = 0  # of the host's last batch
    half_life_ms: float = 0  # with which they fade; 0: unknown


def read(text: bytes | None) -> Held | None:
    """Reads the engine's text; None if there is none, or no host writes such text."""
    try:
        found: Any = json.loads((text or b"").decode(errors="replace"))
        held = Held(found["at"], dict(found["sums"]), found.get("seq", 0), found.get("half_life", 0))
        check(held.sums)
        check({"at": held.at_ms, "seq": held.sequence, "half_life": held.half_life_ms})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return held


def others(site: Held | None, own: Held | None, now_ms: float, half_life_s: float) -> dict[str, float]:
    """The sums that other hosts have added, faded until now; empty: none."""
    if not site:
        return {}
    own = own or Held(now_ms, {})
    of_site, of_own = (share_left((now_ms - held.at_ms) / 1000, half_life_s) for held in (site, own))
    left = {}
    for name, value in site.sums.items():
        value, mine = value * of_site, own.sums.get(name, 0.0) * of_own
        if abs(value - mine) > ROUNDING * (abs(value) + abs(mine)):
            left[name] = value - mine
    return left


def fade(held: Held, now_ms: float, half_life_s: float) -> dict[str, float]:
    """Its sums, faded until now."""
    left = share_left((now_ms - held.at_ms) / 1000, half_life_s)
    return {name: left * value for name, value in held.sums.items()}


def turn(prefixes: Iterable[str], number: int, of: int) -> list[str]:
    """The prefixes whose turn it is: each one has one in `of` turns, to spread the requests."""
    return [prefix for prefix in prefixes if zlib.crc32(prefix.encode()) % of == number % of]


class Outbox:
    """Sums that the engine has not confirmed: sent again until then, but added only once.

    A batch has a sequence number: if an answer was lost, the engine knows the number for the
    prefix, and does not add again. Sums that come meanwhile wait for the next batch.
    """

    def __init__(self, saved: Any = None) -> None:
        self._sequence: int = saved["sequence"] if saved else 0
        self._sent: dict[str, dict[str, float]] = saved["sent"] if saved else {}
        self._waiting: dict[str, dict[str, float]] = saved["waiting"] if saved else {}

    def save(self) -> Any:
        """The data for a successor, as JSON."""
        return {"sequence": self._sequence, "sent": self._sent, "waiting": self._waiting}

    def put(self, prefix: str, sums: Sums) -> None:
        """Adds sums that are to be sent. Raises a ValueError if check refuses them."""
        check(sums)
        self._waiting[prefix] = add(self._waiting.get(prefix, {}), sums)

    def batch(self, now_ms: int) -> tuple[int, dict[str, dict[str, float]]]:
        """The sequence number and the sums to add. `now_ms` is of a clock that a restart does not
        set back, such as CLOCK_REALTIME: numbers increase, also beyond those of a predecessor.
        """
        if not self._sent and self._waiting:
            self._sequence = max(self._sequence + 1, now_ms)
            self._sent, self._waiting = self._waiting, {}
        return self._sequence, dict(self._sent)

    def confirm(self, prefixes: Iterable[str]) -> None:
        """The engine has added these prefixes of the batch."""
        for prefix in prefixes:
            self._sent.pop(prefix, None)

    def __len__(self) -> int:
        """The number of prefixes that wait to be confirmed."""
        return len({*self._sent, *self._waiting})
