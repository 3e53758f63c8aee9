# SPDX-License-Identifier: MIT
"""The invariant, event by event: with and without us, local TCP uses the same route except for its
initial windows. A twin without Riptide shows the right answer (twins.py); test_invariant.py draws
random events."""

import statistics
import time

import pytest
from netns import DEADLINE_S, wait_until, windows
from routing_ask import FIRST, PEER, SECOND, ask, families, is_ours, wait_ours
from rtnetlink import Ways, routes_of_table
from programs import Driver
from twins import Twins, prefix_key

# Values of the names in the lines below.
WORDS = {
    4: {"family": 4, "peer": PEER[4], "host": f"{PEER[4]}/32", "first": FIRST[4],
        "second": SECOND[4], "other": "10.0.1.1", "off_link": "10.77.7.7", "source": "10.0.0.10",
        "other_source": "10.0.1.10", "beyond": "198.51.100.1", "specific": "203.0.113.128/25",
        "subnet": "203.0.113.0/24"},
    6: {"family": 6, "peer": PEER[6], "host": f"{PEER[6]}/128", "first": FIRST[6],
        "second": SECOND[6], "other": "fd00:0:0:1::1", "off_link": "fd77::7", "source": "fd00::10",
        "other_source": "fd00:0:0:1::10", "beyond": "2001:db8:1::1", "specific": "2001:db8:0:7::/64",
        "subnet": "2001:db8::/64"},
}
BASES = """
    via {first}
    via {second} mtu 1400 advmss 1300
    via {first} mtu lock 1300
    via {first} src {other_source}
    via {first} rto_min 50ms
    via {first} rtt 40ms rttvar 20ms ssthresh 80 reordering 5 hoplimit 9 quickack 1
    via {first} features ecn
    via {first} initcwnd 30 initrwnd 20
    via {other} metric 50
    via {off_link} dev eth0 onlink
    dev eth1
    nhid 7
    nhid 8 mtu 1400 src {source}
"""
# A copy of these would lead some flows another way, or share its window with other routes.
NOT_TO_COPY = """
    nhid 9
    via {first} congctl reno
    nexthop via {first} nexthop via {second} weight 3
    mtu 1400 nexthop via {first} dev eth0 nexthop via {other} dev eth1 weight 2
"""
NOT_TO_COPY_OF = {4: "via {first} realm 7\nvia inet6 fd00::2 dev eth0\nnhid 10", 6: "via {first} pref high"}
NEXTHOPS = """
    nexthop add id 7 via {first} dev eth0
    nexthop add id 8 via {other} dev eth1
    ip nexthop add id 9 group 7/8,3
    ip -6 nexthop add id 10 via fd00::1 dev eth0
"""


def each_base(family):
    """Each kind of base route in turn: those that can be copied, and those that cannot."""
    for sign, bases in (("", BASES), ("-", NOT_TO_COPY + NOT_TO_COPY_OF[family])):
        for base in bases.strip().splitlines():
            yield f"- route del default\n{sign} route add default {base.strip()}"


# Lines of ip(8), `ours: LINE` for changes of Riptide's own, `sysctl NAME VALUE`. After each the
# destination has a route of ours; after "-" it has none, and after "?" either is allowed; after "~" it
# has one within a minute.
STORIES = {
    "base routes": None,  # each_base
    "moved gateway": """
        - route del default
        route add default via {first} metric 2000
        route replace default via {second} metric 2000
        route add default via {first} metric 7
        route del default metric 7
        route add {peer} via {first}
    """,
    "moved next-hop object": NEXTHOPS + """
        - route del default
        route add default nhid 7
        nexthop replace id 7 via {second} dev eth0
    """,
    "forbidden": """
        - route add blackhole {peer}
        route del blackhole {peer}
        - route add unreachable {peer}
        route del unreachable {peer}
        - route add prohibit {peer}
        route del prohibit {peer}
    """,
    "an address of the host's own": """
        - addr add {host} dev lo
        addr del {host} dev lo
    """,
    # The kernel falls back from the first to the second, but not from a copy of the first.
    "competing routes": """
        ? route append default via {second} dev eth0
        ~ route del default via {second}
    """,
    "somebody's hand": """
        ours: route del {host} table 7230
        ours: rule del lookup 7230
        ours: rule del pref 32765
        ours: route flush table 7230
    """,
    # The lower metric wins: ours has its base's metric, and theirs leads elsewhere.
    "somebody's route beside ours": """
        sysctl ipv6/conf/all/forwarding 1
        route add {subnet} via {second} metric 2000
        ours: route add {host} via {first} metric 7 table 7230 protocol 230
        ours: route add {host} via {first} metric 3000 table 7230 protocol 230
        ours: route add {beyond} via {second} table 7230 protocol 230
        - route add prohibit {peer}
        - ours: route add {host} via {second} table 7230 protocol 230
    """,
    "link down": "- link set eth0 down",
    "link gone": "- link del eth0",
    "default gone": "- route del default",
    "addresses gone": "{no_address} addr flush dev eth0",
    # The kernel removes the address from a plain IPv6 route, but not from one with an object.
    "source gone": NEXTHOPS + """
        ip -6 addr add fd00::99/64 dev eth0 nodad
        ip -6 route replace default via fd00::1 src fd00::99
        ip -6 addr del fd00::99/64 dev eth0
        ip -6 addr add fd00::99/64 dev eth0 nodad
        ? ip -6 route del default
        ip -6 route add default nhid 10 src fd00::99
        {no_source} ip -6 addr del fd00::99/64 dev eth0
    """,
    "carrier lost and back": """
        ? link set far0 down
        link set far0 up
    """,
    "dead link revived by a sysctl": """
        route add default via {other} dev eth1 metric 2000
        sysctl ipv{family}/conf/all/ignore_routes_with_linkdown 1
        link set far0 down
        ? sysctl ipv{family}/conf/all/ignore_routes_with_linkdown 0
    """,
} | {f"rule {rule}": f"""
        route add default via {{second}} table 100 mtu 1333
        {"-" if "peer" in rule else ""} rule add {rule} lookup 100
    """ for rule in ("pref 100 from {source}", "pref 100 to {peer}", "pref 100 fwmark 0x64",
                     "pref 32765 to {peer}", "pref 32765 fwmark 0x64", "pref 90 ipproto udp")}
