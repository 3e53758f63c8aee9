# SPDX-License-Identifier: MIT
"""A policy in Python: a function computes one window from the samples of a destination."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Callable, Iterable, List, Optional

from ._native import ffi, lib
from ._types import Sample
from ._values import ascii_text, read, shown


#: The largest window that the library keeps, as a float of C.
MAX_WINDOW = (2 - 2 ** -23) * 2.0 ** 127


@dataclass(frozen=True)
class PolicyInput:
    """Input of a policy besides the samples."""

    interval_ns: int  #: between the last two ticks; 0: unknown
    now_ns: int  #: of this tick
    since_ns: int  #: since the destination was last computed; 0: never
    samples: int  #: how many counted in this tick
    cwnd: int  #: the destination's present window, segments; 0: none
    base_cwnd: int  #: the window of its base route, segments; 0: unknown


class Policy:
    """Combines the samples of one destination in one tick into a window, in segments, from 0.

        def smallest(samples, about):
            return min(sample.cwnd for sample in samples)

        riptide.Agent(estimator={"policy": riptide.Policy("smallest", smallest)})

    The windows of ticks are averaged with history_weight, unless is_averaged is false. Returning
    None means that the tick has no evidence: the destination does not change. It does not change
    either if the function raises; the exception comes from the tick() or dispatch() that called it.
    The function must not use the object that calls it. It takes some us for each connection.
    """

    def __init__(self, name: str, combine: Callable[[list[Sample], PolicyInput], Optional[float]],
                 is_averaged: bool = True) -> None:
        if not callable(combine):
            raise TypeError(f"combine: no function: {shown(combine)}")
        if not ascii_text("name", name, 15):
            raise ValueError("name: empty")
        self.name = name
        self.combine = combine
        self.is_averaged = is_averaged

    def row(self, keep: list[Any]) -> Any:
        """The struct riptide_policy: the one in `keep`, else a former one, else a new one."""
        row = next((row for row in rows(keep) if row.policy is self), None)
        if row is None:
            before = keep.before if isinstance(keep, Keep) else []
            row = next((row for row in before if row.policy is self), None) or Row(self)
            keep.append(row)
        return row.c


FUNCTIONS = dict(ffi.typeof("struct riptide_policy").fields)


class Row:
    """A Policy for C and one estimator: struct riptide_policy, and the objects that it uses."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.numbers = itertools.count(1)
        self.samples: dict[int, list[Sample]] = {}  # of this tick, by number of destination
        self.is_combining = False
        self.failure: BaseException | None = None
        self.strings = [ffi.new("char[]", line) for line in (policy.name.encode("ascii"), b"", b"")]
        self.functions = (
            self._callback("add", lib.RIPTIDE_LEFT_OUT_UNMEASURED),
            self._callback("combine", lib.RIPTIDE_NO_EVIDENCE),
        )
        self.c = ffi.new("struct riptide_policy *", {
            "name": self.strings[0], "help": self.strings[1], "needs": self.strings[2],
            "tick_bytes": 8, "bytes": 8, "is_averaged": policy.is_averaged,
            "add": self.functions[0], "combine": self.functions[1],
        })

    def _callback(self, name: str, error: Any) -> Any:
        """Makes a C function of the method `name`, which returns `error` if it raises."""
        return ffi.callback(FUNCTIONS[name].type, getattr(self, name), error, self.failed)

    def add(self, _: Any, memory: Any, sample: Any) -> int:
        """Keeps the sample here; C only keeps the destination's number, zero in a new tick."""
        if self.is_combining:
            self.is_combining = False
            self.samples.clear()  # samples of a dump that began anew
        number = ffi.cast("uint64_t *", memory)
        if number[0] == 0:
            new = next(self.numbers)
            self.samples[new] = []
            number[0] = new
        copy = ffi.new("struct riptide_sample *", sample[0])
        self.samples[number[0]].append(Sample.of(copy[0], copy))
        return int(lib.RIPTIDE_LEFT_OUT_NOT)

    def combine(self, about: Any, memory: Any) -> float:
        self.is_combining = True
        samples = self.samples.pop(ffi.cast("uint64_t *", memory)[0])
        window = self.policy.combine(samples, read(PolicyInput, about))
        if window is None:
            return float(lib.RIPTIDE_NO_EVIDENCE)
        if not hasattr(window, "__float__"):
            raise TypeError(f"policy {self.policy.name}: no number: {shown(window)}")
        number = float(window)
        if not 0 <= number <= MAX_WINDOW:
            raise ValueError(f"policy {self.policy.name}: no window: {shown(window)}")
        return number

    def failed(self, _: Any, failure: BaseException, __: Any) -> None:
        self.failure = self.failure or failure


class Keep(List[Any]):
    """The objects that a new configuration points to, and the rows of the former one."""

    def __init__(self, before: list[Row]) -> None:
        super().__init__()
        self.before = before


def rows(keep: Iterable[Any]) -> list[Row]:
    """The rows among kept objects; these must exist as long as the estimator."""
    return [row for row in keep if isinstance(row, Row)]


def raise_failure(rows: list[Row]) -> None:
    """Raises the first exception of a policy's function since the last call."""
    for row in rows:
        failure, row.failure = row.failure, None
        if failure:
            raise failure
