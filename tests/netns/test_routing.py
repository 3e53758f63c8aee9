# SPDX-License-Identifier: MIT
"""The invariant: with and without us, local TCP gets the same route but for its initial windows.

The kernel is the witness. Asked with our mark it says what it would do without us, for the mark
skips our rule. Connections stay quiet while routes change below them, so that destinations stay
learned whose route leads nowhere.
"""

import itertools
import re

import pytest
from netns import (DEADLINE_S, PROTOCOL, TABLE, Daemon, metric, routes, rules, wait_until,
                   wait_window, windows)
from routing_ask import (FIRST, OTHER, OTHER_LINK, PEER, SECOND, SOURCES, WITHOUT_US, ask,
                         families, wait_as_without_us, wait_gateway, wait_none, wait_ours, way)
from routing_base import default_line, mac
from twins import Driver, Side

NEXTHOPS = {
    4: """
        nexthop add id 7 via 10.0.0.1 dev eth0
        nexthop add id 8 via 10.0.1.1 dev eth1
        nexthop add id 9 group 7/8,3
        nexthop add id 10 via fd00::1 dev eth0
    """,
    6: """
        nexthop add id 7 via fd00::1 dev eth0
        nexthop add id 8 via fd00:0:0:1::1 dev eth1
        nexthop add id 9 group 7/8,3
    """,
}
BASES = {
    4: [
        "via 10.0.0.1",
        "via 10.0.0.2 mtu 1400 advmss 1300",
        "via 10.0.0.1 mtu lock 1300",
        "via 10.0.0.1 src 10.0.1.10",
        "via 10.0.0.1 rto_min 50ms",
        "via 10.0.0.1 rtt 40ms rttvar 20ms ssthresh 80 reordering 5 hoplimit 9 quickack 1",
        "via 10.0.0.1 congctl reno features ecn",
        "via 10.0.0.1 initcwnd 30 initrwnd 20",
        "via 10.0.1.1 metric 50",
        "via 10.77.7.7 dev eth0 onlink",
        "dev eth1 scope link",
        "via inet6 fd00::2 dev eth0",
        "nexthop via 10.0.0.1 nexthop via 10.0.0.2 weight 3",
        "mtu 1400 nexthop via 10.0.0.1 dev eth0 nexthop via 10.0.1.1 dev eth1 weight 2",
        "nexthop via 10.77.7.7 dev eth0 onlink nexthop via 10.0.1.1 dev eth1",
        "nhid 7",
        "nhid 8 mtu 1400 src 10.0.0.10",
        "nhid 10",
    ],
    6: [
        "via fd00::1",
        "via fd00::2 mtu 1400 advmss 1300",
        "via fd00::1 mtu lock 1300",
        "via fd00::1 src fd00:0:0:1::10",
        "via fd00::1 rto_min 50ms",
        "via fd00::1 rtt 40ms rttvar 20ms ssthresh 80 reordering 5 hoplimit 9 quickack 1",
        "via fd00::1 congctl reno features ecn",
        "via fd00::1 initcwnd 30 initrwnd 20",
        "via fd00::1 pref high",
        "via fd00:0:0:1::1 metric 50",
        "via fd77::7 dev eth0 onlink",
        "dev eth1",
        "nhid 7",
        "nhid 8 mtu 1400 src fd00::10",
    ],
}
# Of these a copy would lead some flows another way, or its window would not stay its own.
NOT_TO_COPY = {
    4: ["nhid 9"],
    6: ["nhid 9",
        "nexthop via fd00::1 nexthop via fd00::2 weight 3",
        "mtu 1400 nexthop via fd00::1 dev eth0 nexthop via fd00:0:0:1::1 dev eth1 weight 2"],
}


def replace_default(host, family, base):
    while host.ip(f"-{family}", "route", "show", "default"):
        host.ip(f"-{family}", "route", "del", "default")  # flush fails where it has a nhid
    host.routing(family, f"route add default {base}")


@families
def test_base_route_that_cannot_be_copied_is_left_alone(net, family):
    net.learned(PEER[family], 30)
    net.host.batch(NEXTHOPS[family])
    with Daemon(net.host, interval="1h"):
        for base in NOT_TO_COPY[family]:
            replace_default(net.host, family, BASES[family][0])
            wait_ours(net.host, PEER[family])
            replace_default(net.host, family, base)
            wait_none(net.host, PEER[family])


@families
def test_every_change_of_the_base_route_is_followed(net, family):
    net.learned(PEER[family], 30)
    net.host.batch(NEXTHOPS[family])
    with Daemon(net.host, interval="1h"):
        wait_window(net.host, PEER[family])
        for base in BASES[family] + BASES[family][:1]:
            replace_default(net.host, family, base)
            wait_ours(net.host, PEER[family])


