"""The invariant: with and without us, local TCP gets the same route but for its initial windows.

The kernel is the witness. Asked with our mark it says what it would do without us, for the mark
skips our rule. Connections stay quiet while routes change below them, so that destinations stay
learned whose route leads nowhere.
"""

import itertools
import re
import socket
import struct
import time

import pytest
from netns import MARK, PROTOCOL, TABLE, Daemon, rules, wait_until, wait_window, windows
from routing_base import default_line, mac
from twins import Driver, Side

PEER = {4: "203.0.113.1", 6: "2001:db8::1"}
OTHER = {4: "198.51.100.1", 6: "2001:db8:1::1"}
FIRST = {4: "10.0.0.1", 6: "fd00::1"}
SECOND = {4: "10.0.0.2", 6: "fd00::2"}
OTHER_LINK = {4: "10.0.1.1", 6: "fd00:0:0:1::1"}
SOURCES = {4: ("10.0.0.10", "10.0.1.10"), 6: ("fd00::10", "fd00:0:0:1::10")}
WITHOUT_US = ("ipproto", "tcp", "mark", MARK)

families = pytest.mark.parametrize("family", [4, 6], ids=["IPv4", "IPv6"])


def ask(host, dst, *query, fibmatch=False):
    """The kernel's answer to a query for a route, as text."""
    words = ["fibmatch"] if fibmatch else []
    done = host.run("ip", "-d", "route", "get", *words, dst, *query, check=False)
    return done.stderr if done.returncode else done.stdout


def way(host, dst, *query):
    """How packets would go: the answer without whose route it is and its initial windows."""
    found = []
    for fibmatch in (False, True):
        text = re.sub(r"\s*nh_info .*", "", ask(host, dst, *query, fibmatch=fibmatch))
        text = re.sub(r"\b(unicast|table|proto|nhid|metric|uid|mark|expires|initcwnd|initrwnd) \S+",
                      "", text)
        found.append(sorted(" ".join(line.split()) for line in text.splitlines()))
    return found


def is_ours(host, dst):
    return f"table {TABLE} " in ask(host, dst, "ipproto", "tcp")


def wait_ours(host, dst):
    """Waits a second at most until TCP to dst uses a route of ours that leads the same way."""
    def same():
        return way(host, dst, "ipproto", "tcp") == way(host, dst, *WITHOUT_US)

    try:
        wait_until(lambda: is_ours(host, dst) and same(), "our route, the same way", deadline_s=1)
    except AssertionError:
        assert way(host, dst, "ipproto", "tcp") == way(host, dst, *WITHOUT_US)
        assert is_ours(host, dst), ask(host, dst, "ipproto", "tcp")
        raise


def wait_gateway(host, dst, gateway):
    """Waits a second at most until TCP to dst goes through the gateway."""
    wait_until(lambda: f"via {gateway} " in ask(host, dst, "ipproto", "tcp"), f"via {gateway}",
               deadline_s=1)


def wait_none(host, dst):
    """Waits a second at most until we have no route to dst."""
    wait_until(lambda: dst not in windows(host), f"no route to {dst}", deadline_s=1)
    assert way(host, dst, "ipproto", "tcp") == way(host, dst, *WITHOUT_US)


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
each_base = pytest.mark.parametrize("family, base", [
    pytest.param(family, base, id=f"IPv{family} {base}")
    for family in (4, 6) for base in BASES[family]])


def replace_default(host, family, base):
    while host.ip(f"-{family}", "route", "show", "default"):
        host.ip(f"-{family}", "route", "del", "default")  # flush fails where it has a nhid
    host.routing(family, f"route add default {base}")