# Of Istio, AWS, Cilium, VPN scripts, Kubernetes, Calico, Tailscale, wg-quick: one after the other, which all stay.
STORIES["rules by marks"] = "route add default via {second} table 100\n" + "".join(
    f"rule add pref 100 fwmark {mark} lookup 100\n" for mark in (
        "0x539 0x40/0x40 0x80/0x80 0x100/0x100 0x200/0xf00 0x1000/0x1000 0x4000/0x4000 0x8000/0x8000 "
        "0x10000/0x10000 0x20000/0x20000 0x100000/0x100000 0x80000/0xff0000 0xca6c").split())


class Story(Twins):
    """Twins with one destination, and further addresses to query."""

    def __init__(self, family, dst, addresses):
        super().__init__(addresses)
        self.family, self.dst = family, dst
        self.begin()

    def begin(self):
        self.driver.follow(f"set {self.dst} 60")
        self.rules = self.with_us.host.ip(f"-{self.family}", "rule")

    def is_right(self, line, sign):
        """Whether there is no difference, and our route exists as expected, and no other."""
        if self.differences(self.ask(self.with_us), self.ask(self.without_us)):
            return False
        if "ours: " in line and self.with_us.host.ip(f"-{self.family}", "rule") != self.rules:
            return False
        found = list(routes_of_table(self.with_us.link))
        return sign == "?" or found == [prefix_key(self.dst)] * (sign != "-")

    def tell(self, line):
        """Executes a line of a story; the router follows without rounds. Returns its sign."""
        sign, line = (line[0], line[1:].strip()) if line[0] in "-?~" else ("", line)
        if line.startswith("ours: "):
            line = line.replace("ours: ", f"ours: ip -{self.family} ")
        elif not line.startswith(("ip ", "sysctl ")):
            line = f"ip -{self.family} {line}"
        said = self.happen(line)
        assert not said, f"{line}: {said}"
        for side in (self.with_us, self.without_us):
            side.settle()
            # The kernel adds the route to an IPv6 address later, and announces no end of one that it has not added yet.
            if " addr add " in line:
                address = line.split(" addr add ")[1].split()[0].partition("/")[0]
                show = *line.split()[1:2], "route", "show", "table", "local"
                wait_until(lambda: f"local {address} " in side.host.ip(*show), f"the route to {address}")
        if sign == "~":
            self.driver.later()
        wait_until(lambda: self.is_right(line, sign), f"all as it should be behind: {line}")
        return sign


@families
@pytest.mark.parametrize("name", STORIES)
def test_event_is_followed_before_the_next_round_and_by_a_start(family, name):
    words = dict(WORDS[family], no_source="-" * (family == 6), no_address="-" * (family == 4) or "?")
    text = STORIES[name] or NEXTHOPS + "\n".join(each_base(family))
    lines = [line.strip() for line in text.format(**words).splitlines() if line.strip()]
    with Story(family, words["peer"], [words["peer"], words["beyond"], words["specific"].partition("/")[0]]) as story:
        for line in lines:
            sign = story.tell(line)
        story.judge()
        assert story.driver.end() == 0
        story.driver = Driver(story.with_us.host).wait_ready()
        story.begin()
        story.judge()
        assert story.is_right("", sign)


@families
def test_forwarded_packets_and_udp_do_not_use_our_table(net, driver, family):
    net.host.sysctl(f"ipv{family}/conf/all/forwarding", 1)
    source = {4: "10.0.1.77", 6: "fd00:0:0:1::77"}[family]  # behind eth1
    driver.follow(f"set {PEER[family]} 40")
    wait_ours(net.host, PEER[family])
    for query in (("udp",), ("icmp" if family == 4 else "58",), ("tcp", "from", source, "iif", "eth1"),
                  ("udp", "from", source, "iif", "eth1")):
        answer = ask(net.host, PEER[family], *query)
        assert "dev eth0 table main" in answer and "initcwnd" not in answer


