# SPDX-License-Identifier: MIT
"""Embedders with children and threads: the effects of children of fork(2) on their rules and
rounds (containers.c), and objects that one thread hands to another (threads.c)."""

import errno
import os
import signal

import pytest
from netns import MOUNTED, RIPTIDE, rules, wait_until, wait_window, windows
from programs import Program


class Forks(Program):
    """An agent of the host's own namespace."""

    def __init__(self, host):
        super().__init__(host, "containers", f"/run/netns/{host.name}")
        self.first = self.line()

    def ask(self, line):
        """Sends a line; returns the lines up to the one about the child or the loop."""
        self.send([line])
        answer = [self.line()]
        while answer[-1].split()[0] not in ("child", "wakeups"):
            answer.append(self.line())
        return [line for line in answer if not line.startswith("/")]  # no windows

    def fork(self, what):
        return int(self.ask(f"fork {what}")[-1].split()[1])


@pytest.fixture
def forks(net):
    """A Forks with rules, and a route to 203.0.113.1."""
    net.learned("203.0.113.1", 30)
    started = Forks(net.host)
    assert started.first == "ready"
    assert wait_window(net.host, "203.0.113.1") >= 30
    yield started
    assert started.process.poll() is not None or started.end() == 0


def test_whatever_does_io_is_refused_in_a_child_and_leaves_the_parent_alone(net, forks):
    *lines, status = forks.ask("fork calls")
    results = dict(line.split(" ", 1) for line in lines)
    line = f"made before fork(2), in process {forks.pid}; make a new one in this process"
    with_line, without = f"{-errno.ECHILD} {line}", f"{-errno.ECHILD} "
    assert results == {"start": with_line, "set_paused": without, "dispatch": without, "save": with_line, "stop": with_line}
    assert status == "child 0"
    assert len(rules(net.host)) == 2 and windows(net.host)["203.0.113.1"] >= 30
    net.learned("203.0.113.2", 60)  # a round may see it while it grows; 40 is within a step of 38
    wait_until(lambda: windows(net.host).get("203.0.113.2", 0) >= 40, "a window learned since")
    net.host.run(RIPTIDE, "flush", check=False)  # 1: the holder may restore them
    wait_until(lambda: len(rules(net.host)) == 2, "rules that somebody removed")
    assert wait_window(net.host, "203.0.113.1") >= 30
    assert forks.end() == 0
    assert not rules(net.host) and not windows(net.host)


def test_a_child_of_a_dead_agent_keeps_its_sockets_and_not_its_claim(net, forks):
    child = forks.fork("keep")
    forks.ask("wakeups")
    net.learned("203.0.113.3", 30)
    wait_window(net.host, "203.0.113.3")
    assert int(forks.ask("wakeups")[-1].split()[1]) < 1000, "the loop spins"
    forks.kill()
    other = Forks(net.host)
    assert other.first == "ready"
    assert other.end() == 0
    os.kill(child, signal.SIGKILL)


def test_the_claim_of_a_parent_is_not_its_childs_to_free_or_to_keep(net, forks):
    """Whether the child frees its copies or has them, the claim ends with its parent's stop."""
    for what in ("free", "keep"):
        child = forks.fork(what)
        assert f"process {forks.pid} already manages" in Forks(net.host).first
        os.kill(child, signal.SIGKILL)
    child = forks.fork("keep")
    assert forks.end() == 0
    assert Forks(net.host).end() == 0
    os.kill(child, signal.SIGKILL)


def test_two_threads_with_an_agent_each(net):
    net.learned("203.0.113.1", 20)
    net.learned("2001:db8::1", 30)
    done = net.host.run(MOUNTED / "tests" / "netns" / "threads")
    # Two destinations of the host, and that of its own sample.
    assert done.stdout.splitlines() == 4 * ["destinations 3"]
