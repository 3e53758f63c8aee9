# SPDX-License-Identifier: MIT
"""The estimator from Python: literal samples and times, no kernel."""

from __future__ import annotations

import errno
from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Callable

import pytest

import riptide
from riptide import Hint, Sample

S = 1_000_000_000
A, B = "10.0.0.1", "10.0.0.2"


def feed(estimator: Any, now_s: Any, *windows: Any, dst: Any = A) -> Any:
    for cwnd in windows:
        estimator.add(Sample(dst=dst, cwnd=cwnd))
    estimator.tick(now_s * S)
    return {str(change.dst.network_address): change.cwnd for change in estimator.changes()}


def test_window_is_mean_of_all_connections() -> None:
    with riptide.Estimator(policy="paper") as estimator:
        assert feed(estimator, 5, 20, 40, 63) == {A: 41}
        estimate = estimator.find(A)
        assert estimate.dst == ip_network(A)
        assert (estimate.samples, estimate.smoothed, estimate.cwnd) == (3, 41.0, 41)
        assert estimate.updated_ns == 5 * S
        assert list(estimator) == [estimate]


def test_outcomes_are_exceptions() -> None:
    with riptide.Estimator(policy="paper", max_destinations=1) as estimator:
        estimator.add(Sample(dst=A, cwnd=20))
        with pytest.raises(riptide.FullError):
            estimator.add(Sample(dst=B, cwnd=20))
        with pytest.raises(riptide.InvalidError):
            estimator.add(Sample(dst=A, cwnd=0))
        with pytest.raises(LookupError):
            estimator.find(B)
        with pytest.raises(riptide.AgainError):
            estimator.pop()
        estimator.tick(S)
        with pytest.raises(riptide.InvalidError):
            estimator.tick(S - 1)
        assert estimator.stats()["overflow"] == estimator.stats()["invalid"] == 1


def test_estimate_says_why() -> None:
    with riptide.Estimator(policy="paper") as estimator:
        estimator.set_hint(Hint("10.0.0.0/24", cwnd_max=44))
        feed(estimator, 1, 70)
        estimate = estimator.find(A)
    assert estimate.hint == ip_network("10.0.0.0/24")
    assert (estimate.cwnd, estimate.cwnd_max, estimate.smoothed) == (44, 44, 70.0)
    assert estimate.left_out == riptide.LeftOut(unused=0, idle=0, unmeasured=0) == (0, 0, 0)


def test_an_estimator_takes_each_field_of_a_hint() -> None:
    hint = Hint("10.0.0.0/24", cwnd_min=3, cwnd_max=44, off=True)
    assert [field.name for field in fields(hint)] == ["dst", "cwnd_min", "cwnd_max", "off", "until_ns"]
    with riptide.Estimator(policy="paper") as estimator:
        estimator.set_hint(hint)
        feed(estimator, 1, 70)
        estimate = estimator.find(A)
    assert estimate.hint == ip_network("10.0.0.0/24")
    assert (estimate.cwnd_min, estimate.cwnd_max, estimate.cwnd) == (0, 0, 0)


def test_a_hint_with_an_end_does_not_raise_windows() -> None:
    with riptide.Estimator() as estimator, pytest.raises(OSError, match="hint.cwnd_min: must be 0: "):
        estimator.set_hint(Hint(A, cwnd_min=20, until_ns=1))


def test_what_is_left_out_is_explained() -> None:
    with riptide.Estimator() as estimator:
        assert not estimator.add(Sample(A, 10))
        estimator.tick(S)
        estimate = estimator.find(A)
        assert (estimate.cwnd, estimate.samples) == (0, 0)
        assert estimate.left_out == riptide.LeftOut(unused=1, idle=0, unmeasured=0)
        with pytest.raises(riptide.UnknownError):
            estimator.find(B)


