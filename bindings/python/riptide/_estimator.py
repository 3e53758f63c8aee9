# SPDX-License-Identifier: MIT
"""Compute: from samples to one initial window per destination."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Iterator

from ._calls import counters, new_object, pop, pop_all, walk
from ._errors import check, new_error
from ._handle import Handle
from ._native import ffi, lib
from ._observer import Observer
from ._types import (Estimate, EstimatorOptions, Hint, LeftOut, LoadCounts,
                     ObserverOptions, Sample)
from ._values import (Buffer, PrefixLike, new_config, new_prefix, options_of, read,
                      shown, state_buffer, vars_of, whole, write)

if TYPE_CHECKING:
    from typing_extensions import Unpack

CONFIG = "struct riptide_estimator_config *"


def _now_ns(now_ns: int | None) -> int:
    given = time.clock_gettime_ns(time.CLOCK_BOOTTIME) if now_ns is None else now_ns
    return whole("now_ns", given)


def _realtime_ns(realtime_ns: int | None) -> int:
    return whole("realtime_ns", time.time_ns() if realtime_ns is None else realtime_ns)


def read_estimate(c: Any) -> Estimate:
    return read(Estimate, c, left_out=lambda left_out: LeftOut(*left_out))


def new_hint(hint: Hint) -> Any:
    c = ffi.new("struct riptide_hint *")
    write(c, vars_of("hint", hint), [], "hint.")
    return c


class Estimator(Handle):
    """Computes a window for each destination from samples. Pure: the caller gives the time.

        for sample in riptide.observe():
            estimator.add(sample)
        estimator.tick()
        for change in estimator.changes():
            print(change.dst, change.cwnd)

    Points in time are CLOCK_BOOTTIME in ns; None: now. Errors: OptionError and other OSErrors;
    TypeError, ValueError and OverflowError for values that do not fit into C types.
    """

    def __init__(self, **options: Unpack[EstimatorOptions]) -> None:
        keep: list[Any] = []
        config = new_config(CONFIG, options, keep)
        super().__init__(new_object(lib.riptide_estimator_new, config, lib.riptide_estimator_free))

    def add(self, sample: Sample) -> bool:
        """Adds a sample to the next tick. Returns whether it is evidence for the policy.

        Errors: FullError, InvalidError; both are counted.
        """
        if not isinstance(sample, Sample):
            raise TypeError(f"sample: not a Sample: {shown(sample)}")
        with self._use as c:
            result = lib.riptide_estimator_add(c, ffi.addressof(sample.c))
        if result != lib.RIPTIDE_E_LEFT_OUT:
            check(result)
        return bool(result == 0)

    def tick(self, now_ns: int | None = None, can_pace: bool = False) -> None:
        """Computes windows of destinations with samples, and withdraws expired ones.

        can_pace: first flights can be paced at present. Errors: InvalidError, with nothing changed, if the time is before the last tick.
        """
        with self._use as c:
            check(lib.riptide_estimator_tick(c, _now_ns(now_ns), bool(can_pace)))

    def pop(self) -> Estimate:
        """The next destination whose window has changed since it was popped. Errors: AgainError."""
        return pop(self._use, lib.riptide_estimator_pop, read_estimate)

    def changes(self) -> Iterator[Estimate]:
        """Pops all of them."""
        return pop_all(self._use, lib.riptide_estimator_pop, read_estimate)

    def set_hint(self, hint: Hint) -> None:
        """Sets a hint, with effect at once. A prefix has at most one with an end and one without,
        which it replaces. Errors: OSError (EINVAL), FullError (2048 hints).
        """
        c_hint, error = new_hint(hint), new_error()
        with self._use as c:
            check(lib.riptide_estimator_set_hint(c, c_hint, error), error)

    def remove_hint(self, dst: PrefixLike) -> None:
        """Removes the hint for exactly this prefix. Errors: UnknownError: there is none."""
        prefix = new_prefix("dst", dst)
        with self._use as c:
            check(lib.riptide_estimator_remove_hint(c, prefix))

    def find(self, dst: PrefixLike) -> Estimate:
        """The window of a destination, or of a peer's, and why; cwnd 0: why it has none.

        Errors: UnknownError: neither a window nor samples within the time to live.
        """
        prefix, estimate = new_prefix("dst", dst), ffi.new("struct riptide_estimate *")
        with self._use as c:
            check(lib.riptide_estimator_find(c, prefix, estimate))
        return read_estimate(estimate)

    def __iter__(self) -> Iterator[Estimate]:
        """Walks over windows; those that ticks change meanwhile may be missed, or seen twice."""
        return walk(self._use, lib.riptide_estimator_next, read_estimate)

    def stats(self) -> dict[str, Any]:
        """The counters of struct riptide_estimator_stats."""
        return counters(self._use, lib.riptide_estimator_get_stats)

    def save(self, now_ns: int | None = None, realtime_ns: int | None = None) -> bytes:
        """The state as text in bytes, at these times of CLOCK_BOOTTIME and CLOCK_REALTIME."""
        times = _now_ns(now_ns), _realtime_ns(realtime_ns)
        with self._use as c:
            most = lib.riptide_estimator_save(c, *times, ffi.NULL, 0)
            state = ffi.new("char[]", most)
            n_bytes = lib.riptide_estimator_save(c, *times, state, most)
        return bytes(ffi.buffer(state, n_bytes))

    def load(self, state: Buffer, now_ns: int | None = None,
                   realtime_ns: int | None = None) -> LoadCounts:
        """Merges a state, of another host or a predecessor; the newer window counts.

        Errors: OSError (EINVAL: no state, or of another version), InvalidError if the time is too
        early.
        """
        data, times = state_buffer(state), (_now_ns(now_ns), _realtime_ns(realtime_ns))
        counts, error = ffi.new("struct riptide_load_counts *"), new_error()
        with self._use as c:
            check(lib.riptide_estimator_load(c, *times, data, len(data), counts, error), error)
        return read(LoadCounts, counts)


def explain(dst: PrefixLike, observer: ObserverOptions | None = None,
            **options: Unpack[EstimatorOptions]) -> Estimate:
    """Explains the window of a destination, as computed from one dump of open connections.

    Uses the given options and defaults, and no history; Control.explain asks a running riptided,
    with its own options and history. Errors: UnknownError: no connection to the destination is
    open; as Observer and Estimator.
    """
    if observer is not None:
        options_of("observer", observer)
    new_prefix("dst", dst)
    with Estimator(**options) as estimator:
        with Observer(**observer or {}) as looking:
            for sample in looking.dump():
                estimator.add(sample)
        estimator.tick()
        return estimator.find(dst)