@each_base
def test_base_route_is_carried_over(net, family, base):
    net.learned(PEER[family], 30)
    net.host.batch(NEXTHOPS[family])
    replace_default(net.host, family, base)
    with Daemon(net.host):
        wait_window(net.host, PEER[family])
        wait_ours(net.host, PEER[family])


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
def test_moved_gateway_is_followed_within_a_second(net, family, change):
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
def test_moved_nexthop_object_is_followed_within_a_second(net, family):
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
@pytest.mark.parametrize("kind", ["blackhole", "unreachable", "prohibit"])
def test_forbidden_destination_gets_no_route(net, family, kind):
    net.learned(PEER[family], 30)
    net.learned(OTHER[family], 30)
    net.host.routing(family, f"route add {kind} {PEER[family]}")
    refusal = ask(net.host, PEER[family])
    assert "RTNETLINK" in refusal
    with Daemon(net.host):
        wait_window(net.host, OTHER[family])
        wait_none(net.host, PEER[family])
        assert ask(net.host, PEER[family], "ipproto", "tcp") == refusal


@families
@pytest.mark.parametrize("kind", ["blackhole", "unreachable", "prohibit"])
def test_destination_that_becomes_forbidden_loses_its_route(net, family, kind):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_window(net.host, PEER[family])
        net.host.routing(family, f"route add {kind} {PEER[family]}")
        wait_none(net.host, PEER[family])
        assert "RTNETLINK" in ask(net.host, PEER[family], "ipproto", "tcp")
        net.host.routing(family, f"route del {kind} {PEER[family]}")
        wait_ours(net.host, PEER[family])


