# SPDX-License-Identifier: MIT
"""Whose an object is: closing, threads, fork, memory."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import riptide
from netns import DEADLINE_S, Network

CLASSES = [riptide.Observer, riptide.Estimator, riptide.Applier, riptide.Agent]


#: What each method of an object is called with; None: is not refused, or is tested by itself.
ARGUMENTS: dict[str, Any] = {
    **dict.fromkeys(["find", "explain", "remove_hint"], ("10.0.0.1",)),
    "hint": ("10.0.0.1", 1), "set_hint": (riptide.Hint("10.0.0.1"),),
    "load": (b"",), "arm_of": ("10.0.0.1", 7),
    "add": (riptide.Sample("10.0.0.1", 20),), "set": ("10.0.0.1", 20),
    "request": ("status",), "close": None,
}


@pytest.fixture(params=["Observer", "Estimator", "Applier", "Agent", "Control"])
def thing(request: Any, tmp_path: Path) -> Any:
    """One object of each class; Control's daemon says nothing."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "control"))
        listener.listen()
        cls = getattr(riptide, request.param)
        one = cls(tmp_path / "control") if cls is riptide.Control else cls()
        yield one
        one.close()


def uses(thing: Any) -> Any:
    """All public calls on it except closing it."""
    for name in [name for name in dir(thing) if name[0] != "_" or name == "__iter__"]:
        arguments = ARGUMENTS.get(name, ())
        if arguments is not None and name != "closed":
            yield partial(use, thing, name, arguments)


def use(thing: Any, name: str, arguments: Any) -> None:
    result = getattr(thing, name)
    if callable(result):
        result = result(*arguments)
    if hasattr(result, "__next__"):
        next(result, None)


def refused(thing: Any, error: Any, match: str) -> int:
    """How many uses there are, all of which raise that."""
    n = 0
    for one in uses(thing):
        with pytest.raises(error, match=match):
            one()
            pytest.fail(f"{one} was not refused")
        n += 1
    return n


def test_closed_object_says_so(thing: Any) -> None:
    name = type(thing).__name__
    with thing:
        assert not thing.closed
    assert thing.closed
    thing.close()
    assert refused(thing, ValueError, f"{name}: closed") >= 8
    with pytest.raises(ValueError), thing:
        pass


def test_nobody_else_uses_or_closes_an_object_while_a_call_is_under_way(thing: Any) -> None:
    name = type(thing).__name__
    with ThreadPoolExecutor(1) as other:
        other.submit(thing._guard.__enter__).result()  # as a call that does not return
        assert refused(thing, riptide.ConcurrentUseError, f"{name}: .*one thread at a time") >= 8
        with pytest.raises(riptide.ConcurrentUseError):
            thing.close()
        assert not thing.closed
        other.submit(thing._guard.__exit__).result()
    with thing:
        pass


def test_child_of_fork_can_do_nothing_but_close(thing: Any) -> None:
    def child() -> Any:
        assert refused(thing, riptide.ForkedError, f"process {os.getppid()}") >= 8
        thing.close()
        with type(thing)() if not isinstance(thing, riptide.Control) else contextlib.nullcontext():
            return 7  # one of its own works

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


@pytest.mark.parametrize("cls", CLASSES)
def test_constructor_that_fails_leaves_nothing(cls: Any) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError):
            cls(nothing=1)
        gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_threads_hand_over_and_collide_without_harm() -> None:
    """Whoever is refused tries again: everything is counted once."""
    with riptide.Estimator() as estimator:
        refused = []

        def work(number: Any) -> Any:
            sample = riptide.Sample(dst=f"10.0.0.{number}", cwnd=20)
            done = 0
            while done < 2000:
                try:
                    estimator.add(sample)
                    done += 1
                except riptide.ConcurrentUseError:
                    refused.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert estimator.stats()["samples"] == 8000


def collide(calls: list[Any], n: int = 100) -> list[Any]:
    """What threads get that make n calls each on one object, or more, until they have met there;
    who is refused tries again."""
    results: list[Any] = []
    refusals: list[Any] = []
    start = threading.Barrier(len(calls))
    end = time.monotonic() + DEADLINE_S

    def work(call: Any) -> None:
        start.wait()
        done = 0
        while done < n or (not refusals and time.monotonic() < end):
            try:
                results.append(call())
                done += 1
            except riptide.ConcurrentUseError as refusal:
                refusals.append(refusal)
                os.sched_yield()

    # As often as can be: calls that do little else begin and end within a turn of one thread.
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(calls)) as threads:
            for done in [threads.submit(work, call) for call in calls]:
                done.result()  # raises what was neither a result nor a refusal
    finally:
        sys.setswitchinterval(interval_s)
    assert refusals and len(results) >= n * len(calls)
    return results


