# SPDX-License-Identifier: MIT
"""What a signal's handler raises in the middle of a call: the object goes on, and can be closed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import riptide
from netns import Network, rules

PACKAGE = str(Path(riptide.__file__).parent)


class Interrupt(BaseException):
    """As KeyboardInterrupt, but nobody else's."""


@contextmanager
def raising_before_step(number: int) -> Iterator[None]:
    """Raises there, where handlers of signals run: before a bytecode of the package."""
    left = number

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                raise Interrupt
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def interrupted_at_each_step(call: Callable[[], Any]) -> Iterator[int]:
    """Calls it until it is not interrupted any more, a step later each time."""
    for number in range(5000):
        with suppress(Interrupt), raising_before_step(number):
            call()
            return
        yield number  # and what it had is gone with the exception
    pytest.fail("it never ends")


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Who hangs fails, and holds up nobody."""
    def late(*_: Any) -> None:
        pytest.fail("a call hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(600)  # a dump walks the connections of the whole machine
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_dump_goes_on_after_an_interrupt_at_any_step(net: Network) -> None:
    for number in range(3):
        net.connect(f"203.0.113.{7 + number}")
    with net.host.entered(), riptide.Observer() as observer:
        n = 0
        for n in interrupted_at_each_step(observer.dump):
            assert len(observer.dump()) == 3, f"step {n}"
        assert n > 100 and observer.stats()["failures"] == 0


def test_dump_goes_on_after_several_interrupts_at_one_step(net: Network) -> None:
    """The library gives up a dump that is asked for again and again, and never read."""
    net.connect("203.0.113.7")
    with net.host.entered(), riptide.Observer() as observer:
        for number in range(40, 150):
            for _ in range(5):
                with pytest.raises(Interrupt), raising_before_step(number):
                    observer.dump()
            assert len(observer.dump()) == 1


def test_dump_ends_one_that_was_started_in_a_loop_of_ones_own(net: Network) -> None:
    net.connect("203.0.113.7")
    with net.host.entered(), riptide.Observer() as observer:
        observer.start()
        assert len(observer.dump()) == 1
        observer.start()
        observer.dispatch()
        assert len(observer.dump_columns()["cwnd"]) == 1


def test_any_call_goes_on_after_an_interrupt_at_any_step() -> None:
    with riptide.Estimator() as estimator, riptide.Agent() as agent:
        calls: list[Callable[[], Any]] = [
            estimator.stats, lambda: list(estimator.changes()), lambda: list(estimator),
            agent.stats, lambda: list(agent.events()), agent.fileno]
        for call in calls:
            for _ in interrupted_at_each_step(call):
                call()


def test_agent_waits_again_after_an_interrupt_at_any_step(net: Network) -> None:
    async def next_event() -> None:
        events = agent.__aiter__()
        try:
            await asyncio.wait_for(events.__anext__(), 5)
        finally:
            await events.aclose()  # type: ignore[attr-defined]

    with net.host.entered(), riptide.Agent(interval=0.02) as agent:
        agent.start()
        n = 0
        for n in interrupted_at_each_step(lambda: asyncio.run(next_event())):
            asyncio.run(next_event())
        assert n > 100


@pytest.mark.filterwarnings("ignore::ResourceWarning",
                            "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("cls", [riptide.Observer, riptide.Applier, riptide.Agent])
def test_constructor_leaves_no_files_after_an_interrupt_at_any_step(cls: Any) -> None:
    before, n = len(os.listdir("/proc/self/fd")), 0
    for n in interrupted_at_each_step(cls):
        assert len(os.listdir("/proc/self/fd")) == before, f"step {n}"
    assert n > 100


def test_call_around_a_call_is_refused_still() -> None:
    """That of a handler, say, which runs while the call goes on."""
    with riptide.Estimator() as estimator:
        with estimator._guard:
            with pytest.raises(riptide.ConcurrentUseError, match="around this one"):
                estimator.stats()
        assert estimator.stats()["samples"] == 0


@pytest.mark.parametrize("cls", [riptide.Observer, riptide.Estimator, riptide.Applier,
                                 riptide.Agent])
def test_owner_can_always_close(cls: Any) -> None:
    one = cls()
    for _ in interrupted_at_each_step(one.stats if hasattr(one, "stats") else one.fileno):
        pass
    for _ in interrupted_at_each_step(one.close):
        pass
    one.close()
    assert one.closed


@pytest.mark.parametrize("name", ["Applier", "Agent"])
def test_close_takes_the_rules_back_after_any_interrupt(net: Network, name: str) -> None:
    """Of start(), and of a close() before."""
    with net.host.entered():
        for step in range(10, 200, 7):
            for method in "start", "close":
                one = getattr(riptide, name)()
                try:
                    if method == "close":
                        one.start()
                    with raising_before_step(step):
                        getattr(one, method)()
                except Interrupt:
                    pass
                one.close()
        assert rules(net.host) == []
