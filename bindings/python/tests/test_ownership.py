# SPDX-License-Identifier: MIT
"""Whose an object is: closing, threads, fork, memory."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import riptide
from netns import DEADLINE_S, Network

CLASSES = [riptide.Observer, riptide.Estimator, riptide.Applier, riptide.Agent]
HOST = ip_network("10.0.0.1")
#: What each method of an object is called with; None: it is tested by itself.
ARGUMENTS: dict[str, Any] = {
    **dict.fromkeys(["find", "remove_hint"], (HOST,)),
    "set_hint": (riptide.Hint(HOST),), "load": (b"",), "annotate": (HOST, 7),
    "add": (riptide.Sample(HOST, cwnd=20),), "set": (riptide.Wanted(HOST, initcwnd=20),),
    "close": None, "closed": None,
}


@pytest.fixture(params=CLASSES)
def thing(request: Any) -> Iterator[Any]:
    """One object of each class."""
    one = request.param()
    yield one
    one.close()


def use(thing: Any, name: str, arguments: Any) -> None:
    result = getattr(thing, name)
    if callable(result):
        result = result(*arguments)
    if hasattr(result, "__next__"):
        next(result, None)


def assert_refused(thing: Any, error: Any, match: str) -> None:
    """All public calls on it except closing it raise that."""
    names = [name for name in dir(thing) if name[0] != "_" and ARGUMENTS.get(name, ()) is not None]
    assert len(names) >= 6
    for name in names:
        with pytest.raises(error, match=match):
            use(thing, name, ARGUMENTS.get(name, ()))
            pytest.fail(f"{name} was not refused")


def test_closed_object_says_so(thing: Any) -> None:
    with thing:
        assert not thing.closed
    assert thing.closed
    thing.close()
    assert_refused(thing, ValueError, f"{type(thing).__name__}: closed")
    with pytest.raises(ValueError), thing:
        pass


def test_nobody_else_uses_or_closes_an_object_while_a_call_is_under_way(thing: Any) -> None:
    """Neither another thread nor a handler of a signal, which runs while a call goes on."""
    def other(function: Callable[[], None]) -> None:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(function).result()

    runners: list[Callable[[Callable[[], None]], None]] = [other, lambda function: function()]
    for run in runners:
        with thing._use:
            run(lambda: assert_refused(thing, riptide.ConcurrentUseError, "one thread at a time"))
            with pytest.raises(riptide.ConcurrentUseError):
                run(thing.close)
        assert not thing.closed
        thing.stats()


def test_child_of_fork_can_do_nothing_but_close(thing: Any) -> None:
    def child() -> int:
        assert_refused(thing, riptide.ForkedError, f"process {os.getppid()}")
        thing.close()
        with type(thing)():
            return 7  # one of its own works

    with thing._use:  # as another thread's call during the fork
        assert in_child(child) == 7
    with thing:
        pass


@pytest.mark.parametrize("cls", CLASSES)
def test_forgotten_object_is_freed_with_a_warning(cls: Any) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.warns(ResourceWarning, match=f"{cls.__name__}: not closed"):
        cls()
        gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_threads_that_dump_with_one_observer_are_refused_or_get_all_of_it(net: Network) -> None:
    """No dump is cut in two: no EBUSY, no waiting for what the other one has read."""
    for number in range(3):
        net.connect(f"203.0.113.{7 + number}")
    with net.host.entered(), riptide.Observer() as observer:
        def work() -> tuple[int, int]:
            n_dumps = n_refusals = 0
            while n_dumps < 100:
                try:
                    assert len(observer.dump()) == 3
                    n_dumps += 1
                except riptide.ConcurrentUseError:
                    n_refusals += 1
            return n_dumps, n_refusals

        with ThreadPoolExecutor(3) as threads:
            done = [thread.result() for thread in [threads.submit(work) for _ in range(3)]]
        stats = observer.stats()
        assert (stats.dumps, stats.failures) == (sum(n_dumps for n_dumps, _ in done), 0)
        assert any(n_refusals for _, n_refusals in done)


def in_child(function: Callable[[], int | None]) -> int:
    """What the function makes of a forked process: its exit status."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = function() or 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_child_that_closes_an_agent_leaves_the_parents_loop_alone(net: Network) -> None:
    async def run() -> None:
        with riptide.Agent(interval=0.05) as agent:
            agent.start()
            waiting = asyncio.ensure_future(agent.__aiter__().__anext__())
            await asyncio.sleep(0)
            assert in_child(agent.close) == 0
            assert isinstance(await asyncio.wait_for(waiting, DEADLINE_S), riptide.AgentEvent)

    with net.host.entered():
        asyncio.run(run())


def memory_kb() -> int:
    """The pages that the process has written to; mapped files vary."""
    return int(Path("/proc/self/smaps_rollup").read_text().split("Anonymous:")[1].split()[0])


@pytest.mark.parametrize("cls", CLASSES)
def test_opening_and_closing_leaks_nothing(cls: Any) -> None:
    def cycle(n: int) -> None:
        for _ in range(n):
            with cls():
                pass
        gc.collect()

    cycle(200)
    tracemalloc.start()
    try:
        cycle(100)
        traced, written = tracemalloc.get_traced_memory()[0], memory_kb()
        cycle(3000)
        assert tracemalloc.get_traced_memory()[0] - traced < 10_000
        assert memory_kb() - written < 1024
    finally:
        tracemalloc.stop()


def test_import_needs_nothing_but_cffi() -> None:
    code = "import riptide, sys; sys.exit(bool({'numpy', 'asyncio'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