def test_threads_that_dump_with_one_observer_are_refused_or_get_all_of_it(net: Network) -> None:
    """No dump is cut in two: no EBUSY, no waiting for what the other one has read."""
    for number in range(3):
        net.connect(f"203.0.113.{7 + number}")
    with net.host.entered(), riptide.Observer() as observer:
        results = collide([lambda: len(observer.dump())] * 2 + [
            lambda: len(observer.dump_columns()["cwnd"])])
        assert set(results) == {3}
        assert observer.stats()["dumps"] == len(results) and observer.stats()["failures"] == 0


def test_threads_that_set_and_dispatch_one_applier(net: Network) -> None:
    with net.host.entered(), riptide.Applier() as applier:
        applier.start()
        collide([lambda: applier.set("203.0.113.7", 40), applier.dispatch,
                 lambda: list(applier.changes()), lambda: applier.is_idle, applier.stats])
        while not applier.is_idle:
            applier.dispatch()
        assert applier.stats()["routes"] == 1


def test_threads_that_ask_one_daemon_get_their_own_answers(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "control"))
    listener.listen()

    def serve() -> None:
        with listener, listener.accept()[0] as client, client.makefile("rwb") as lines:
            for line in lines:
                asked = json.loads(line)["dst"]
                lines.write(json.dumps({"ok": True, "dst": asked}).encode() + b"\n")
                lines.flush()

    daemon = threading.Thread(target=serve)
    daemon.start()
    with riptide.Control(tmp_path / "control") as control:
        answers = collide([partial(control.explain, f"10.0.0.{number}") for number in range(3)])
        counts = [answers.count({"dst": f"10.0.0.{number}"}) for number in range(3)]
        assert min(counts) >= 100 and sum(counts) == len(answers)
    daemon.join()


def test_agent_belongs_to_the_thread_whose_loop_waits_for_it(net: Network) -> None:
    async def run(agent: riptide.Agent) -> Any:
        waiting = asyncio.ensure_future(agent.__aiter__().__anext__())
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        calls: list[Any] = [agent.dispatch, agent.close, agent.stats, agent.pop]
        for call in calls:
            with pytest.raises(riptide.ConcurrentUseError, match="task of another thread"):
                await loop.run_in_executor(None, call)
        assert agent.fileno() >= 0
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await loop.run_in_executor(None, agent.close)  # and now it may

    with net.host.entered():
        agent = riptide.Agent(interval=60)
        asyncio.run(run(agent))
        assert agent.closed


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


def in_child(function: Any) -> Any:
    """What the function makes of a forked process: its exit status."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = function() or 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_child_leaves_the_parents_routes(net: Network) -> None:
    with net.host.entered(), riptide.Applier() as applier:
        applier.start()
        assert in_child(applier.close) == 0
        with pytest.raises(OSError):
            with riptide.Applier() as other:
                other.start()
        assert net.host.ip("rule").count("7230") == 1
    assert net.host.ip("rule").count("7230") == 0


def memory_kb() -> Any:
    """The pages that the process has written to; mapped files vary."""
    return int(Path("/proc/self/smaps_rollup").read_text().split("Anonymous:")[1].split()[0])


@pytest.mark.parametrize("cls", CLASSES)
def test_opening_and_closing_leaks_nothing(cls: Any) -> None:
    def cycle(n: Any) -> Any:
        for _ in range(n):
            with cls():
                pass
        gc.collect()

    cycle(200)
    tracemalloc.start()
    try:
        cycle(100)
        traced, written = tracemalloc.get_traced_memory()[0], memory_kb()
        cycle(10_000)
        assert tracemalloc.get_traced_memory()[0] - traced < 10_000
        assert memory_kb() - written < 1024
    finally:
        tracemalloc.stop()


def test_samples_outlive_the_observer_and_its_dump(net: Network) -> None:
    net.connect("203.0.113.7")
    with net.host.entered():
        sample = riptide.observe()[0]
        columns = riptide.observe_columns()
    gc.collect()
    assert str(sample.dst) == "203.0.113.7" and list(columns["cwnd"]) == [10]


def test_import_needs_nothing_but_cffi() -> None:
    code = "import riptide, sys; sys.exit(bool({'numpy', 'typing_extensions'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
