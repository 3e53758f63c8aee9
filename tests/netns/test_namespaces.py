# SPDX-License-Identifier: MIT
"""Embedders whose agents are made in other network namespaces than their own, or that fork
(containers.c), and with threads (threads.c); and `ip netns exec`."""

import os
import signal
import subprocess
from pathlib import Path

import cgroups
import pytest
from control import one_line, wait_rounds
from netns import (DEADLINE_S, MOUNTED, RIPTIDE, RIPTIDED, Daemon, Network, rules, snapshot, wait_until,
                   wait_window, windows)
from programs import Program


@pytest.fixture
def networks():
    """Two containers, each with its own world."""
    made = [Network(), Network()]
    yield made
    for network in made:
        network.close()


class Containers(Program):
    """The program on a host, for others or for itself; `first` is its first line."""

    def __init__(self, home, *words):
        super().__init__(home, "containers", *words)
        self.first = self.line()

    @classmethod
    def ready(cls, home, *words):
        started = cls(home, *words)
        assert started.first == "ready"
        return started

    @classmethod
    def refusal(cls, home, *words):
        refused = cls(home, *words)
        assert refused.process.wait(DEADLINE_S) == 1
        return refused.first

    def ask(self, line):
        """The number of the answer, about the child or the loop."""
        return int(self.call(line, ("child", "wakeups")))


def learn(networks):
    """A window in each; a new connection's first packets look up our route."""
    networks[0].learned("203.0.113.1", 30)
    networks[1].learned("203.0.113.2", 60)


def test_each_namespace_learns_from_its_own_connections_and_home_has_no_trace(host, networks):
    before = snapshot(host)
    learn(networks)
    containers = Containers.ready(host, *(network.host.path for network in networks))
    assert wait_window(networks[0].host, "203.0.113.1") >= 30
    assert wait_window(networks[1].host, "203.0.113.2") >= 60
    assert all(len(windows(network.host)) == 1 for network in networks)
    assert snapshot(host) == before
    assert (os.stat(f"/proc/{containers.pid}/ns/net").st_ino == os.fstat(host.fd).st_ino)
    assert containers.end() == 0
    assert not any(rules(network.host) for network in networks)


@pytest.mark.parametrize("ending", ["in order", "SIGKILL"])
def test_a_program_for_each_of_many_namespaces(host, networks, cgroup, ending):
    """The same address is another host in each; removing the first does not affect the other."""
    cwnds = [network.learned("203.0.113.1", cwnd).cwnd() for network, cwnd in zip(networks, (30, 60))]
    paths = [network.host.path for network in networks]

    def starts():
        return [network.starts("203.0.113.1") for network in networks]
    containers = Containers.ready(host, "--cgroup", cgroup, *paths)
    wait_until(lambda: starts() == cwnds, "a window in each")
    assert not any(rules(network.host) for network in networks)
    if ending == "SIGKILL":
        containers.kill()
    else:
        subprocess.run(["umount", "--lazy", paths[0]], check=True)
        wait_until(lambda: starts() == [10, cwnds[1]], "that it is gone")
        assert containers.end() == 0
    assert starts() == [10, 10]


def test_a_namespace_that_is_given_up_ends_its_part_and_no_other(host, networks):
    learn(networks)
    gone, kept = networks
    paths = [network.host.path for network in networks]
    containers = Containers(host, *paths)
    assert wait_window(kept.host, "203.0.113.2")
    for connection in list(gone.connections):
        gone.reset(connection)
    world = gone.world
    subprocess.run(["ip", "netns", "delete", gone.host.name], check=True)
    os.close(gone.host.fd)
    containers.answer(f"{paths[0]}: gone")
    # The namespace ends with its last socket, and its links with it.
    wait_until(lambda: " eth0@" not in world.ip("link"), "the end of its links")
    kept.learned("203.0.113.9", 40)
    wait_until(lambda: windows(kept.host).get("203.0.113.9", 0) >= 30, "a window in the other")
    networks.remove(gone)
    world.close()
    assert containers.end() == 0


@pytest.mark.parametrize("by", ["routes", "program"])
def test_who_manages_a_namespace_already_is_refused(host, net, cgroup, by):
    """Each agent is made in the namespace and started from another; riptided is all in it."""
    path, options = net.host.path, ("--cgroup", cgroup) if by == "program" else ()
    assert Containers.refusal(host, *options, path, path) == (
        f"{path}: this process already manages this network namespace, with another applier or "
        "agent, or a child of it from before exec; stop that first")
    first = Containers.ready(host, *options, path)
    of_another = "process {} already manages this network namespace; stop it first"
    for home in (net.world, net.host):
        assert Containers.refusal(home, *options, path) == f"{path}: {of_another.format(first.pid)}"
    # Before the program is loaded: else it would say that CAP_BPF is missing.
    without = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    said = one_line(net.host.run(*without, RIPTIDED, "--apply", by, *options, check=False))
    assert of_another.format(first.pid) in said
    assert first.end() == 0


def in_a_namespace(host, first, *words):
    """A riptided as `ip netns exec` starts it: with a /sys of its own, without cgroup2."""
    return ("ip", "netns", "exec", host.name, "sh", "-c", f'{first}; exec "$@"', "sh", *words, RIPTIDED)


