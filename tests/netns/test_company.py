# SPDX-License-Identifier: MIT
"""riptided beside other programs: an error says where another program uses our table."""

import pytest
from control import one_line, wait_rounds
from netns import BY_ROUTES, PROTOCOL, RIPTIDED, TABLE, Daemon, rules, snapshot
from test_doctor import doctor
from routing_ask import OTHER, PEER, SECOND, families, is_as_without_us, is_ours


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
def test_a_start_that_is_refused_removes_the_rules_of_a_dead_predecessor(net, family):
    before = net.host.ip("-4", "rule") + net.host.ip("-6", "rule")
    with Daemon.learned(net, PEER[family], *BY_ROUTES) as daemon:
        daemon.kill()
    net.host.ip(f"-{family}", "route", "add", OTHER[family], "via", SECOND[family], "table", TABLE)
    assert len(rules(net.host)) == 2
    assert f"table {TABLE}" in one_line(net.host.run(RIPTIDED, "--once", check=False))
    assert net.host.ip("-4", "rule") + net.host.ip("-6", "rule") == before
    assert len(in_table(net.host, family)) == 1
