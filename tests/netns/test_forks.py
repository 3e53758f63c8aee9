# SPDX-License-Identifier: MIT
"""Embedders with children and threads: the effects of children of fork(2) on their rules and
rounds (forks.c), and objects that one thread hands to another (threads.c)."""

import errno
import os
import signal

import pytest
from netns import MOUNTED, RIPTIDE, rules, wait_until, wait_window, windows
from programs import Program

#: Functions that write an error's line; all others only return the error.
WITH_LINE = {"applier_start", "agent_start"}


class Forks(Program):
    """The program on a host."""

    def __init__(self, host):
        super().__init__(host, "forks")
        self.first = self.line()

    def n_dispatches(self):
        """How many calls the next two ticks take."""
        word, n = self.ask("round").split()
        assert word == "round"
        return int(n)


@pytest.fixture
def forks(net):
    """A Forks with rules, and a route to 203.0.113.1."""
    net.learned("203.0.113.1", 30)
    started = Forks(net.host)
    assert started.first == "ready"
    assert wait_window(net.host, "203.0.113.1") >= 30
    yield started
    assert started.process.poll() is not None or started.end() == 0


def assert_as_before(net, forks, n_samples):
    """The parent's rules, routes, rounds, notifications and running dump are unaffected."""
    assert forks.line() == f"observer {n_samples}"
    assert forks.line() == "applier sleeps"
    assert len(rules(net.host)) == 2 and windows(net.host)["203.0.113.1"] >= 30
    assert forks.n_dispatches() < 1000
    net.learned("203.0.113.2", 60)  # a round may see it while it grows; 40 is within a step of 38
    wait_until(lambda: windows(net.host).get("203.0.113.2", 0) >= 40, "a window learned since")
    net.host.run(RIPTIDE, "flush", check=False)  # 1: the holder may restore them
    wait_until(lambda: len(rules(net.host)) == 2, "rules that somebody removed")
    assert wait_window(net.host, "203.0.113.1") >= 30
    assert forks.end() == 0
    assert not rules(net.host) and not windows(net.host)


def test_whatever_does_io_is_refused_in_a_child(net, forks):
    refused = f"{-errno.ECHILD} made before fork(2), in process {forks.pid}; "
    lines = [forks.ask("fork calls")]
    while lines[-1] != "child 0":
        lines.append(forks.line())
    results = dict(line.split(" ", 1) for line in lines[:-1])
    assert len(results) == 12
    assert not {call: result for call, result in results.items()
                if not result.startswith(refused if call in WITH_LINE else f"{-errno.ECHILD} ")}
    assert_as_before(net, forks, 1)


def test_a_child_of_a_dead_agent_keeps_its_sockets_and_not_its_claim(net, forks):
    child = int(forks.ask("fork keep").split()[1])
    net.reset(net.connect("203.0.113.3"))
    assert max(forks.n_dispatches() for _ in range(3)) < 1000
    forks.kill()
    other = Forks(net.host)
    assert other.first == "ready"
    assert other.end() == 0
    os.kill(child, signal.SIGKILL)


def test_the_claim_of_a_parent_is_not_its_childs_to_free_or_to_keep(net, forks):
    """Whether the child frees its copies or has them, the claim ends with its parent's stop."""
    for what in ("free", "keep"):
        child = int(forks.ask(f"fork {what}").split()[1])
        assert f"process {forks.pid} already manages" in Forks(net.host).first
        os.kill(child, signal.SIGKILL)
    child = int(forks.ask("fork keep").split()[1])
    assert forks.end() == 0
    assert Forks(net.host).end() == 0
    os.kill(child, signal.SIGKILL)


def test_two_threads_with_an_agent_each(net):
    net.learned("203.0.113.1", 20)
    net.learned("2001:db8::1", 30)
    done = net.host.run(MOUNTED / "tests" / "netns" / "threads")
    # Two destinations of the host, and that of its own sample.
    assert done.stdout.splitlines() == 4 * ["destinations 3"]
