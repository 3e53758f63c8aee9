# SPDX-License-Identifier: MIT
"""Changes of routing that the kernel announces to nobody: followed by the next round, or no matter."""

import signal
import socket
import struct
import time

import pytest

from netns import MARK, Host, join, wait_until
from routing_base import default_line, mac
from rtnetlink import Batch, Reader, Rtnetlink, is_alike, link_mtus, query
from twins import Driver, Side

DSTS = [f"2001:db8::{n:x}" for n in range(1, 200)]
ALL_NODES = "ff02::1"
IPV6_MULTICAST_IF, IPV6_MULTICAST_HOPS = 17, 18
MAX_TURNS = 30  # a busy machine may sleep through a hundredth of a second


class Advertised:
    """A host whose default route a router has advertised."""

    def __init__(self):
        self.host, self.router = Host("host"), Host("router")
        join(self.host, "eth0", self.router, "eth0")
        self.host.sysctl("ipv6/conf/eth0/accept_ra", 1)
        self.router.sysctl("ipv6/conf/all/forwarding", 1)
        self.router.batch("link set eth0 addrgenmode none up\naddr add fe80::1/64 dev eth0 nodad")
        self.host.ip("link", "set", "eth0", "up")
        wait_until(lambda: self.host.is_ready() and self.router.is_ready(), "links up")
        self.link = Rtnetlink(self.host)
        self.advertise()
        self.driver = Driver(self.host).wait_ready()
        self.driver.send(f"set {dst} 40" for dst in DSTS)
        self.driver.quiet()
        assert self.driver.stats["routes"] == len(DSTS)
        assert self.differing() == 0

    def close(self):
        self.driver.kill()
        self.link.close()
        for host in (self.host, self.router):
            host.close()

    def advertise(self, lifetime_s=1800, hop_limit=64, mtu_bytes=0):
        """Returns once the host has heard of it."""
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
        """Of its time some has passed; a minute divides the long ones from the short ones."""
        for route in self.host.ip_json("-6", "route", "show", "default"):
            metrics = {key: value for entry in route["metrics"] for key, value in entry.items()}
            return (metrics.get("hoplimit") == hop_limit and metrics.get("mtu", 0) == mtu_bytes
                    and (route["expires"] > 60) == (lifetime_s > 60)
                    and route["expires"] <= lifetime_s)
        return False

    def differing(self):
        """How many destinations TCP reaches otherwise than without us, lifetimes included."""
        reader = Reader()
        ours, base = ([reader.read(raw, True) for raw in self.link.ask(
            Batch([query(dst, True, mark=mark) for dst in DSTS]))] for mark in (None, MARK))
        mtus = link_mtus(self.link)
        return sum(not is_alike(a, b, mtus) for a, b in zip(ours, base))


@pytest.fixture
def advertised():
    network = Advertised()
    yield network
    network.close()


@pytest.mark.parametrize("change", [{"hop_limit": 33}, {"mtu_bytes": 1400}],
                         ids=["hop limit", "MTU"])
def test_next_advertisement_is_followed_by_the_next_round(advertised, change):
    if "mtu_bytes" in change:  # less than they have the kernel gives to all routes, ours too
        advertised.advertise(mtu_bytes=1300)
        advertised.driver.quiet()
    events = advertised.driver.stats["events"]
    advertised.advertise(**change)
    assert advertised.differing() == len(DSTS)
    advertised.driver.quiet()
    assert advertised.differing() == 0
    assert advertised.driver.stats["routes"] == len(DSTS)
    assert advertised.driver.stats["events"] == events, "the kernel does announce it"


def test_routes_go_before_their_base_ends_and_return_when_it_is_refreshed(advertised):
    """Ours have none; neither is announced. Rounds without news ask for one destination, and for
    few of those whose base ends."""
    driver = advertised.driver
    events = driver.stats["events"]
    for lifetime_s, n_routes, n_asked in ((60, len(DSTS), 1), (8, 0, 16), (1800, len(DSTS), 1)):
        advertised.advertise(lifetime_s=lifetime_s)
        before = dict(driver.quiet())
        assert before["routes"] == n_routes, lifetime_s
        assert advertised.differing() == 0
        after = driver.quiet()
        assert 0 < after["resolved"] - before["resolved"] <= n_asked
        assert after["written"] == before["written"]
    assert driver.stats["events"] == events, "the kernel does announce it"


