# SPDX-License-Identifier: MIT
"""riptide show DST: from connections to a route, or why there is none."""

import re

import pytest
from control import PATH, derived, riptide_json, status, verdict, whole
from netns import (AS_NOBODY, BY_ROUTES, RIPTIDE, RIPTIDED, Daemon, add_wg_quick_rules, rules,
                   wait_until, wait_window, windows)


def test_explain_follows_a_window_from_connection_to_route(net):
    """Also while riptided is paused."""
    connections = [net.learned("203.0.113.1", cwnd) for cwnd in (30, 60)]
    mean = sum(connection.cwnd() for connection in connections) / 2
    with Daemon.learned(net, "203.0.113.2", *BY_ROUTES, "--cwnd-max", "25"):
        wait_window(net.host, "203.0.113.1")
        found = verdict(net.host, "203.0.113.1")
        window = found["window"]
        known = {name for name, value in window["evidence"].items() if value is not None}
        assert window["connections"] == 2 and known == {"min_rtt_ms"}
        assert window["smoothed"] == mean
        assert window["limited_by"] == "max" and window["cwnd"] == 25
        assert found["route"]["initcwnd"] == found["kernel"]["initcwnd"] == 25
        assert found["verdict"] == "connections start with 25 segments"
        said = derived(net.host, "203.0.113.2")
        assert said.count("initcwnd 25") == 2 and "  evidence     smallest rtt " in said
        assert "paused" not in net.host.run(RIPTIDE, "show").stdout
        net.host.run(RIPTIDE, "pause")
        found = verdict(net.host, "203.0.113.1")
        assert net.connect("203.0.113.1").cwnd() == 10
        assert found["verdict"] == ("connections start with 10 segments, as the route is "
                                    "not in use: paused")
        shown = riptide_json(net.host, "show")
        assert shown["daemon_is_paused"] is True and shown["routes"][0]["starts_with"] == 10
        first, header, *_ = net.host.run(RIPTIDE, "show").stdout.splitlines()
        assert first.startswith("paused: ") and "riptide resume" in first
        assert header.startswith("DESTINATION")
        net.host.run(RIPTIDE, "resume")
        assert riptide_json(net.host, "show")["daemon_is_paused"] is False


@pytest.mark.parametrize("options, setup, dst, said", [
    ((), None, "203.0.113.5", "no connection to it is open"),
    (("--scope", "198.51.100.0/24"), None, "203.0.113.1", "outside of --scope"),
    (("--exclude", "203.0.113.1"), None, "203.0.113.1", "in --exclude"),
    ((), ("route", "add", "blackhole", "203.0.113.6"), "203.0.113.6", "left alone: "),
    ((), None, "10.0.0.10", "an address of this host"),
    (("--prefix-len4", "24"), None, "10.0.1.0/24", "no connection to it is open"),
], ids=["unknown", "scope", "exclude", "blackhole", "own", "prefix"])
def test_explain_says_which_rule_left_it_without_a_route(net, options, setup, dst, said):
    net.learned("203.0.113.1", 30)
    if setup:
        net.host.ip(*setup)
    with Daemon(net.host, *options):
        wait_until(lambda: status()["round"], "a round")
        found = verdict(net.host, dst)
        assert said in found["verdict"]
        assert found["route"] is None and found["kernel"] is None
        assert found["window"] or "initcwnd" not in derived(net.host, dst)


TAKEN = ("203.0.113.1", "2001:db8::1")  # by longer routes of main than the default


def test_explain_and_show_go_by_the_answer_of_the_kernel(net):
    """When no connection uses our route."""
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1")
    net.host.ip("route", "add", "2001:db8::/64", "via", "fd00::1", "initcwnd", 17)
    with Daemon.learned(net, dict.fromkeys((*TAKEN, "198.51.100.1"), 40), *BY_ROUTES):
        priority = add_wg_quick_rules(net.host)
        wait_until(lambda: len(rules(net.host)) == 2, "our rules")
        shown = {row["dst"]: row for row in riptide_json(net.host, "show")["routes"]}
        for address, starts, family in zip(TAKEN, (10, 17), (4, 6)):
            found = verdict(net.host, address)
            assert net.connect(address).cwnd() == starts == shown[address]["starts_with"]
            assert found["kernel"]["initcwnd"] >= 40
            rule = f"IPv{family} priority {priority} lookup main"
            assert found["verdict"] == (
                f"connections start with {starts} segments, not with the "
                f"{found['kernel']['initcwnd']} of our route: a rule comes before ours: {rule}")
            assert (found["lookup"]["table"], found["lookup"]["starts_with"]) == (254, starts)
            assert rule in found["lookup"]["not_ours"] and rule in shown[address]["not_ours"]
        found, other = verdict(net.host, "198.51.100.1"), shown["198.51.100.1"]
        window = found["kernel"]["initcwnd"]
        assert net.connect("198.51.100.1").cwnd() == window == other["initcwnd"]
        assert found["verdict"] == f"connections start with {window} segments"
        for said in (found["lookup"], other):
            assert (said["starts_with"], said["not_ours"]) == (window, None)
        done = net.host.run(RIPTIDE, "show")
        assert re.search(rf"^{TAKEN[0]} .*\n +starts with 10: a rule comes before ours: IPv4 priority {priority}", done.stdout, re.M)
        assert not re.search(r"^198.51.100.1 .*\n +starts with", done.stdout, re.M)
        assert "routes that connections do not take: 2" in done.stderr