def test_hints_lower_and_pass() -> None:
    with riptide.Estimator(policy="paper") as estimator:
        feed(estimator, 1, 70)
        estimator.set_hint(Hint("10.0.0.0/8", cwnd_max=25, until_ns=11 * S))
        assert [change.cwnd for change in estimator.changes()] == [25]
        assert feed(estimator, 12) == {A: 70}
        estimator.set_hint(Hint(A, off=True, until_ns=30 * S))
        assert [change.cwnd for change in estimator.changes()] == [0]
        with pytest.raises(OSError, match="cwnd_max"):
            estimator.set_hint(Hint(A, until_ns=30 * S))


def test_hints_are_taken_back() -> None:
    with riptide.Estimator(policy="paper") as estimator:
        feed(estimator, 1, 70)
        estimator.set_hint(Hint("10.0.0.0/8", cwnd_max=25, until_ns=11 * S))
        assert [change.cwnd for change in estimator.changes()] == [25]
        estimator.set_hint(Hint("10.0.0.0/8", cwnd_max=40))
        estimator.remove_hint("10.0.0.0/8")
        assert [change.cwnd for change in estimator.changes()] == [40]
        estimator.remove_hint("10.0.0.0/8")
        assert [change.cwnd for change in estimator.changes()] == [70]
        with pytest.raises(riptide.UnknownError):
            estimator.remove_hint("10.0.0.0/8")


def test_states_of_two_hosts_are_merged() -> None:
    states = []
    for dst, cwnd in ((A, 20), (B, 40)):
        with riptide.Estimator(policy="paper", ttl=3600) as host:
            host.add(Sample(dst=dst, cwnd=cwnd))
            host.tick()
            states.append(host.save())
    with riptide.Estimator(policy="paper", ttl=3600) as fleet:
        assert [fleet.load(state).loaded for state in states] == [1, 1]
        assert {str(e.dst.network_address): e.cwnd for e in fleet} == {A: 20, B: 40}


def test_state_as_bytes() -> None:
    with riptide.Estimator(policy="paper") as one, riptide.Estimator(policy="paper") as other:
        feed(one, 100, 20)
        state = one.save(now_ns=110 * S, realtime_ns=1000 * S)
        counts = other.load(state, now_ns=500 * S, realtime_ns=1005 * S)
        assert (counts.loaded, counts.expired) == (1, 0)
        assert other.find(A).updated_ns == 485 * S
        assert other.load(memoryview(state), 502 * S, 1007 * S).skipped == 1
        for bad in (b"", b"riptide\n\1", b"!" + state[1:], state.replace(b"2", b"3", 1)):
            with pytest.raises(OSError, match="state: ") as caught:
                other.load(bad)
            assert caught.value.errno == errno.EINVAL
        assert other.load(state[:-1]).skipped == 1
        with pytest.raises(TypeError):
            other.load("text")  # type: ignore[arg-type]


def test_time_beyond_every_clock_is_invalid() -> None:
    with riptide.Estimator(policy="paper") as estimator, pytest.raises(riptide.InvalidError):
        estimator.tick((1 << 64) - 1)


def test_state_in_wider_elements_is_taken_by_its_bytes() -> None:
    with riptide.Estimator(policy="paper") as one, riptide.Estimator(policy="paper") as other:
        feed(one, 100, 20)
        text = one.save(101 * S, 0)
        state = memoryview(text + b"\n" * (-len(text) % 4)).cast("I")
        assert other.load(state, 101 * S, 0).loaded == 1


@pytest.mark.parametrize("options, line, field, index", [
    ({"ttl": 0}, "ttl: ", "ttl", None),
    ({"rto_min_floor": 61}, "rto_min_floor: 61000000 us; must be 1 ms to", "rto_min_floor", None),
])
def test_refusals_name_the_option(options: Any, line: str, field: str, index: int | None) -> None:
    makers: list[Callable[[], Any]] = [lambda: riptide.Estimator(**options),
                                       lambda: riptide.Agent(estimator=options)]
    for make in makers:
        with pytest.raises(riptide.OptionError, match=rf"^\[Errno 22\] estimator\.{line}") as told:
            make()
        assert (told.value.field, told.value.index) == (f"estimator.{field}", index)