def test_mtu_of_a_link_that_ipv6_alone_gets_is_followed_by_the_next_round(advertised):
    """By a sysctl, as by an advertisement: for routes whose own mtu nobody has said."""
    host, driver = advertised.host, advertised.driver
    host.ip("-6", "route", "replace", "default", "via", "fe80::1", "dev", "eth0", "metric", "1")
    driver.quiet()
    for mtu_bytes in (1400, 1300, 1450):
        host.sysctl("ipv6/conf/eth0/mtu", mtu_bytes)
        assert advertised.differing() == len(DSTS)
        driver.quiet()
        assert advertised.differing() == 0
        assert advertised.driver.stats["routes"] == len(DSTS)


def test_neighbour_that_is_asked_for_again_makes_no_difference():
    """While it is, main leads through a gateway that has failed before; nobody is told."""
    side = Side("lines")
    link = Rtnetlink(side.host)
    reader = Reader()

    def gateway(mark):
        raw, = link.ask(Batch([query(DSTS[0], True, mark=mark)]))
        return reader.read(raw, True)

    def is_same():
        return is_alike(gateway(None), gateway(MARK), link_mtus(link))

    side.settle()
    for line in (f"{default_line(6, 'add', 1)} metric 2000",
                 f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud stale",
                 f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud failed"):
        side.shell.run(line)
    with Driver(side.host) as driver:
        driver.follow(f"set {DSTS[0]} 40")
        around = str(gateway(MARK)[0])
        with side.host.entered(), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
            udp.sendto(b"", ("fd00::1", 9))
        assert str(gateway(MARK)[0]) != around, "the kernel does not ask for it again"
        assert is_same()
        side.shell.run(f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud reachable")
        wait_until(lambda: driver.quiet()["routes"] == 1, "a route of ours again")
        assert is_same()
        link.close()
        side.close()


def test_route_in_its_last_moment_is_not_taken_for_one_that_stays():
    """It shows a lifetime of 0 then, as one without: asked for just then, as for an event."""
    side = Side("lines")
    link = Rtnetlink(side.host)
    reader = Reader()
    question = Batch([query(DSTS[0], True, mark=MARK)])
    side.settle()
    driver = Driver(side.host).wait_ready()

    def base():
        """The length of the prefix that main leads by, and its time left, 1/100 s."""
        route, expires = reader.read(*link.ask(question), True)
        return route.dst[2], expires

    n_seen = 0
    try:
        for n in range(MAX_TURNS):
            lifetime_s = 1 + n % 2
            driver.process.send_signal(signal.SIGSTOP)  # it never sees the whole of it
            for line in (f"ip -6 route replace 2001:db8::/32 via fd00::2 dev eth0 expires {lifetime_s}",
                         f"ip -6 route replace 2001:db8::/24 via fd00::{1 + n % 3} dev eth0"):
                side.shell.run(line)
            wait_until(lambda: base()[1] < 100 * lifetime_s, "the first hundredth to pass")
            driver.process.send_signal(signal.SIGCONT)
            driver.send([f"set {DSTS[0]} 40"])
            driver.quiet()
            while base() > (32, 0):
                time.sleep(max(0, base()[1] / 100 - 0.02))
            n_seen += base() == (32, 0)
            side.shell.run(f"ip -6 route replace 2001:db8::/24 via fd00::{2 + n % 3} dev eth0")
            wait_until(lambda: base()[0] == 24, "its end")
            driver.quiet()
            driver.quiet()
            ours, without_us = (reader.read(*link.ask(batch), True)
                                for batch in (Batch([query(DSTS[0], True)]), question))
            assert is_alike(ours, without_us, link_mtus(link)), \
                f"turn {n}: {ours[0]}, but {without_us[0]}; {driver.routes}"
            if n_seen and n >= 2:
                break
    finally:
        driver.kill()
        link.close()
        side.close()
    assert n_seen