def several(host, dst):
    """A list."""
    assert host.run(RIPTIDE, "show", dst).stdout.startswith("DESTINATION ")


def test_explain_of_a_prefix_is_about_the_one_destination_that_it_belongs_to(net):
    net.learned("198.51.100.1", 30)
    with Daemon(net.host, "--prefix-len4", "22"):
        wait_until(lambda: verdict(net.host, "198.51.100.0/22")["program"], "a window")
        covered = verdict(net.host, "198.51.100.0/24")
        assert covered["destination"] == "198.51.100.0/22" and covered["program"]["initcwnd"] > 10
        assert "connections start with" in covered["verdict"]
        done = net.host.run(RIPTIDE, "show", "198.51.100.0/24")
        assert done.stdout.startswith("198.51.100.0/24, counted as 198.51.100.0/22\n")
        several(net.host, "203.0.112.0/21")
    several(net.host, "203.0.113.0/24")


def test_explain_says_what_was_left_out_when_it_is_gone(net):
    connections = [net.connect("203.0.113.3") for _ in range(2)]
    with Daemon(net.host, "--policy", "careful") as daemon:
        wait_until(lambda: verdict(net.host, "203.0.113.3")["seen"], "a round")
        with daemon.stopped():  # no round sees only one of them closed
            for connection in connections:
                net.reset(connection)
        found = verdict(net.host, "203.0.113.3")
        assert found["verdict"] == ("no window: none of the 2 connections that riptided saw last "
                                    "counts (unused 2, idle 0, unmeasured 0)")
        assert found["window"] is None and found["route"] is None
        assert found["seen"]["left_out"] == {"unused": 2, "idle": 0, "unmeasured": 0}
        said = derived(net.host, "203.0.113.3")
        assert re.search(r"^  seen last    2 connections, \d+\.\d s ago; left out: 2 unused$", said, re.M)


def test_explain_beside_a_daemon_that_hangs_shows_the_kernels_side(net):
    with Daemon.learned(net, {"203.0.113.1": 40}, *BY_ROUTES) as daemon:
        window = windows(net.host)["203.0.113.1"]
        with daemon.stopped():
            done = net.host.run(RIPTIDE, "show", "203.0.113.1")
            (socket,) = [line.split() for line in net.host.run("ss", "-xlH").stdout.splitlines()
                         if f" {PATH}" in line]
            assert int(socket[2]) == 1, "waits for it once"
            assert done.stderr == ("riptide: show: /run/riptide/control: no answer within "
                                   "5 s; only the kernel's part is shown\n")
            assert f"connections start with {window} segments" in done.stdout


@pytest.mark.parametrize("policy, counts", [("careful", True), ("bdp", False)])
def test_explain_shows_the_evidence_of_the_policy(net, policy, counts):
    connection = net.learned("203.0.113.1", 60)
    with Daemon(net.host, "--policy", policy):
        def evidence():
            connection.send(1 << 16)  # so that it is not idle
            # Not verdict(): the window changes between its two questions while data flows.
            found = riptide_json(net.host, "show", "203.0.113.1")["window"]
            return found and found["evidence"]["min_rtt_ms"] and found["evidence"]

        found = wait_until(evidence, "evidence")
        assert (found["against"] is not None) == counts
        said = derived(net.host, "203.0.113.1")
        line = next(line for line in said.splitlines() if line.startswith("  evidence"))
        assert re.fullmatch(r"  evidence     smallest rtt [\d.]+ ms" +
                            (r", \d of 4 flights that fit to grow, against it \d+ of 16" if counts else ""), line)


def test_explain_without_a_daemon_names_who_says_what_one_would_do(net):
    connection = net.learned("203.0.113.1", 30)
    assert connection.cwnd() == 40
    with connection.busy():
        for prefix in ((), AS_NOBODY):
            done = net.host.run(*prefix, RIPTIDE, "show", "203.0.113.1")
            command = re.search("riptided is not running; for its window: riptided (.*)$", whole(done.stdout))
            done = net.host.run(*prefix, RIPTIDED, *command.group(1).split())
            assert "would set 203.0.113.1 initcwnd 24 " in done.stderr
        found = verdict(net.host, "203.0.113.1")
    assert not found["daemon_is_running"] and found["window"] is None
    assert windows(net.host) == {} and not rules(net.host)
    net.host.ip("route", "add", "blackhole", "203.0.113.6")
    assert "it is left alone: " in verdict(net.host, "203.0.113.6")["verdict"]