@families
@pytest.mark.parametrize("change", [
    "route replace default via {second} metric 2000",
    "route del default\nroute add default via {second}",
    "route add default via {second} metric 7",
    "route add {peer} via {second}",
], ids=["replaced", "deleted-and-added", "better-metric", "host-route"])
def test_moved_gateway_is_followed_before_the_next_round(net, family, change):
    replace_default(net.host, family, f"via {FIRST[family]} metric 2000")
    connection = net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        cwnd = wait_window(net.host, PEER[family])
        net.host.routing(family, change.format(second=SECOND[family], peer=PEER[family]))
        wait_gateway(net.host, PEER[family], SECOND[family])
        wait_ours(net.host, PEER[family])
        assert net.connect(PEER[family]).cwnd() == cwnd
        connection.send(10_000)


@families
def test_moved_nexthop_object_is_followed_before_the_next_round(net, family):
    net.learned(PEER[family], 30)
    net.host.batch(NEXTHOPS[family])
    replace_default(net.host, family, "nhid 7")
    with Daemon(net.host, interval="1h"):
        wait_window(net.host, PEER[family])
        net.host.routing(family, f"nexthop replace id 7 via {SECOND[family]} dev eth0")
        wait_gateway(net.host, PEER[family], SECOND[family])
        wait_ours(net.host, PEER[family])


def test_packets_spread_over_next_hops_as_without_us(net):
    net.host.sysctl("ipv4/fib_multipath_hash_policy", 1)  # ports count as well
    net.learned(PEER[4], 30)
    replace_default(net.host, 4, f"nexthop via {SECOND[4]} dev eth0 weight 1 "
                                 f"nexthop via {OTHER_LINK[4]} dev eth1 weight 2")
    with Daemon(net.host):
        wait_ours(net.host, PEER[4])
        devices = set()
        for port in range(1000, 1032):
            flow = ("sport", port, "dport", 80)
            answer = ask(net.host, PEER[4], "ipproto", "tcp", *flow)
            devices.add(re.search(r"dev \S+", answer).group())
            assert way(net.host, PEER[4], "ipproto", "tcp", *flow) == \
                way(net.host, PEER[4], *WITHOUT_US, *flow)
        assert devices == {"dev eth0", "dev eth1"}


