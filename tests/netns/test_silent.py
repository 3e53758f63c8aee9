# SPDX-License-Identifier: MIT
"""Routing changes without a notification by the kernel: followed within a minute, or without
effect."""

import re
import socket
import struct
import time

import pytest

from netns import Closing, Host, join, wait_until
from routing_ask import FIRST, PEER, ask, is_as_without_us, is_ours, wait_ours
from routing_base import default_line, mac
from rtnetlink import RTA_DST, RTA_MULTIPATH, Rtnetlink, Ways, attribute, packed
from programs import Driver
from twins import Side
from waiting import stopped

DSTS = [f"2001:db8::{n:x}" for n in range(1, 200)]
ALL_NODES = "ff02::1"
IPV6_MULTICAST_IF, IPV6_MULTICAST_HOPS = 17, 18
RTM_NEWROUTE, NLM_F_ACK, NLM_F_REPLACE, NLM_F_CREATE = 24, 4, 0x100, 0x400
MAX_TURNS = 30  # a busy machine may miss a moment of 1/100 s


class Advertised(Closing):
    """A host with a default route from a router advertisement."""

    def __init__(self):
        self.host, self.router = Host("host"), Host("router")
        join(self.host, "eth0", self.router, "eth0")
        self.host.sysctl("ipv6/conf/eth0/accept_ra", 1)
        self.router.sysctl("ipv6/conf/all/forwarding", 1)
        self.router.batch("link set eth0 addrgenmode none up\naddr add fe80::1/64 dev eth0 nodad")
        self.host.ip("link", "set", "eth0", "up")
        wait_until(lambda: self.host.is_ready() and self.router.is_ready(), "links up")
        self.ways = Ways(self.host, DSTS)
        self.advertise()
        self.driver = Driver(self.host).wait_ready()
        assert self.driver.follow(*(f"set {dst} 40" for dst in DSTS))["routes"] == len(DSTS)
        assert self.differing() == 0

    def close(self):
        self.driver.kill()
        for one in (self.ways, self.host, self.router):
            one.close()

    def advertise(self, lifetime_s=1800, hop_limit=64, mtu_bytes=0):
        """Sends an advertisement, and waits until the host has received it."""
        words = struct.pack("!BBHBBHII", 134, 0, 0, hop_limit, 0, lifetime_s, 0, 0)
        if mtu_bytes:
            words += struct.pack("!BBHI", 5, 1, 0, mtu_bytes)
        with self.router.entered(), socket.socket(socket.AF_INET6, socket.SOCK_RAW,
                                                  socket.IPPROTO_ICMPV6) as raw:
            index = socket.if_nametoindex("eth0")
            raw.setsockopt(socket.IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255)
            raw.setsockopt(socket.IPPROTO_IPV6, IPV6_MULTICAST_IF, index)
            raw.sendto(words, (ALL_NODES, 0, 0, index))
        wait_until(lambda: self._has_heard(lifetime_s, hop_limit, mtu_bytes), "the advertisement")

    def _has_heard(self, lifetime_s, hop_limit, mtu_bytes):
        """Some of its lifetime has passed; a minute separates long ones from short ones."""
        for route in self.host.ip_json("-6", "route", "show", "default"):
            metrics = {key: value for entry in route["metrics"] for key, value in entry.items()}
            return (metrics.get("hoplimit") == hop_limit and metrics.get("mtu", 0) == mtu_bytes
                    and (route["expires"] > 60) == (lifetime_s > 60)
                    and route["expires"] <= lifetime_s)
        return False

    def differing(self):
        """The number of destinations with a difference for TCP, including lifetimes."""
        return len({address for address, *_ in self.ways.differences()})


@pytest.fixture
def advertised():
    with Advertised() as network:
        yield network


@pytest.mark.parametrize("change", [{"hop_limit": 33}, {"mtu_bytes": 1400}], ids=["hop limit", "MTU"])
def test_next_advertisement_is_followed_within_a_minute(advertised, change):
    if "mtu_bytes" in change:  # the kernel gives a smaller MTU to all routes, ours too
        advertised.advertise(mtu_bytes=1300)
        advertised.driver.later()
    advertised.advertise(**change)
    assert advertised.differing() == len(DSTS)
    assert advertised.driver.later()["routes"] == len(DSTS)
    assert advertised.differing() == 0