@pytest.mark.parametrize("first", ["true", "umount -a -t cgroup2"], ids=["mounted elsewhere", "not mounted"])
@pytest.mark.parametrize("given", [None, "/sys/fs/cgroup"], ids=["root", "below"])
def test_the_program_finds_cgroups_that_ip_netns_exec_hides(net, cgroup, cgroup_root, given, first):
    below = ("--cgroup", f"{given}/{cgroup.relative_to(cgroup_root)}") if given else ()
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, "--apply", "program", *below, command=in_a_namespace(net.host, first)) as daemon:
        wait_rounds(2)
        assert net.connect("203.0.113.1").cwnd() >= 30
        assert "cgroup2" not in Path(f"/proc/{daemon.pid}/mountinfo").read_text() or first == "true"
        cgroups.enter(cgroup.parent)
        assert (net.connect("203.0.113.1").cwnd() > 10) == (not given)
        cgroups.enter(cgroup)


def test_where_no_cgroup_can_be_found_it_says_who_hides_them(net, cgroup):
    without = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", "--")
    command = in_a_namespace(net.host, "umount -a -t cgroup2", *without)
    for below in ((), ("--cgroup", "/sys/fs/cgroup/below")):
        assert ("no cgroup2 is mounted here: `ip netns exec` hides it; nsenter --net and riptided@.service do not"
                in one_line(net.host.run(*command, "--apply", "program", *below, check=False), 2))


def test_a_directory_that_is_not_in_a_hidden_cgroup2_is_said(net):
    done = net.host.run(*in_a_namespace(net.host, "true"), "--apply", "program", "--cgroup", "/sys/fs/cgroup/memory/x",
                        check=False)
    assert done.returncode == 1 and "cgroup2 has no directory /sys/fs/cgroup/memory/x" in done.stderr


@pytest.fixture
def forks(net):
    """An agent of the host's own namespace, with rules and a route to 203.0.113.1."""
    net.learned("203.0.113.1", 30)
    started = Containers.ready(net.host, net.host.path)
    assert wait_window(net.host, "203.0.113.1") >= 30
    yield started
    assert started.process.poll() is not None or started.end() == 0


def test_the_end_of_a_child_leaves_the_parent_alone(net, forks):
    assert forks.ask("fork exit") == 0
    assert len(rules(net.host)) == 2 and windows(net.host)["203.0.113.1"] >= 30
    net.learned("203.0.113.2", 60)  # a round may see it while it grows; 40 is within a step of 38
    wait_until(lambda: windows(net.host).get("203.0.113.2", 0) >= 40, "a window learned since")
    net.host.run(RIPTIDE, "flush", check=False)  # 1: the holder may restore them
    wait_until(lambda: len(rules(net.host)) == 2, "rules that somebody removed")
    assert wait_window(net.host, "203.0.113.1") >= 30
    assert forks.end() == 0
    assert not rules(net.host) and not windows(net.host)


@pytest.mark.parametrize("is_zombie", [False, True])
def test_a_child_of_a_dead_agent_keeps_its_sockets_and_not_its_claim(net, forks, is_zombie):
    child = forks.ask("fork keep")
    forks.ask("wakeups")
    net.learned("203.0.113.3", 30)
    wait_window(net.host, "203.0.113.3")
    assert forks.ask("wakeups") < 1000, "the loop spins"
    if is_zombie:
        forks.process.kill()
        os.waitid(os.P_PID, forks.pid, os.WEXITED | os.WNOWAIT)
    else:
        forks.kill()
    assert "removed: rules 2, routes 2\n" in net.host.run(RIPTIDED, "--flush").stderr
    assert Containers.ready(net.host, net.host.path).end() == 0
    os.kill(child, signal.SIGKILL)
    forks.process.wait()


def test_the_program_of_a_dead_agent_whose_child_has_its_fds_gives_no_windows_after_its_lease(net, cgroup):
    net.learned("203.0.113.1", 30)
    agent = Containers.ready(net.host, "--cgroup", cgroup, net.host.path)
    wait_until(lambda: net.starts("203.0.113.1") > 10, "a window")
    child = agent.ask("fork keep")
    agent.kill()
    assert net.starts("203.0.113.1") > 10, "the child keeps the program attached"
    wait_until(lambda: net.starts("203.0.113.1") == 10, "the end of the lease")
    os.kill(child, signal.SIGKILL)


def test_the_claim_of_a_parent_is_not_its_childs_to_free_or_to_keep(net, forks):
    """Whether the child frees its copies or has them, the claim ends with its parent's stop."""
    for what in ("free", "keep"):
        child = forks.ask(f"fork {what}")
        assert f"process {forks.pid} already manages" in Containers(net.host, net.host.path).first
        os.kill(child, signal.SIGKILL)
    child = forks.ask("fork keep")
    assert forks.end() == 0
    assert Containers(net.host, net.host.path).end() == 0
    os.kill(child, signal.SIGKILL)


def test_two_threads_with_an_agent_each(net):
    net.learned("203.0.113.1", 20)
    net.learned("2001:db8::1", 30)
    done = net.host.run(MOUNTED / "tests" / "netns" / "threads")
    # Two destinations of the host, and that of its own sample.
    assert done.stdout.splitlines() == 4 * ["destinations 3"]