@families
def test_destination_that_becomes_forbidden_or_our_own_loses_its_route(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        for kind in ("blackhole", "unreachable", "prohibit"):
            wait_ours(net.host, PEER[family])
            net.host.routing(family, f"route add {kind} {PEER[family]}")
            wait_none(net.host, PEER[family])
            assert "RTNETLINK" in ask(net.host, PEER[family], "ipproto", "tcp")
            net.host.routing(family, f"route del {kind} {PEER[family]}")
        wait_ours(net.host, PEER[family])
        net.host.ip("addr", "add", PEER[family], "dev", "lo", *["nodad"] * (family == 6))
        wait_none(net.host, PEER[family])
        assert "dev lo" in ask(net.host, PEER[family], "ipproto", "tcp")


def test_routes_that_compete_for_a_prefix_are_left_alone(net):
    """The kernel falls over from the first to the second, which a copy of the first would not."""
    net.learned(PEER[4], 30)
    with Daemon(net.host, interval="1h"):
        wait_window(net.host, PEER[4])
        net.host.ip("route", "append", "default", "via", SECOND[4])
        wait_none(net.host, PEER[4])
        net.host.ip("route", "del", "default", "via", SECOND[4])
        wait_ours(net.host, PEER[4])


@families
def test_route_or_rule_that_somebody_removed_comes_back(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        before = net.host.ip(f"-{family}", "rule")
        priority = rules(net.host)[0].split(":")[0]
        for line in (["route", "del", PEER[family], "table", TABLE],
                     *[["rule", "del", "pref", priority]] * before.count(f"proto {PROTOCOL}")):
            net.host.ip(f"-{family}", *line)
            wait_until(lambda: net.host.ip(f"-{family}", "rule") == before, "our rules")
            wait_ours(net.host, PEER[family])


@families
def test_forwarded_packets_and_udp_do_not_use_our_table(net, family):
    net.host.sysctl(f"ipv{family}/conf/all/forwarding", 1)
    net.learned(PEER[family], 30)
    source = SOURCES[family][1] + "1"  # behind eth1
    with Daemon(net.host):
        wait_ours(net.host, PEER[family])
        for query in (("ipproto", "udp"), ("ipproto", "icmp" if family == 4 else "58"), (),
                      ("from", source, "iif", "eth1", "ipproto", "tcp"),
                      ("from", source, "iif", "eth1", "ipproto", "udp")):
            answer = ask(net.host, PEER[family], *query)
            assert "dev eth0 table main" in answer
            assert "initcwnd" not in answer


PREFIX = {4: ("203.0.0.0/16", "203.0.113.128/25"), 6: ("2001:db8::/48", "2001:db8:0:7::/64")}


@families
def test_prefix_follows_more_specific_routes_as_they_come_and_go(net, family):
    prefix, specific = PREFIX[family]
    net.learned(PEER[family], 30)
    with Daemon(net.host, "--aggregate", prefix, interval="1h"):
        wait_window(net.host, prefix)
        wait_ours(net.host, PEER[family])
        net.host.routing(family, f"route add {specific} via {SECOND[family]}")
        wait_none(net.host, prefix)
        net.host.routing(family, f"route del {specific}")
        wait_until(lambda: prefix in windows(net.host), "the route again")
        wait_ours(net.host, PEER[family])


@pytest.mark.parametrize("family, event", [
    (family, event) for family in (4, 6)
    for event in ("link set eth0 down", "link delete eth0", "route del default")
] + [(4, "addr flush dev eth0")])  # IPv6 keeps routes through gateways then
def test_no_route_of_ours_outlives_its_base(net, family, event):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        net.host.routing(family, event)
        wait_none(net.host, PEER[family])


def test_source_address_that_goes_takes_its_route_of_ours_along(net):
    """The kernel takes the address out of a plain IPv6 route, and leaves it in one of an object."""
    net.host.routing(6, """
        addr add fd00::99/64 dev eth0 nodad
        nexthop add id 7 via fd00::1 dev eth0
        route replace default nhid 7 src fd00::99
    """)
    net.learned(PEER[6], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[6])
        net.host.routing(6, "addr del fd00::99/64 dev eth0")
        wait_as_without_us(net.host, PEER[6])
        wait_none(net.host, PEER[6])


@families
def test_route_that_somebody_puts_beside_ours_goes(net, family):
    """Of two metrics the lower wins: ours has that of its base, and his leads elsewhere."""
    prefix = {4: "203.0.113.0/24", 6: "2001:db8::/64"}
    net.host.ip("route", "add", prefix[family], "via", SECOND[family], "metric", "2000")
    net.learned(PEER[family], 30)
    with Daemon(net.host):
        wait_window(net.host, PEER[family])
        net.host.ip("route", "add", PEER[family], "via", FIRST[family], "metric", "7", "table",
                    str(TABLE), "protocol", str(PROTOCOL))
        wait_as_without_us(net.host, PEER[family])
        wait_ours(net.host, PEER[family])
        shown = net.host.ip(f"-{family}", "route", "show", "table", str(TABLE))
        assert len(shown.splitlines()) == 1 and "metric 2000" in shown


@families
def test_route_that_somebody_puts_there_goes_where_there_is_none_of_ours(net, family):
    """For want of room, and since its destination is left alone."""
    def put(dst):
        net.host.ip("route", "add", dst, "via", SECOND[family], "table", str(TABLE), "protocol",
                    str(PROTOCOL))

    net.learned(PEER[family], 30)
    with Daemon(net.host, "--max-destinations", "1"):
        wait_window(net.host, PEER[family])
        put(OTHER[family])
        wait_until(lambda: windows(net.host).keys() == {PEER[family]}, "ours alone")
        net.host.ip(f"-{family}", "route", "add", "prohibit", PEER[family])
        wait_until(lambda: not windows(net.host), "none of ours")
        put(PEER[family])
        wait_until(lambda: not windows(net.host), "none of anybody's")


@families
def test_no_route_gets_or_keeps_more_than_its_bound(net, driver, family):
    for line, expected in (("50 20", 20), ("15 20", 15), ("50 50", 50), ("50 49", 49),
                           ("60 0", 60)):
        driver.follow(f"set {PEER[family]} {line}")
        assert windows(net.host)[PEER[family]] == expected, line


def test_link_that_no_route_leads_through_touches_nothing(net, driver):
    net.host.batch("route add 198.18.0.0/24 nexthop via 10.0.0.1 nexthop via 10.0.0.2\n"
                   "route add blackhole 198.18.1.0/24\n"
                   "route add unreachable 198.18.2.0/24\n"
                   "nexthop add id 7 via 10.0.0.1 dev eth0\n"
                   "nexthop add id 8 via 10.0.1.1 dev eth1\n"
                   "nexthop add id 9 group 7/8\n"
                   "route add 198.18.3.0/24 nhid 9\n")
    before = driver.follow(f"set {PEER[4]} 40")
    net.host.ip("link", "add", "apart", "type", "veth", "peer", "name", "sink")
    net.host.ip("link", "del", "apart")
    after = driver.quiet()
    assert after["events"] > before["events"]
    assert (after["resyncs"], after["lifts"]) == (before["resyncs"], before["lifts"])


@families
def test_rto_min_in_us_is_rounded_up_to_what_the_kernel_keeps(net, driver, family):
    for us, ms in ((1, 1), (1000, 1), (1001, 2), (60_000_000, 60_000)):
        driver.follow(f"set {PEER[family]} 40 0 {us}")
        assert metric(routes(net.host)[PEER[family]], "rto_min") == ms
    driver.follow(f"set {PEER[family]} 40 0 0")
    assert metric(routes(net.host)[PEER[family]], "rto_min") is None


def test_rto_min_of_minutes_is_refused(net, driver):
    """As whoever takes another unit for us asks for it."""
    driver.send([f"set {PEER[4]} 40 0 60000001"])
    assert driver.process.wait(DEADLINE_S) == 1
    assert PEER[4] not in routes(net.host)


def queries(family):
    """What a host may ask for: (destination, words)."""
    sources = [()] + [("from", source) for source in SOURCES[family]]
    marks = [(), ("mark", "1")]
    protocols = [("ipproto", "tcp"), ("ipproto", "udp")]
    for dst, *words in itertools.product((PEER[family], OTHER[family]), sources, marks, protocols):
        yield dst, tuple(itertools.chain(*words))


def ways(host, family):
    return {query: way(host, query[0], *query[1]) for query in queries(family)}


def policy(rule, family):
    """Sends what the rule matches to table 100, whose route is known by its mtu."""
    return (f"route add default via {SECOND[family]} table 100 mtu 1333\n"
            f"rule add {rule.format(peer=PEER[family], source=SOURCES[family][1])} lookup 100")


def matches(rule, family, query):
    dst, words = query
    return ("from" in rule and SOURCES[family][1] in words
            or "to" in rule and dst == PEER[family]
            or "fwmark" in rule and "mark" in words)


@families
@pytest.mark.parametrize("rule", ["pref 100 from {source}", "pref 100 to {peer}",
                                  "pref 100 fwmark 1", "pref 32765 to {peer}",
                                  "pref 32765 fwmark 1"])
def test_rule_of_others_is_respected_when_it_comes_and_by_a_start(net, family, rule):
    for peer in (PEER[family], OTHER[family]):
        net.learned(peer, 30)
    with Daemon(net.host, interval="1h"):
        for peer in (PEER[family], OTHER[family]):
            wait_ours(net.host, peer)
        net.host.routing(family, policy(rule, family))
        wait_until(lambda: all(("mtu 1333" in str(answer)) == matches(rule.split(), family, query)
                               for query, answer in ways(net.host, family).items()),
                   "the new rule")
        wait_ours(net.host, OTHER[family])
    before = ways(net.host, family)
    assert len(set(map(str, before.values()))) > 2
    with Daemon(net.host):
        wait_ours(net.host, OTHER[family])
        assert ways(net.host, family) == before
        if " to " in rule:
            wait_none(net.host, PEER[family])


@pytest.fixture
def lines():
    """A host with several links, and what runs ip(8) lines on it."""
    side = Side("lines")
    side.settle()
    yield side
    side.close()


@families
def test_sysctl_that_revives_a_dead_link_is_followed(lines, family):
    host, dst = lines.host, OTHER[family]
    lines.shell.run(f"{default_line(family, 'add', 1)} metric 2000")
    host.sysctl(f"ipv{family}/conf/all/ignore_routes_with_linkdown", 1)
    lines.shell.run("ip link set far0 down")
    lines.settle()
    with Driver(host) as driver:
        driver.follow(f"set {dst} 40")
        assert "dev eth1 " in ask(host, dst, *WITHOUT_US)
        wait_ours(host, dst)
        host.sysctl(f"ipv{family}/conf/all/ignore_routes_with_linkdown", 0)
        assert "dev eth0 " in ask(host, dst, *WITHOUT_US)
        wait_as_without_us(host, dst)


def test_host_that_begins_to_forward_is_followed(lines):
    """A host that forwards does not pass a failed IPv6 gateway over."""
    host, dst = lines.host, OTHER[6]
    for line in (f"{default_line(6, 'add', 1)} metric 2000",
                 f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud stale",
                 f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud failed"):
        lines.shell.run(line)
    with Driver(host) as driver:
        driver.follow(f"set {dst} 40")
        assert "dev eth1 " in ask(host, dst, *WITHOUT_US)
        host.sysctl("ipv6/conf/all/forwarding", 1)
        assert "dev eth0 " in ask(host, dst, *WITHOUT_US)
        wait_as_without_us(host, dst)


@families
def test_link_that_lost_its_carrier_and_came_back_is_used_again(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        net.world.ip("link", "set", "eth0", "down")
        wait_as_without_us(net.host, PEER[family])
        net.world.ip("link", "set", "eth0", "up")
        wait_until(net.host.is_ready, "carrier")
        wait_ours(net.host, PEER[family])
