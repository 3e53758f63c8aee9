# SPDX-License-Identifier: MIT
"""What the hosts of a site share: sums of named floats that fade with a half-life. Pure.

Sums are those of lib/proof: how many connections, what they cost, squares of it. Which names there
are, and what they stand for, is the caller's affair. What can be added in any order, and fades by a
factor, gives the same result whoever writes first.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import Any, Iterable, Mapping, NamedTuple

Sums = Mapping[str, float]

MAX_NAMES = 4096  # books, all classes of them
MAX_NAME_CHARS = 32
MAX_SUM = 1e30  # far below where what many hosts add would be infinite
HALVES_KEPT = 10  # half-lives without a write, after which a key and what a host added are forgotten
ROUNDING = 1e-9  # of 14 digits, after many sums: less than this share is what one host alone has added


def check(sums: Sums) -> None:
    """Raises a ValueError where no host may add such sums."""
    if len(sums) > MAX_NAMES:
        raise ValueError(f"sums: {len(sums)} names, of {MAX_NAMES} at most")
    for name, value in sums.items():
        if not 0 < len(name) <= MAX_NAME_CHARS:
            raise ValueError(f"sums: no name of 1 to {MAX_NAME_CHARS} characters: {name!r:.80}")
        if not abs(value) <= MAX_SUM:  # nor NaN
            raise ValueError(f"sums: {name} is {value}: beyond {MAX_SUM:g}")


def add(one: Sums, other: Sums) -> dict[str, float]:
    """Both as one."""
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def share_left(passed_s: float, half_life_s: float) -> float:
    """Of what was there; a clock that was set back takes nothing away, and adds nothing."""
    return float(0.5 ** (max(0.0, passed_s) / half_life_s))


class Held(NamedTuple):
    """What the engine keeps of a site, or of a host, for a prefix."""

    at_ms: float  # when it was faded last, by the engine's clock
    sums: Sums


def read(text: bytes | None) -> Held | None:
    """From the engine's words; None where there is nothing, or what no host writes."""
    try:
        found: Any = json.loads((text or b"").decode())
        held = Held(float(found["at"]), found["sums"])
        is_one = (math.isfinite(held.at_ms) and len(held.sums) <= MAX_NAMES
                  and all(map(math.isfinite, held.sums.values())))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    return held if is_one else None


def others(site: Held | None, own: Held | None, now_ms: float, half_life_s: float) -> dict[str, float]:
    """What hosts but this one have added, as of now; empty where that is nothing."""
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
    """Its sums as of now."""
    left = share_left((now_ms - held.at_ms) / 1000, half_life_s)
    return {name: left * value for name, value in held.sums.items()}


def turn(prefixes: Iterable[str], number: int, of: int) -> list[str]:
    """Each prefix in one turn of so many: what is asked for seldom need not be asked for at once."""
    return [prefix for prefix in prefixes if zlib.crc32(prefix.encode()) % of == number % of]


class Outbox:
    """What this host has learned and the engine has not confirmed: sent again until it has, once.

    A batch has a sequence: where an answer was lost, the engine knows the sequence for that prefix
    and does not add again. What comes meanwhile waits for the next batch.
    """

    def __init__(self, saved: Any = None) -> None:
        self._sequence: int = saved["sequence"] if saved else 0
        self._sent: dict[str, dict[str, float]] = saved["sent"] if saved else {}
        self._waiting: dict[str, dict[str, float]] = saved["waiting"] if saved else {}

    def save(self) -> Any:
        """For a successor, as JSON."""
        return {"sequence": self._sequence, "sent": self._sent, "waiting": self._waiting}

    def put(self, prefix: str, sums: Sums) -> None:
        """Raises a ValueError where these are no sums."""
        check(sums)
        self._waiting[prefix] = add(self._waiting.get(prefix, {}), sums)

    def batch(self, now_ms: int) -> tuple[int, dict[str, dict[str, float]]]:
        """The sequence and what is to be added. `now_ms` is of a clock that a restart does not set
        back, CLOCK_REALTIME say: sequences grow, those of the process before included.
        """
        if not self._sent and self._waiting:
            self._sequence = max(self._sequence + 1, now_ms)
            self._sent, self._waiting = self._waiting, {}
        return self._sequence, dict(self._sent)

    def confirm(self, prefixes: Iterable[str]) -> None:
        """The engine has these of the batch."""
        for prefix in prefixes:
            self._sent.pop(prefix, None)

    def __len__(self) -> int:
        """How many prefixes wait."""
        return len({*self._sent, *self._waiting})