SEVERAL_HOPS = """
    route add 198.18.0.0/24 nexthop via 10.0.0.1 nexthop via 10.0.0.2
    route add blackhole 198.18.1.0/24
    nexthop add id 7 via 10.0.0.1 dev eth0
    nexthop add id 8 via 10.0.1.1 dev eth1
    nexthop add id 9 group 7/8
    route add 198.18.3.0/24 nhid 9
"""


@pytest.mark.parametrize("before, lines, touches", [
    (SEVERAL_HOPS, "link add apart type veth peer name sink\nlink del apart", 0),
    ("", "addr add 10.0.1.77/32 dev eth1\naddr del 10.0.1.77/32 dev eth1\naddr add fd00:0:0:1::77/128 dev eth1", 0),
    ("", "link set eth0 promisc on\nlink set eth0 promisc off\n"
         "link set eth0 alias uplink\nlink set eth0 txqueuelen 1234", 0),
    ("", "nexthop add id 1 via 10.0.0.1 dev eth0", 1),
    ("", "link set eth0 mtu 1400", 1), ("", "link set eth0 down", 1),
], ids=["other link", "other address", "link's other properties", "other next hop", "link's MTU", "link down"])
def test_event_removes_the_rules_where_it_can_move_a_route_of_ours(net, driver, before, lines, touches):
    net.host.batch(before)
    before = driver.follow(f"set {PEER[4]} 40", f"set {PEER[6]} 40")
    net.host.batch(lines)
    after = driver.quiet()
    assert (after["rule_removals"] > before["rule_removals"]) == bool(touches)
    assert is_ours(net.host, PEER[6]) == (lines != "link set eth0 down")


def test_a_route_that_the_kernel_refuses_is_told_once_and_tried_again_once_before_its_turn(net, driver):
    first, second = "203.0.113.50", "203.0.113.51"  # whose turns are 50 seconds after the start
    told = []
    driver.note = told.append
    net.host.ip("route", "del", "10.0.0.0/24", "dev", "eth0")
    driver.follow(f"set {first} 30")
    wait_until(lambda: driver.quiet()["failed"] == 2, "another try", deadline_s=DEADLINE_S / 3)
    driver.follow(f"set {second} 30")
    wait_until(lambda: driver.quiet()["failed"] >= 4, "another try of the second", deadline_s=DEADLINE_S / 3)
    assert driver.stats["failed"] == 4
    driver.later()
    assert driver.stats["failed"] == 6
    assert [line for line in told if line.startswith("route ")] == [
        f"route {dst} failed 30 Nexthop has invalid gateway" for dst in (first, second)]
    net.host.ip("route", "add", "10.0.0.0/24", "dev", "eth0")
    driver.later()
    assert windows(net.host) == {first: 30, second: 30}


def test_routes_that_another_rule_hides_are_counted_within_seconds(net, driver):
    """Of destinations whose turns are 50 seconds after the start: one is new, one has the rule come later."""
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1")
    for n, dst in enumerate(("203.0.113.50", "203.0.113.51"), 1):
        driver.follow(f"set {dst} 30")
        if n == 1:
            net.host.ip("rule", "add", "pref", 100, "lookup", "main", "suppress_prefixlength", 0)
        wait_until(lambda n=n: driver.quiet()["not_taken"] == n, "its count", deadline_s=DEADLINE_S / 3)


@families
def test_moved_default_gateway_is_followed_by_the_rule_first(net, driver, family, say):
    """However many routes are written then: half of 10,000 destinations are affected at once."""
    dsts = {4: [f"198.51.{n // 256}.{n % 256}" for n in range(5000)], 6: [f"2001:db8:77::{n:x}" for n in range(5000)]}
    driver.follow(*(f"set {dst} 40" for dst in dsts[4] + dsts[6]))
    followed_ms, back_ms = [], []
    with Ways(net.host, dsts[family][::250]) as ways:
        for n in range(10):
            net.host.ip(f"-{family}", "route", "replace", "default", "via", (SECOND, FIRST)[n % 2][family])
            began = time.perf_counter()
            while ways.differences():
                assert time.perf_counter() < began + DEADLINE_S
            followed_ms.append(1000 * (time.perf_counter() - began))
            driver.quiet()
            back_ms.append(1000 * (time.perf_counter() - began))
    followed, back = statistics.median(followed_ms), statistics.median(back_ms)
    say(f"default gateway moved under 5,000 IPv{family} destinations of 10,000: no difference after {followed:.1f} ms "
        f"(max {max(followed_ms):.1f}), windows back after {back:.0f} (max {max(back_ms):.0f})")
    assert followed < back / 3
