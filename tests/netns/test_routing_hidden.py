# SPDX-License-Identifier: MIT
"""What a dump of main does not show: paths that were redirected, routes too large for a message."""

import socket
import struct
import time

from netns import Daemon, checksum, wait_until, wait_window, windows
from routing_ask import (FIRST, OTHER, PEER, SECOND, SOURCES, WITHOUT_US, ask, is_as_without_us,
                         is_ours, wait_ours)
from routing_base import mac
from twins import Driver


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
    with Driver(net.host) as driver:
        assert driver.follow("set 203.0.113.0/24 40")["routes"] == 1
        redirect(net.host, net.world, PEER[4], FIRST[4], SECOND[4])
        assert driver.quiet()["left_alone"] == 1
        assert not windows(net.host)
        assert f"via {SECOND[4]} " in ask(net.host, PEER[4], "ipproto", "tcp")


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
