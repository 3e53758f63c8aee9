# SPDX-License-Identifier: MIT
"""What a signal's handler raises in the middle of a call: the object goes on, and can be closed."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import riptide
from netns import DEADLINE_S, Network, rules

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


def test_dump_goes_on_after_an_interrupt_at_any_step(net: Network) -> None:
    for number in range(3):
        net.connect(f"203.0.113.{7 + number}")
    with net.host.entered(), riptide.Observer() as observer:
        observer.dump()  # what is kept of each type is made
        n = 0
        for n in interrupted_at_each_step(observer.dump):
            assert len(observer.dump()) == 3, f"step {n}"
        assert n > 100 and observer.stats().failures == 0


def test_agent_waits_again_after_an_interrupt_at_any_step(net: Network) -> None:
    async def next_event() -> None:
        events = agent.__aiter__()
        try:
            await asyncio.wait_for(events.__anext__(), DEADLINE_S)
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


@pytest.mark.parametrize("cls", [riptide.Observer, riptide.Estimator, riptide.Applier,
                                 riptide.Agent])
def test_after_an_interrupt_at_any_step_it_can_be_called_and_closed(cls: Any) -> None:
    one = cls()
    for call in one.stats, lambda: list(one.pop_all()):
        for _ in interrupted_at_each_step(call):
            call()
    for _ in interrupted_at_each_step(one.close):
        pass
    one.close()
    assert one.closed


@pytest.mark.parametrize("name", ["Applier", "Agent"])
def test_close_takes_the_rules_back_after_any_interrupt(net: Network, name: str) -> None:
    """Of start(), and of a close() before."""
    with net.host.entered():
        for step in range(0, 120, 5):
            for method in "start", "close":
                one = getattr(riptide, name)()
                with suppress(Interrupt):
                    if method == "close":
                        one.start()
                    with raising_before_step(step):
                        getattr(one, method)()
                one.close()
        assert rules(net.host) == []