def test_routes_go_before_their_base_ends_and_return_when_it_is_refreshed(advertised):
    """Ours have no lifetime; the kernel announces neither."""
    for lifetime_s, n_routes in ((1800, len(DSTS)), (80, 0), (1800, len(DSTS))):
        advertised.advertise(lifetime_s=lifetime_s)
        before = dict(advertised.driver.later())
        assert before["routes"] == n_routes, lifetime_s
        assert advertised.differing() == 0
        assert advertised.driver.later()["written"] == before["written"]


class Asked(Side):
    """A host with several links, and queries for one destination."""

    def __init__(self):
        super().__init__("lines")
        self.settle()
        self.ways = Ways(self.host, DSTS[:1])

    def close(self):
        self.ways.close()
        super().close()

    def answers(self):
        """Those of TCP and of UDP, each with its time left."""
        return self.ways.read()[0][1:]

    def base(self):
        """The prefix length of main's route, and its time left, 1/100 s."""
        route, expires = self.answers()[1]
        return route.dst[2], expires

    def run(self, *lines):
        for line in lines:
            self.tell(line)


@pytest.fixture
def asked():
    with Asked() as side:
        yield side


GATEWAY = f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud"
FAILED = f"{default_line(6, 'add', 1)} metric 2000", f"{GATEWAY} stale", f"{GATEWAY} failed"


def test_ipv6_with_another_way_around_a_gateway_is_left_alone(asked):
    """While the gateway does not answer, main uses the other way: the kernel announces neither the
    beginning nor the end. A host that forwards does not avoid it."""
    with Driver(asked.host) as driver:
        driver.follow(f"set {DSTS[0]} 40")
        assert is_ours(asked.host, DSTS[0])
        asked.run(*FAILED)
        driver.quiet()
        around = str(asked.answers()[1][0])
        assert is_as_without_us(asked.host, DSTS[0]) and not is_ours(asked.host, DSTS[0])
        asked.host.sysctl("ipv6/conf/all/forwarding", 1)
        assert str(asked.answers()[1][0]) != around
        wait_ours(asked.host, DSTS[0])
        asked.host.sysctl("ipv6/conf/all/forwarding", 0)
        asked.run(FAILED[0].replace("add", "del"))
        driver.later()
        assert is_ours(asked.host, DSTS[0]) and is_as_without_us(asked.host, DSTS[0])


def test_route_in_its_last_moment_is_not_taken_for_one_that_stays(asked):
    """Then it shows a lifetime of 0, as if it had none: queried at that moment, by an event."""
    n_seen = 0
    with Driver(asked.host) as driver:
        for n in range(MAX_TURNS):
            lifetime_s = 1 + n % 2
            with stopped(driver.pid):  # it never sees the whole lifetime
                asked.run(f"ip -6 route replace 2001:db8::/32 via fd00::2 dev eth0 expires {lifetime_s}",
                          f"ip -6 route replace 2001:db8::/24 via fd00::{1 + n % 3} dev eth0")
                wait_until(lambda: asked.base()[1] < 100 * lifetime_s, "the first hundredth to pass")
            driver.follow(f"set {DSTS[0]} 40")
            while asked.base() > (32, 0):
                time.sleep(max(0, asked.base()[1] / 100 - 0.02))
            n_seen += asked.base() == (32, 0)
            asked.run(f"ip -6 route replace 2001:db8::/24 via fd00::{2 + n % 3} dev eth0")
            wait_until(lambda: asked.base()[0] == 24, "its end")
            driver.later()
            assert is_as_without_us(asked.host, DSTS[0]), f"{n}: {asked.answers()}; {driver.routes}"
            if n_seen and n >= 2:
                break
    assert n_seen


# What a dump of main does not show: redirects, and routes too large for a message.

# Another router on the first link, and the destination behind it:
BETTER = {4: "10.0.0.77", 6: "fe80::77"}
UNKNOWN = {4: "192.0.2.7", 6: "3fff::7"}


