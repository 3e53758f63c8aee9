"""Whose an object is: closing, threads, fork, memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import pytest

import riptide
from netns import Network

CLASSES = [riptide.Observer, riptide.Estimator, riptide.Router, riptide.Agent]


@pytest.mark.parametrize("cls", CLASSES)
def test_closed_object_says_so(cls: Any) -> None:
    with cls() as thing:
        assert not thing.closed
        assert cls is riptide.Estimator or thing.fileno() >= 0
    assert thing.closed
    thing.close()
    calls = ["start", "dispatch", "pop", "fileno", "stats", "tick", "changes", "__iter__", "events"]
    for name in calls:
        if hasattr(thing, name):
            with pytest.raises(ValueError, match=f"{cls.__name__}: closed"):
                result = getattr(thing, name)()
                next(iter(result), None)
    with pytest.raises(ValueError), thing:
        pass


def test_stages_of_a_closed_agent_are_closed() -> None:
    agent = riptide.Agent()
    assert agent.observer.stats()["dumps"] == 0
    assert not list(agent.router) and not list(agent.estimator)
    agent.close()
    for call in (agent.observer.stats, agent.estimator.stats, agent.router.stats):
        with pytest.raises(ValueError, match="closed"):
            call()


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


def test_second_thread_is_told_while_a_call_is_under_way() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait(samples: Any, about: Any) -> Any:
        inside.set()
        assert go_on.wait(10)
        return 20

    with riptide.Estimator(policy=riptide.Policy("waits", wait)) as estimator:
        estimator.add(riptide.Sample(dst="10.0.0.1", cwnd=20))
        thread = threading.Thread(target=estimator.tick)
        thread.start()
        assert inside.wait(10)
        calls: list[Any] = [estimator.tick, estimator.stats, estimator.close]
        for call in calls:
            with pytest.raises(riptide.ConcurrentUseError, match="Estimator.*one thread at a time"):
                call()
        go_on.set()
        thread.join()
        assert estimator.find("10.0.0.1").cwnd == 20  # and ours again


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


@pytest.mark.parametrize("cls", CLASSES)
def test_child_of_fork_cannot_use_it_but_close_it(cls: Any) -> None:
    def child() -> Any:
        with pytest.raises(riptide.ForkedError, match=f"process {os.getppid()}"):
            thing.stats() if hasattr(thing, "stats") else thing.dispatch()
        thing.close()
        with cls():  # one of its own works
            return 7

    with cls() as thing:
        assert in_child(child) == 7
        assert cls is riptide.Estimator or thing.fileno() >= 0


def test_child_leaves_the_parents_routes(net: Network) -> None:
    with net.host.entered(), riptide.Router() as router:
        router.start()
        assert in_child(router.close) == 0
        with pytest.raises(OSError):
            with riptide.Router() as other:
                other.start()
        assert len([rule for rule in riptide.rules() if rule.is_ours]) == 4
    assert net.host.ip("rule").count("7230") == 0


def resident_kb() -> Any:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


@pytest.mark.parametrize("cls", [riptide.Observer, riptide.Estimator, riptide.Router, riptide.Agent])
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
        traced, resident = tracemalloc.get_traced_memory()[0], resident_kb()
        cycle(10_000)
        assert tracemalloc.get_traced_memory()[0] - traced < 10_000
        assert resident_kb() - resident < 1024
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
