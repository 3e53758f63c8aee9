# SPDX-License-Identifier: MIT
"""The estimator from Python: literal samples and times, no kernel."""

from __future__ import annotations

import errno
from ipaddress import ip_network

import pytest

import riptide
from riptide import Hint, Sample

A, B = ip_network("10.0.0.1"), ip_network("10.0.0.2")


def feed(estimator: riptide.Estimator, now: float, *windows: int,
         dst: riptide.Network = A) -> dict[riptide.Network, int]:
    for cwnd in windows:
        estimator.add(Sample(dst, cwnd=cwnd))
    estimator.tick(now)
    return {change.dst: change.cwnd for change in estimator.pop_all()}


def test_window_is_mean_of_all_connections() -> None:
    with riptide.Estimator(policy="paper") as estimator:
        assert feed(estimator, 5, 20, 40, 63) == {A: 41}
        estimate = estimator.find(A)
        assert (estimate.dst, estimate.samples, estimate.smoothed, estimate.cwnd) == (A, 3, 41, 41)
        assert estimate.updated == 5.0
        assert list(estimator.windows()) == [estimate]


def test_outcomes_are_exceptions() -> None:
    with riptide.Estimator(policy="paper", max_destinations=1) as estimator:
        estimator.add(Sample(A, cwnd=20))
        with pytest.raises(riptide.FullError):
            estimator.add(Sample(B, cwnd=20))
        with pytest.raises(riptide.InvalidError):
            estimator.add(Sample(A, cwnd=0))
        with pytest.raises(LookupError):
            estimator.find(B)
        with pytest.raises(riptide.AgainError):
            estimator.pop()
        estimator.tick(1)
        with pytest.raises(riptide.InvalidError):
            estimator.tick(0.999999999)
        stats = estimator.stats()
        assert (stats.overflow, stats.invalid, stats.destinations) == (1, 1, 1)


def test_hints_change_windows_and_end() -> None:
    with riptide.Estimator(policy="paper") as estimator:
        def changed_by(hint: Hint) -> list[int]:
            estimator.set_hint(hint)
            return [change.cwnd for change in estimator.pop_all()]

        feed(estimator, 1, 70)
        assert changed_by(Hint("10.0.0.0/8", cwnd_max=25, until=11)) == [25]
        estimate = estimator.find(A)
        assert (estimate.hint, estimate.cwnd_max) == (ip_network("10.0.0.0/8"), 25)
        assert feed(estimator, 12) == {A: 70}
        assert changed_by(Hint("10.0.0.0/8", cwnd_max=40)) == [40]
        assert changed_by(Hint(A, off=True, until=30)) == [0]
        estimator.remove_hint(A)
        estimator.remove_hint("10.0.0.0/8")
        assert [change.cwnd for change in estimator.pop_all()] == [70]
        with pytest.raises(riptide.UnknownError):
            estimator.remove_hint("10.0.0.0/8")
        with pytest.raises(riptide.OptionError, match=r"hint\.cwnd_min: must be 0"):
            estimator.set_hint(Hint(A, cwnd_min=20, until=99))


def test_state_as_bytes() -> None:
    with riptide.Estimator(policy="paper") as one, riptide.Estimator(policy="paper") as other:
        feed(one, 100, 20)
        state = one.save(now=110, realtime=1000)
        assert other.load(state, now=500, realtime=1005) == "destinations loaded: 1, expired: 0, others: 0"
        assert other.find(A).updated == 485
        assert other.load(memoryview(state), 502, 1007).endswith("others: 1")
        for bad in (b"", b"riptide\n\1", b"!" + state[1:], state.replace(b"2", b"3", 1)):
            with pytest.raises(OSError, match="state: ") as caught:
                other.load(bad)
            assert caught.value.errno == errno.EINVAL


def test_load_outside_scope() -> None:
    scope = riptide.Scope(exclude=[A])
    with riptide.Estimator(policy="paper") as one, riptide.Estimator(scope=scope) as other:
        feed(one, 100, 20)
        state = one.save(now=110, realtime=1000)
        assert other.load(state, 500, 1005) == "destinations loaded: 0, expired: 0, others: 1"
