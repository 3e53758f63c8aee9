# SPDX-License-Identifier: MIT
"""Connections that are held out, and the outcomes of both arms."""

import contextlib
import socket

import pytest
import wanbox
from connection import tcp_info, transfer
from control import status, wait_given, wait_rounds
from netns import RIPTIDE, Daemon, Host, wait_until, wait_window, windows
from test_metrics import figures_of
from test_suspension import Load


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("owners", [None, 14, 60])
def test_beside_a_route_those_held_out_start_as_without_us(net, daemon, owners, passive):
    """The route gives its window to all connections; the program takes it from those held out."""
    if owners:
        net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1", "initcwnd", owners)
    net.learned("203.0.113.1", 30)
    with daemon("both", "--holdout-percent", "50", config="[prefix 203.0.113.0/24]\ncwnd-min = 40\ncwnd-max = 40\n"):
        wait_until(lambda: windows(net.host).get("203.0.113.1") == 40, "the window")
        wait_rounds(2)
        assert {net.connect("203.0.113.1", passive=passive).cwnd() for _ in range(20)} == {owners or 10, 40}


def test_those_held_out_start_with_one_segment_after_lost_syns(net, daemon):
    """As all connections do then: the listener has twice no room for the SYN."""
    net.learned("203.0.113.1", 30)
    with daemon("both", "--holdout-percent", "50"), contextlib.ExitStack() as stack:
        wait_window(net.host, "203.0.113.1")
        wait_rounds(2)
        server = stack.enter_context(net.world.server(backlog=0))
        clients = [stack.enter_context(net.host.socket(socket.AF_INET)) for _ in range(25)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(("203.0.113.1", server.getsockname()[1]))
        late = clients[1:]
        wait_until(lambda: min(tcp_info(client).retrans_segs for client in late) >= 2, "SYNs to be retransmitted")
        server.listen(100)
        wait_until(lambda: {tcp_info(client).state for client in late} == {1}, "them to be established")
        assert {tcp_info(client).cwnd for client in late} == {1}
        assert status()["apply"]["held_out"] > 0


def test_a_path_counts_in_both_arms_or_in_none(cgroup):
    """A path of 3 to 7 ms: held out connections take more rounds, so more measure one below 5."""
    options = "--apply", "program", "--cgroup", cgroup, "--policy", "careful", "--holdout-percent", 50
    with Host("near") as near, Host("far") as far, \
            wanbox.Wan({near.name: ["10.9.1.1"], far.name: ["10.9.2.1"]}, ["delay=1500us,jitter=2ms"]), \
            Daemon(near, *options, interval="100ms"), Load(near, far, "10.9.2.1", per_second=100):
        def opened(arm):
            return figures_of(near.run(RIPTIDE, "metrics").stdout)[f"riptide_connections_total{{opened={arm}}}"]

        def counted(n):
            """How many count, once more than n of each arm have opened."""
            wait_until(lambda: min(opened("with_window"), opened("held_out")) > n, "connections of both arms")
            effect = status()["apply"]["effect"]
            return effect["connections"] + effect["held_out"]
        before = counted(20)  # those that closed before another had shown the path's smallest round trip time
        assert counted(80) < before + 5


@pytest.mark.parametrize("apply, percent", [("program", 5), ("auto", 5), ("both", 5), ("routes", 0)])
def test_five_percent_are_held_out_by_default(daemon, apply, percent):
    with daemon(apply, "--policy", "careful", config=""):
        assert status()["apply"]["holdout_percent"] == percent


def test_first_contacts_do_not_count(path, cgroup):
    """They open without a window, whatever their destination has when they close."""
    connect, near, _ = path
    with Daemon(near, "--apply", "program", "--cgroup", cgroup, "--policy", "careful", "--holdout-percent", 50,
                interval="100ms"):
        opened = [connect(congestion="cubic") for _ in range(8)]
        for connection in opened:
            connection.send(60_000)
        wait_given("10.9.2.1")
        for connection in opened:
            connection.finish()

        wait_rounds(3)
        effect = status()["apply"]["effect"]
        assert (effect["connections"], effect["held_out"]) == (0, 0)


def test_each_end_of_both_arms_counts(path, cgroup, tmp_path):
    connect, near, _ = path

    def started(percent):
        return Daemon(near, "--apply", "program", "--cgroup", cgroup, "--policy", "careful",
                      "--holdout-percent", percent, "--state", tmp_path / "state", interval="100ms")

    def counts():
        effect = status()["apply"]["effect"]
        return {"window": effect["connections"], "holdout": effect["held_out"]}
    with started(50):
        assert counts() == {"window": 0, "holdout": 0}
        bulk = connect(congestion="cubic")
        bulk.send(1_000_000)
        wait_given("10.9.2.1")
        held_out = status()["apply"]["held_out"]
        n = 12

        for _ in range(n):  # each stays open for many dumps
            transfer(connect, 60_000)
        wait_until(lambda: sum(counts().values()) == n, "all ends")
        assert counts()["holdout"] == status()["apply"]["held_out"] - held_out
        of_both = counts()
    with started(50) as riptided:
        assert counts() == of_both
        assert f"destinations loaded: 1, expired: 0, others: 0; outcomes of connections: {n}\n" in riptided.said()
        older = connect(congestion="cubic")
        older.send(60_000)
    with started(40):
        assert sum(counts().values()) == 0
        older.finish()  # opened under another share
        wait_rounds(12)
        assert sum(counts().values()) == 0
        transfer(connect, 60_000)
        wait_until(lambda: sum(counts().values()) == 1, "its end")
