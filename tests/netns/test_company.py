# SPDX-License-Identifier: MIT
"""riptided beside other programs: an error says where another program uses our table."""

import pytest
from control import one_line, wait_rounds
from netns import BY_ROUTES, PROTOCOL, RIPTIDE, RIPTIDED, TABLE, Daemon, rules, snapshot, wait_until, wait_window
from test_doctor import doctor
from routing_ask import OTHER, PEER, SECOND, families, is_as_without_us, is_ours, wait_ours


@pytest.mark.parametrize("family, address", [(4, "198.51.100.0"), (6, "2001:db8:99::")], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("theirs, words", [
    (f"route add unreachable {{}} table {TABLE}", ("table: ", "choose another table")),
    (f"rule add pref 100 to {{}}/48 lookup {TABLE}", ("table: in use", "priority 100")),
], ids=["routes-in-table", "rule-to-table"])
def test_table_in_use_is_refused_by_name(net, family, address, theirs, words):
    theirs = theirs.format(address).replace("/48", "/24" if family == 4 else "/48")
    net.host.ip(f"-{family}", *theirs.split())
    before = snapshot(net.host)
    said = one_line(net.host.run(RIPTIDED, "--once", check=False))
    kind, what, _ = doctor(net.host)["start"]
    assert kind == "advice" and what.partition(".table: ")[2] in said
    assert all(word in said for word in words)
    assert snapshot(net.host) == before


def in_table(host, family):
    """Routes of another protocol in our table."""
    lines = host.ip(f"-{family}", "-N", "route", "show", "table", TABLE).splitlines()
    return [line for line in lines if f"proto {PROTOCOL} " not in line]


@pytest.mark.parametrize("family, theirs", [
    (4, f"prepend {PEER[4]}"), (6, f"add {PEER[6]} metric 1"), (4, f"replace {PEER[4]}"), (6, f"replace {PEER[6]}"),
], ids=["IPv4-before", "IPv6-before", "IPv4-instead", "IPv6-instead"])
def test_foreign_route_in_our_table_turns_its_family_off_until_it_goes(net, family, theirs):
    other = 10 - family
    with Daemon.learned(net, dict.fromkeys(PEER.values(), 30), *BY_ROUTES) as daemon:
        net.host.ip(f"-{family}", "route", *theirs.split(), "via", SECOND[family], "table", TABLE)
        foreign = in_table(net.host, family)
        assert len(foreign) == 1
        wait_until(lambda: f"IPv{family} routes: windows off" in daemon.said(), "the line that says so")
        (line,) = daemon.lines(": windows off")
        for word in ("riptide's table", "another protocol", "delete them", "choose another table"):
            assert word in line
        for dst in (PEER[family], OTHER[family]):
            assert is_as_without_us(net.host, dst) and not is_ours(net.host, dst)
        assert is_ours(net.host, PEER[other])
        said = " ".join(net.host.run(RIPTIDE, "status", check=False).stdout.split())
        assert line.partition("without us: ")[2] in said
        # Neither another scan nor windows learned meanwhile may bring the rules back.
        net.learned(OTHER[family], 20)
        net.host.ip("rule", "add", "pref", "100", "fwmark", "9", "lookup", "55")
        wait_rounds(3)
        assert in_table(net.host, family) == foreign
        assert is_as_without_us(net.host, PEER[family]) and "on again" not in daemon.said()
        net.host.ip(f"-{family}", "route", "flush", "table", TABLE, "proto", "boot")
        wait_until(lambda: f"IPv{family} routes: windows on again" in daemon.said(), "the return")
        for dst in (PEER[family], OTHER[family]):
            wait_window(net.host, dst)
            wait_ours(net.host, dst)


@families
def test_routes_of_others_to_prefixes_in_our_table_are_not_used(net, family):
    with Daemon.learned(net, PEER[family], *BY_ROUTES) as daemon:
        for prefix in ("default", {4: "203.0.113.0/24", 6: "2001:db8::/64"}[family]):
            net.host.ip(f"-{family}", "route", "add", prefix, "via", SECOND[family], "table", TABLE)
        wait_rounds(3)
        assert is_ours(net.host, PEER[family])
        assert is_as_without_us(net.host, OTHER[family]) and not is_ours(net.host, OTHER[family])
        assert "windows off" not in daemon.said()


@families
def test_foreign_route_that_goes_without_a_word_is_missed_and_one_outlives_us(net, family):
    """Its link goes down: IPv4 does not announce that, and main has no route there. A start that
    refuses it removes the rules of a dead predecessor."""
    net.host.ip("link", "add", "apart", "type", "veth", "peer", "name", "sink")
    net.host.ip("link", "set", "apart", "up")
    before = net.host.ip("-4", "rule") + net.host.ip("-6", "rule")
    with Daemon.learned(net, PEER[family], *BY_ROUTES) as daemon:
        net.host.ip(f"-{family}", "route", "add", PEER[family], "dev", "apart", "metric", 1, "table", TABLE)
        wait_until(lambda: f"IPv{family} routes: windows off" in daemon.said(), "the warning")
        net.host.ip("link", "set", "apart", "down")
        wait_until(lambda: f"IPv{family} routes: windows on again" in daemon.said(), "the return")
        wait_until(lambda: len(rules(net.host)) == 2, "the rules")
        daemon.kill()
    net.host.ip(f"-{family}", "route", "add", OTHER[family], "via", SECOND[family], "table", TABLE)
    assert len(rules(net.host)) == 2
    assert f"table {TABLE}" in one_line(net.host.run(RIPTIDED, "--once", check=False))
    assert net.host.ip("-4", "rule") + net.host.ip("-6", "rule") == before
    assert len(in_table(net.host, family)) == 1