@families
def test_destination_that_becomes_an_own_address_loses_its_route(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_window(net.host, PEER[family])
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


RULES = ["pref 100 from {source}", "pref 100 to {peer}", "pref 100 fwmark 1",
         "pref 32765 to {peer}", "pref 32765 fwmark 1"]


@families
@pytest.mark.parametrize("rule", RULES)
def test_policy_routing_goes_on_as_without_us(net, family, rule):
    for peer in (PEER[family], OTHER[family]):
        net.learned(peer, 30)
    net.host.routing(family, policy(rule, family))
    before = ways(net.host, family)
    assert len(set(map(str, before.values()))) > 2
    with Daemon(net.host):
        wait_ours(net.host, OTHER[family])
        assert ways(net.host, family) == before
        if " to " in rule:
            wait_none(net.host, PEER[family])


@families
@pytest.mark.parametrize("rule", RULES)
def test_rule_that_comes_later_is_respected_within_a_second(net, family, rule):
    for peer in (PEER[family], OTHER[family]):
        net.learned(peer, 30)
    with Daemon(net.host, interval="1h"):
        for peer in (PEER[family], OTHER[family]):
            wait_ours(net.host, peer)
        net.host.routing(family, policy(rule, family))
        wait_until(lambda: all(("mtu 1333" in str(answer)) == matches(rule.split(), family, query)
                               for query, answer in ways(net.host, family).items()),
                   "the new rule", deadline_s=1)
        wait_ours(net.host, OTHER[family])


@families
def test_tcp_that_goes_through_another_table_is_left_alone(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        net.host.routing(family, policy("pref 100 ipproto tcp", family))
        wait_until(lambda: PEER[family] not in windows(net.host), "no route", deadline_s=1)
        assert f"via {SECOND[family]} " in ask(net.host, PEER[family], "ipproto", "tcp")


@families
def test_rules_stand_directly_before_main(net, family):
    with Daemon(net.host):
        found = net.host.ip(f"-{family}", "rule").splitlines()
        main = next(n for n, rule in enumerate(found) if rule.endswith("lookup main"))
        assert found[main - 1] in rules(net.host)
        assert "from all iif lo ipproto tcp lookup" in found[main - 1]


@families
def test_rules_stand_directly_before_main_where_others_stand_already(net, family):
    net.host.routing(family, f"rule add pref 32765 to {PEER[family]} lookup 100")
    with Daemon(net.host):
        found = net.host.ip(f"-{family}", "rule").splitlines()
        main = next(n for n, rule in enumerate(found) if rule.endswith("lookup main"))
        assert found[main - 1] in rules(net.host)
        assert "lookup 100" in next(rule for rule in reversed(found[:main])
                                    if f"proto {PROTOCOL}" not in rule)


@families
def test_rule_that_somebody_removed_comes_back(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        before = net.host.ip(f"-{family}", "rule")
        priority = rules(net.host)[0].split(":")[0]
        for _ in range(before.count(f"proto {PROTOCOL}")):
            net.host.ip(f"-{family}", "rule", "del", "pref", priority)
            wait_until(lambda: net.host.ip(f"-{family}", "rule") == before, "our rules",
                       deadline_s=1)
            wait_ours(net.host, PEER[family])


@families
def test_route_that_somebody_removed_comes_back(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        net.host.ip(f"-{family}", "route", "del", PEER[family], "table", TABLE)
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
def test_prefix_with_a_more_specific_route_in_main_gets_none(net, family):
    prefix, specific = PREFIX[family]
    net.learned(PEER[family], 30)
    net.learned(OTHER[family], 30)
    net.host.routing(family, f"route add {specific} via {SECOND[family]}")
    with Daemon(net.host, "--aggregate", prefix):
        wait_window(net.host, OTHER[family])
        assert prefix not in windows(net.host)


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
        wait_until(lambda: prefix in windows(net.host), "the route again", deadline_s=1)
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


def redirect(host, router, dst, gateway, new):
    """A packet of UDP to dst, and an answer of the gateway that names a better one."""
    source = SOURCES[4][0]
    with host.entered():
        near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with near, router.entered():
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
            near.connect((dst, 9))
            inner = ip_header(source, dst, socket.IPPROTO_UDP, 8) \
                + struct.pack("!HHHH", near.getsockname()[1], 9, 8, 0)
            icmp = struct.pack("!BBH4s", 5, 1, 0, socket.inet_aton(new)) + inner
            icmp = icmp[:2] + struct.pack("!H", checksum(icmp)) + icmp[4:]
            raw.sendto(ip_header(gateway, source, socket.IPPROTO_ICMP, len(icmp)) + icmp,
                       (source, 0))
            wait_until(lambda: f"via {new} " in ask(host, dst, *WITHOUT_US), "redirected")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def ip_header(source, dst, protocol, n_bytes):
    words = [0x45, 0, 20 + n_bytes, 0, 0, 64, protocol, 0, socket.inet_aton(source),
             socket.inet_aton(dst)]
    words[7] = checksum(struct.pack("!BBHHHBBH4s4s", *words))
    return struct.pack("!BBHHHBBH4s4s", *words)


def test_path_that_was_redirected_is_left_alone(net):
    """What a router said of one path lives in main's route, and a copy does not have it."""
    net.host.ip("neigh", "replace", SECOND[4], "dev", "eth0", "lladdr", mac(77), "nud", "permanent")
    net.learned(PEER[4], 30)
    net.learned(OTHER[4], 30)
    redirect(net.host, net.world, PEER[4], FIRST[4], SECOND[4])
    with Daemon(net.host) as daemon:
        wait_ours(net.host, OTHER[4])
        wait_until(lambda: f"{PEER[4]}: left alone: a router redirected" in daemon.said(), "reason")
        assert PEER[4] not in windows(net.host)
        assert f"via {SECOND[4]} " in ask(net.host, PEER[4], "ipproto", "tcp")


def test_prefix_with_a_path_that_was_redirected_is_left_alone(net):
    net.host.ip("neigh", "replace", SECOND[4], "dev", "eth0", "lladdr", mac(77), "nud", "permanent")
    driver = Driver(net.host).wait_ready()
    try:
        driver.send(["set 203.0.113.0/24 40"])
        assert driver.quiet()["routes"] == 1
        redirect(net.host, net.world, PEER[4], FIRST[4], SECOND[4])
        assert driver.quiet()["left_alone"] == 1
        assert not windows(net.host)
        assert f"via {SECOND[4]} " in ask(net.host, PEER[4], "ipproto", "tcp")
    finally:
        driver.kill()


@pytest.fixture
def lines():
    """A host with several links, and what runs ip(8) lines on it."""
    side = Side("lines")
    side.settle()
    yield side
    side.close()


def wait_as_without_us(host, dst):
    wait_until(lambda: way(host, dst, "ipproto", "tcp") == way(host, dst, *WITHOUT_US),
               "the same way as without us", deadline_s=1)


@families
def test_sysctl_that_revives_a_dead_link_is_followed(lines, family):
    host, dst = lines.host, OTHER[family]
    lines.shell.run(f"{default_line(family, 'add', 1)} metric 2000")
    host.sysctl(f"ipv{family}/conf/all/ignore_routes_with_linkdown", 1)
    lines.shell.run("ip link set far0 down")
    lines.settle()
    driver = Driver(host).wait_ready()
    try:
        driver.send([f"set {dst} 40"])
        driver.quiet()
        assert "dev eth1 " in ask(host, dst, *WITHOUT_US)
        wait_ours(host, dst)
        host.sysctl(f"ipv{family}/conf/all/ignore_routes_with_linkdown", 0)
        assert "dev eth0 " in ask(host, dst, *WITHOUT_US)
        wait_as_without_us(host, dst)
    finally:
        driver.kill()


def test_host_that_begins_to_forward_is_followed(lines):
    """A host that forwards does not pass a failed IPv6 gateway over."""
    host, dst = lines.host, OTHER[6]
    for line in (f"{default_line(6, 'add', 1)} metric 2000",
                 f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud stale",
                 f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud failed"):
        lines.shell.run(line)
    driver = Driver(host).wait_ready()
    try:
        driver.send([f"set {dst} 40"])
        driver.quiet()
        assert "dev eth1 " in ask(host, dst, *WITHOUT_US)
        host.sysctl("ipv6/conf/all/forwarding", 1)
        assert "dev eth0 " in ask(host, dst, *WITHOUT_US)
        wait_as_without_us(host, dst)
    finally:
        driver.kill()


def cpu_ticks(daemon):
    with open(f"/proc/{daemon.pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def put_huge_route(host, dst):
    """Adds or replaces an IPv4 route of 2,500 hops: more bytes than any message that we read."""
    net, _, length = dst.partition("/")
    with host.entered():
        link = socket.if_nametoindex("eth0")
        rtnl = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    hops = b"".join(struct.pack("=HBBiHH", 16, 0, 0, link, 8, 5) + bytes([10, 0, 0, 1 + n % 250])
                    for n in range(2500))
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, int(length or 0), 0, 0, 254, 3, 0, 1, 0)
    if length:
        body += struct.pack("=HH", 8, 1) + socket.inet_aton(net)
    body += struct.pack("=HH", 4 + len(hops), 9) + hops
    with rtnl:
        # NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE | NLM_F_CREATE
        rtnl.send(struct.pack("=IHHII", 16 + len(body), 24, 0x505, 1, 0) + body)
        assert struct.unpack_from("=i", rtnl.recv(1 << 16), 16)[0] == 0


TOO_LARGE = "IPv4: off, connections start without us: main has a route too large"


def test_route_too_large_for_a_message_is_followed(net):
    """Its notification is cut off, its answer too, and so is main behind it."""
    net.learned(PEER[4], 30)
    net.learned(PEER[6], 30)
    with Daemon(net.host) as daemon:
        wait_ours(net.host, PEER[4])
        put_huge_route(net.host, "default")
        wait_until(lambda: TOO_LARGE in daemon.said(), "the reason", deadline_s=2)
        assert not is_ours(net.host, PEER[4])
        wait_ours(net.host, PEER[6])
        net.host.ip("route", "replace", "default", "via", SECOND[4])
        wait_until(lambda: "IPv4: on again" in daemon.said(), "on again", deadline_s=2)
        wait_ours(net.host, PEER[4])


def test_route_too_large_for_a_message_does_not_keep_the_other_family_out(net):
    put_huge_route(net.host, "192.0.2.0/24")
    driver = Driver(net.host).wait_ready()
    try:
        driver.send(f"set {PEER[family]} 40" for family in (4, 6))
        driver.quiet()
        wait_ours(net.host, PEER[6])
        assert not is_ours(net.host, PEER[4])
        net.host.ip("route", "del", "192.0.2.0/24")
        wait_ours(net.host, PEER[4])
    finally:
        driver.kill()


def test_main_that_cannot_be_read_to_its_end_turns_us_off(net):
    """What hides behind the route that ends the dump may be inside a prefix of ours."""
    net.learned(PEER[4], 30)
    with Daemon(net.host, "--aggregate", "203.0.113.0/24") as daemon:
        wait_window(net.host, "203.0.113.0/24")
        wait_ours(net.host, PEER[4])
        put_huge_route(net.host, "192.0.2.0/24")
        net.host.ip("route", "add", "203.0.113.128/25", "via", SECOND[4])
        wait_until(lambda: TOO_LARGE in daemon.said(), "the reason", deadline_s=2)
        for dst in (PEER[4], "203.0.113.200"):
            assert way(net.host, dst, "ipproto", "tcp") == way(net.host, dst, *WITHOUT_US)
        before = cpu_ticks(daemon)
        time.sleep(0.5)
        assert cpu_ticks(daemon) - before < 10, "it spins"
        net.host.ip("route", "del", "192.0.2.0/24")
        wait_until(lambda: "IPv4: on again" in daemon.said(), "on again", deadline_s=2)


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
        wait_until(lambda: way(net.host, PEER[6], "ipproto", "tcp") ==
                   way(net.host, PEER[6], *WITHOUT_US), "the same without the address")
        wait_none(net.host, PEER[6])


@families
@pytest.mark.parametrize("event", ["link set eth0 down", "link delete eth0"])
def test_second_link_takes_over_within_a_second(net, family, event):
    net.host.routing(family, f"route add default via {OTHER_LINK[family]} metric 2000")
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        net.host.routing(family, event)
        wait_until(lambda: "dev eth1" in ask(net.host, PEER[family], "ipproto", "tcp"), "eth1",
                   deadline_s=1)
        wait_ours(net.host, PEER[family])


@families
def test_link_that_lost_its_carrier_and_came_back_is_used_again(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        net.world.ip("link", "set", "eth0", "down")
        wait_until(lambda: way(net.host, PEER[family], "ipproto", "tcp") ==
                   way(net.host, PEER[family], *WITHOUT_US), "the same without carrier")
        net.world.ip("link", "set", "eth0", "up")
        wait_until(net.host.is_ready, "carrier")
        wait_ours(net.host, PEER[family])


def test_learned_path_mtu_outlives_a_change_of_window(net):
    """IPv4 alone: the kernel forgets what IPv6 has learned with each replaced route."""
    connection = net.learned(PEER[4], 40)
    with Daemon(net.host):
        window = wait_window(net.host, PEER[4])
        # From now on the peer is behind a link of 1300 bytes, which swallows what it takes.
        net.world.sysctl("ipv4/conf/all/forwarding", 1)
        net.world.sysctl("ipv4/ip_early_demux", 0)  # else the peer's socket claims what goes on
        net.world.batch(f"""
            link add thin mtu 1300 type veth peer name sink
            link set thin up
            link set sink up
            neigh add {PEER[4]} lladdr 02:00:00:00:00:01 dev thin nud permanent
            route add {PEER[4]} dev thin
            route del local 203.0.113.0/24 dev lo
        """)
        connection.near.send(bytes(1400))
        wait_until(lambda: "mtu 1300" in ask(net.host, PEER[4], "ipproto", "tcp"), "the path MTU")
        # Losses make the window small.
        wait_until(lambda: windows(net.host)[PEER[4]] < window, "a change of window")
        answer = ask(net.host, PEER[4], "ipproto", "tcp")
        assert f"table {TABLE} " in answer and "mtu 1300" in answer


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
        wait_until(lambda: way(net.host, PEER[family], "ipproto", "tcp")
                   == way(net.host, PEER[family], *WITHOUT_US), "the way of main again")
        wait_ours(net.host, PEER[family])
        shown = net.host.ip(f"-{family}", "route", "show", "table", str(TABLE))
        assert len(shown.splitlines()) == 1 and "metric 2000" in shown


@families
def test_route_that_somebody_puts_there_goes_where_there_is_no_room_for_it(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, "--max-destinations", "1"):
        wait_window(net.host, PEER[family])
        net.host.ip("route", "add", OTHER[family], "via", SECOND[family], "table", str(TABLE),
                    "protocol", str(PROTOCOL))
        wait_until(lambda: windows(net.host).keys() == {PEER[family]}, "ours alone")
