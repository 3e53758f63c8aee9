# SPDX-License-Identifier: MIT
"""Routing that a dump of main does not show: redirects, and routes too large for a message."""

import re
import socket
import struct

import pytest

from netns import wait_until
from routing_ask import FIRST, PEER, ask, is_as_without_us, is_ours, wait_ours
from routing_base import mac

# Another router on the first link, and the destination behind it.
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
    shown = net.world.ip("-6", "-o", "addr", "show", "dev", "eth0", "scope", "link")
    router = re.search(r"inet6 (\S+)/64", shown).group(1)  # the sender of redirects

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
