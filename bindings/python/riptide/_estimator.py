# SPDX-License-Identifier: MIT
"""Compute: from samples to one initial window per destination."""

from __future__ import annotations

import time
from typing import Unpack

from ._convert import count, shown
from ._errors import check, new_error
from ._handle import Learner
from ._native import ffi
from ._structs import Estimate, EstimatorConfig, EstimatorStats


def _ns(name: str, given: float | None, clock: int) -> int:
    """A point in time, or that of a clock now."""
    return time.clock_gettime_ns(clock) if given is None else count(name, given, "_ns")


def _times(now: float | None, realtime: float | None) -> tuple[int, int]:
    return _ns("now", now, time.CLOCK_BOOTTIME), _ns("realtime", realtime, time.CLOCK_REALTIME)


class Estimator(Learner[Estimate, EstimatorStats, Estimate]):
    """Computes a window for each destination from samples. Pure: the caller gives the time.

        for sample in riptide.observe():
            estimator.add(sample)
        estimator.tick()
        for change in estimator.pop_all():
            print(change.dst, change.cwnd)

    pop() takes the next destination whose window has changed since it was popped. Points in time
    are seconds of CLOCK_BOOTTIME; None: now. Options: EstimatorConfig. Errors: OptionError and
    other OSErrors; TypeError, ValueError and OverflowError for values that C cannot take.
    """

    _stage = "estimator"

    def __init__(self, **options: Unpack[EstimatorConfig]) -> None:
        super().__init__(options)

    def tick(self, now: float | None = None, can_pace: bool = False) -> None:
        """Computes windows of destinations with samples, and withdraws expired ones.

        `can_pace`: first flights can be paced at present. Errors: InvalidError, with nothing
        changed: the time is before the last tick's.
        """
        check(self._call("tick", _ns("now", now, time.CLOCK_BOOTTIME), bool(can_pace)))

    def save(self, now: float | None = None, realtime: float | None = None) -> bytes:
        """The state as text in bytes; `realtime`: seconds of CLOCK_REALTIME at that time."""
        return self._text("save", *_times(now, realtime))

    def load(self, state: bytes | bytearray | memoryview, now: float | None = None,
             realtime: float | None = None) -> str:
        """Merges a state, of another host or a predecessor; the newer window counts. Returns a line
        that says how many were loaded, have expired, and were skipped.

        Errors: OSError (EINVAL: no state, or of another version), InvalidError: the time is before
        the last tick's; TypeError, ValueError: no bytes in one piece.
        """
        try:
            data = ffi.from_buffer(state)
        except (TypeError, ValueError, BufferError):
            kind = ValueError if isinstance(state, memoryview) else TypeError
            raise kind(f"state: no bytes in one piece: {shown(state)}") from None
        error = new_error()
        check(self._call("load", *_times(now, realtime), data, len(data), error), error)
        return str(ffi.string(error.text).decode())
