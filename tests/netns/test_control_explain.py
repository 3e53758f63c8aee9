# SPDX-License-Identifier: MIT
"""riptide explain: from connections to a route, or why there is none."""

import pytest
from control import riptide_json, status, verdict
from netns import AS_NOBODY, RIPTIDE, Daemon, rules, wait_until, wait_window, windows


def test_explain_follows_a_window_from_connection_to_route(net):
    connections = [net.learned("203.0.113.1", cwnd) for cwnd in (30, 60)]
    mean = sum(connection.cwnd() for connection in connections) / 2
    with Daemon(net.host, "--cwnd-max", "25"):
        wait_window(net.host, "203.0.113.1")
        found = verdict(net.host, "203.0.113.1")
        window = found["window"]
        assert window["connections"] == found["look"]["connections"] == 2
        assert window["combined"] == window["smoothed"] == mean
        assert window["bounds"] == ["max"] and window["cwnd"] == 25
        for route in (found["route"], found["kernel"]):
            assert (route["initcwnd"], route["gateway"], route["dev"]) == (25, "10.0.0.1", "eth0")
        assert found["verdict"] == "connections start with 25 segments"


def test_explain_names_the_destination_of_a_host(net):
    net.learned("203.0.113.7", 30)
    with Daemon(net.host, "--aggregate", "203.0.113.0/24"):
        wait_window(net.host, "203.0.113.0/24")
        found = verdict(net.host, "203.0.113.200")
        assert found["destination"] == "203.0.113.0/24"
        assert found["look"]["connections"] == 1
        assert "connections start with" in found["verdict"]


@pytest.mark.parametrize("options, setup, dst, said", [
    ((), None, "203.0.113.5", "no connection to it is open"),
    (("--scope", "198.51.100.0/24"), None, "203.0.113.1", "outside of --scope"),
    (("--exclude", "203.0.113.1"), None, "203.0.113.1", "in --exclude"),
    (("--policy", "careful"), None, "203.0.113.3", "none of its 1 connections counts (unused 1"),
    ((), ("route", "add", "blackhole", "203.0.113.6"), "203.0.113.6", "left alone: "),
    ((), None, "10.0.0.10", "an address of this host"),
], ids=["unknown", "scope", "exclude", "unused", "blackhole", "own"])
def test_explain_says_which_rule_left_it_without_a_route(net, options, setup, dst, said):
    net.learned("203.0.113.1", 30)
    net.connect("203.0.113.3")
    if setup:
        net.host.ip(*setup)
    with Daemon(net.host, *options):
        wait_until(lambda: status()["round"], "a round")
        found = verdict(net.host, dst)
        assert said in found["verdict"]
        assert found["route"] is None and found["kernel"] is None


@pytest.mark.parametrize("text, dst", [
    ("[compute]\ncwnd-min = 90\n", "203.0.113.5"),
    ("[observe]\nscope = 198.51.100.0/24\n", "203.0.113.1"),
], ids=["unknown", "scope"])
def test_explain_shows_no_route_where_there_is_no_window(net, tmp_path, text, dst):
    path = tmp_path / "riptided.conf"
    path.write_text(text)
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, "--config", path):
        wait_until(lambda: status()["round"], "a round")
        for control in ("/run/riptide/control", "none"):
            options = ("--config", path, "--control", control)
            look = verdict(net.host, dst, *options)["look"]
            assert look["window"] is None and look["route"] is None
            said = net.host.run(RIPTIDE, "explain", dst, *options).stdout
            assert "would be" not in said and "initcwnd" not in said


def test_explain_names_several_next_hops(net):
    net.host.ip("route", "add", "203.0.113.1", "nexthop", "via", "10.0.0.1", "nexthop", "via",
                "10.0.0.2")
    net.learned("203.0.113.1", 30)
    with Daemon(net.host):
        wait_window(net.host, "203.0.113.1")
        assert verdict(net.host, "203.0.113.1")["kernel"]["dev"] is None
        said = net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
        assert said.count("via several next hops") == 2


def test_explain_of_what_is_left_alone_has_the_routers_reason(net):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host):
        wait_window(net.host, "203.0.113.1")
        net.host.ip("route", "add", "unreachable", "203.0.113.1")
        wait_until(lambda: status()["left_alone"] == 1, "a destination that is left alone")
        found = verdict(net.host, "203.0.113.1")
        assert found["route"]["state"] == "left alone"
        assert found["route"]["reason"] in found["verdict"]


@pytest.mark.parametrize("dst, said", [
    ("203.0.113.1", "as it is configured it would give connections 24 segments"),
    ("203.0.113.5", "no connection to it is open"),
])
def test_explain_without_a_daemon_says_what_one_would_do(net, dst, said):
    connection = net.learned("203.0.113.1", 30)
    assert connection.cwnd() == 40
    with connection.busy():
        for prefix in ((), AS_NOBODY):
            done = net.host.run(*prefix, RIPTIDE, "explain", dst)
            assert said in done.stdout
        found = verdict(net.host, dst)
    assert not found["daemon_is_running"] and found["window"] is None
    assert windows(net.host) == {} and not rules(net.host)


def test_policies_are_printed_as_json(host):
    document = riptide_json(host, "explain", "--policy")
    assert {"paper", "careful", "bdp"} <= {row["name"] for row in document["policies"]}
    assert {"name": "ewma"}.items() <= document["smoothings"][0].items()
    done = host.run(RIPTIDE, "explain", "--policy", "203.0.113.1", check=False)
    assert (done.returncode, done.stdout) == (2, "")