def let_redirect(net, family):
    """Makes the world forward to the better router on its link, and send redirects."""
    for host in (net.host, net.world):
        host.ip("neigh", "replace", BETTER[family], "dev", "eth0", "lladdr", mac(77), "nud",
                "permanent")
    net.host.sysctl(f"ipv{family}/conf/eth0/accept_redirects", 1)
    net.world.sysctl({4: "ipv4/ip_forward", 6: "ipv6/conf/all/forwarding"}[family], 1)
    net.world.ip("route", "add", UNKNOWN[family], "via", BETTER[family], "dev", "eth0")


def opening(net, family):
    """A connection attempt that repeats its SYN."""
    sock = net.host.socket({4: socket.AF_INET, 6: socket.AF_INET6}[family])
    sock.setblocking(False)
    sock.connect_ex((UNKNOWN[family], 9))
    return sock


def goes_via(net, family, gateway, protocol="tcp"):
    return f"via {gateway} " in ask(net.host, UNKNOWN[family], protocol)


def test_router_redirects_tcp_on_our_route_as_without_us(net, driver):
    """If the host accepts redirects. The route itself stays unchanged."""
    let_redirect(net, 4)
    driver.follow(f"set {UNKNOWN[4]} 40")
    with opening(net, 4):
        wait_until(lambda: goes_via(net, 4, BETTER[4]), "redirected")
        assert not goes_via(net, 4, BETTER[4], "udp")
        # The rewritten route has no redirect: the first gateway forwards, and sends it again.
        driver.follow(f"set {UNKNOWN[4]} 80")
        assert goes_via(net, 4, FIRST[4])


def test_no_router_redirects_tcp_on_an_ipv6_route_with_an_mtu(net, driver):
    """Ours has an mtu, so the kernel ignores redirects for it, and the first router forwards."""
    router = net.world.link_local()  # the sender of redirects

    def redirects():
        return int(re.search(r"Icmp6InRedirects\s+(\d+)",
                             net.host.run("cat", "/proc/net/snmp6").stdout).group(1))

    let_redirect(net, 6)
    net.host.ip("-6", "route", "replace", "default", "via", router, "dev", "eth0")
    driver.follow(f"set {UNKNOWN[6]} 40")
    with opening(net, 6):
        wait_until(lambda: redirects() > 1, "two redirects")
        assert goes_via(net, 6, router)
    driver.follow(f"set {UNKNOWN[6]} 0")
    with opening(net, 6):
        wait_until(lambda: goes_via(net, 6, BETTER[6]), "redirected without us")


def put_huge_route(host, dst):
    """Adds or replaces an IPv4 route of 2,500 hops: larger than any message that we read."""
    net, _, length = dst.partition("/")
    with host.entered():
        index = socket.if_nametoindex("eth0")
    hops = b"".join(struct.pack("=HBBiHH", 16, 0, 0, index, 8, 5) + bytes([10, 0, 0, 1 + n % 250])
                    for n in range(2500))
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, int(length or 0), 0, 0, 254, 3, 0, 1, 0)
    if length:
        body += attribute(RTA_DST, packed(net))
    body += attribute(RTA_MULTIPATH, hops)
    with Rtnetlink(host) as link:
        _, _, answer = link.request(RTM_NEWROUTE, body, NLM_F_ACK | NLM_F_REPLACE | NLM_F_CREATE)
        assert struct.unpack_from("=i", answer)[0] == 0


@pytest.mark.parametrize("huge", ["default", "192.0.2.0/24"])
def test_route_too_large_for_a_message_is_followed(net, driver, huge):
    """Its notification and answer are cut off, and the dump of main ends there."""
    driver.follow(*(f"set {peer} 30" for peer in PEER.values()))
    wait_ours(net.host, PEER[4])
    put_huge_route(net.host, huge)
    wait_until(lambda: driver.quiet() and is_ours(net.host, PEER[4]) == (huge != "default"), "what it says")
    assert is_as_without_us(net.host, PEER[4])
    wait_ours(net.host, PEER[6])
    assert int(driver.call("dispatch", "dispatched")) < 10, "it spins"
