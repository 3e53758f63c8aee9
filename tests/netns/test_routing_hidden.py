# SPDX-License-Identifier: MIT
"""What a dump of main does not show: redirects, and routes that are too large for a message."""

import socket
import struct
import time

from netns import Daemon, wait_until, wait_window
from routing_ask import FIRST, PEER, SECOND, WITHOUT_US, ask, is_as_without_us, is_ours, wait_ours
from routing_base import mac
from twins import Driver

BETTER, UNKNOWN = "10.0.0.77", "192.0.2.7"  # another router of the first link, and who is behind it


def test_router_redirects_tcp_on_our_route_as_without_us(net, driver):
    """Where a host accepts it. The route itself stays as it is."""
    for host in (net.host, net.world):
        host.ip("neigh", "replace", BETTER, "dev", "eth0", "lladdr", mac(77), "nud", "permanent")
    net.host.sysctl("ipv4/conf/eth0/accept_redirects", 1)
    net.world.sysctl("ipv4/ip_forward", 1)
    net.world.ip("route", "add", UNKNOWN, "via", BETTER)
    driver.follow(f"set {UNKNOWN} 40")
    with net.host.socket(socket.AF_INET) as opening:
        opening.setblocking(False)
        opening.connect_ex((UNKNOWN, 9))
        wait_until(lambda: f"via {BETTER} " in ask(net.host, UNKNOWN, "ipproto", "tcp"), "redirected")
        assert f"via {BETTER} " not in ask(net.host, UNKNOWN, *WITHOUT_US)
        # What was learned goes with the route: the first gateway forwards, and tells again.
        driver.follow(f"set {UNKNOWN} 80")
        assert f"via {FIRST[4]} " in ask(net.host, UNKNOWN, "ipproto", "tcp")


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
        wait_until(lambda: TOO_LARGE in daemon.said(), "the reason")
        assert not is_ours(net.host, PEER[4])
        wait_ours(net.host, PEER[6])
        net.host.ip("route", "replace", "default", "via", SECOND[4])
        wait_until(lambda: "IPv4: on again" in daemon.said(), "on again")
        wait_ours(net.host, PEER[4])


def test_route_too_large_for_a_message_does_not_keep_the_other_family_out(net):
    put_huge_route(net.host, "192.0.2.0/24")
    with Driver(net.host) as driver:
        driver.send(f"set {PEER[family]} 40" for family in (4, 6))
        driver.quiet()
        wait_ours(net.host, PEER[6])
        assert not is_ours(net.host, PEER[4])
        net.host.ip("route", "del", "192.0.2.0/24")
        wait_ours(net.host, PEER[4])


def test_main_that_cannot_be_read_to_its_end_turns_us_off(net):
    """What hides behind the route that ends the dump may be inside a prefix of ours."""
    net.learned(PEER[4], 30)
    with Daemon(net.host, "--aggregate", "203.0.113.0/24") as daemon:
        wait_window(net.host, "203.0.113.0/24")
        wait_ours(net.host, PEER[4])
        put_huge_route(net.host, "192.0.2.0/24")
        net.host.ip("route", "add", "203.0.113.128/25", "via", SECOND[4])
        wait_until(lambda: TOO_LARGE in daemon.said(), "the reason")
        for dst in (PEER[4], "203.0.113.200"):
            assert is_as_without_us(net.host, dst)
        before = cpu_ticks(daemon)
        time.sleep(0.5)
        assert cpu_ticks(daemon) - before < 10, "it spins"
        net.host.ip("route", "del", "192.0.2.0/24")
        wait_until(lambda: "IPv4: on again" in daemon.said(), "on again")
