# SPDX-License-Identifier: MIT
"""While connections show a smaller path MTU than their link there is no route; segments keep their size."""

import contextlib
import socket

import pytest
from control import riptide_json
from netns import BY_ROUTES, Connection, Daemon, Host, join, routes, tcp_info, wait_until, wait_window, windows
from routing_ask import families

FAR = {4: "192.0.2.9", 6: "2001:db9::9"}
LINK_BYTES, NARROW_BYTES = 1500, 1300


@pytest.fixture
def connect(net):
    """A function that connects to a host behind a link with a small MTU, which announces too large an MSS."""
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(Host("far"))
        join(net.world, "eth2", host, "eth0")
        net.world.sysctl("ipv4/ip_forward", 1)
        net.world.sysctl("ipv6/conf/all/forwarding", 1)
        net.world.batch(f"""
            link set eth2 mtu {NARROW_BYTES} up
            addr add 192.0.2.1/24 dev eth2
            addr add 2001:db9::1/64 dev eth2 nodad
        """)
        host.batch(f"""
            link set eth0 mtu {NARROW_BYTES} up
            addr add 192.0.2.9/24 dev eth0
            addr add 2001:db9::9/64 dev eth0 nodad
            route add default via 192.0.2.1 advmss 1460
            route add default via 2001:db9::1 advmss 1440
        """)
        wait_until(lambda: host.is_ready() and net.world.is_ready(), "links up")
        yield lambda family: stack.enter_context(Connection(net.host, host, FAR[family]))


def starts_small(connection):
    """Whether the first flight fits the path."""
    mss_bytes = tcp_info(connection.near).mss_bytes
    connection.send(30 * mss_bytes)
    return mss_bytes < NARROW_BYTES and tcp_info(connection.near).retrans_segs == 0


def left_alone(host, address):
    """Why there is no route to it."""
    route = riptide_json(host, "show", address)["route"]
    return route and route["state"] == "left alone" and route["reason"]


@families
def test_where_a_path_is_narrow_there_is_no_route_until_its_connections_end(net, connect, family):
    first = connect(family)
    assert not starts_small(first)
    first.grow(40)
    with Daemon(net.host, *BY_ROUTES) as daemon, first.busy():
        why = "its path MTU is smaller than that of its route"
        wait_until(lambda: left_alone(net.host, FAR[family]) == why, "no route")
        assert windows(net.host) == {} and f"{FAR[family]}: left alone: {why}\n" in daemon.said()
        assert starts_small(connect(family))  # the kernel keeps what it knows


@families
def test_path_that_turns_out_to_be_narrow_loses_its_route(net, connect, family):
    """The first flight on it is too large, and with the next rounds there is no route."""
    with Daemon(net.host, *BY_ROUTES, "--cwnd-min", "20"):
        connection = connect(family)
        wait_until(lambda: windows(net.host).get(FAR[family]), "a route")
        connection.grow(40)
        wait_until(lambda: left_alone(net.host, FAR[family]) and connection.send(50_000) is None
                   and starts_small(connect(family)), "no route, and the kernel's knowledge")


@pytest.mark.parametrize("apply", ["routes", "both"])
def test_connection_by_another_link_costs_no_segments_and_only_a_route(net, daemon, apply):
    """By SO_BINDTODEVICE, over an uplink with a small MTU; any user may have it."""
    peer = "203.0.113.1"
    join(net.world, "eth3", net.host, "eth3")
    for host, address in ((net.world, "10.3.0.1"), (net.host, "10.3.0.10")):
        host.batch(f"link set eth3 mtu 1280 up\naddr add {address}/24 dev eth3\n")
    net.host.ip("route", "add", "default", "via", "10.3.0.1", "dev", "eth3", "metric", "500")
    full_bytes = tcp_info(net.learned(peer, 40).near).mss_bytes
    with daemon(apply, "--ttl", "5s"), net.world.server(peer) as listener, \
            net.host.socket(socket.AF_INET) as other:
        wait_window(net.host, peer)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth3")
        other.connect(listener.getsockname())
        assert tcp_info(other).mss_bytes < full_bytes
        wait_until(lambda: left_alone(net.host, peer) == "its path MTU is smaller than that of its route", "no route")
        assert "mtu 1280" not in net.host.ip("route", "show", "table", "7230")
        assert tcp_info(net.connect(peer).near).mss_bytes == full_bytes
        assert (net.connect(peer).cwnd() > 10) == (apply == "both")
        other.close()
        wait_until(lambda: peer in windows(net.host), "the route again")
        assert "mtu 1280" not in net.host.ip("route", "show", "table", "7230")
        assert tcp_info(net.connect(peer).near).mss_bytes == full_bytes


def test_path_that_must_fragment_carries_connections(net, driver, connect):
    """Below min_pmtu the kernel locks the learned value: packets may be fragmented, also on our
    route."""
    net.world.ip("link", "set", "eth2", "mtu", "500")
    driver.follow(f"set {FAR[4]} 40")
    connection = connect(4)
    connection.send(50_000)
    assert "mtu lock" in net.host.ip("route", "get", FAR[4], "ipproto", "tcp")
    driver.follow(f"set {FAR[4]} 80")
    connection.send(50_000)
    connect(4).send(50_000)


# An open connection's segments keep their size after the route to its peer was rewritten. The kernel removes
# the device from a deleted route, and a connection that has it cached reads the MTU of none, 68, before it looks
# up another: docs/design.md, "Our routes carry the MTU of their link".
BEHIND = {4: "198.51.100.7", 6: "2001:db8::7"}
SEGMENTS, SEGMENT_BYTES = 20, 1400  # less than fits, with any TCP options
GET_MTU = {4: (0, 14), 6: (41, 24)}  # IP_MTU, IPV6_MTU: that of a segment sent now


def give(host, driver, dst, cwnd):
    """Sets a window, and waits until the former route is freed, as removing a link does."""
    driver.follow(f"set {dst} {cwnd}")
    assert windows(host).get(dst, 0) == cwnd
    host.ip("link", "add", "gone", "type", "veth")
    host.ip("link", "del", "gone")


def segments_of(connection):
    """The number of segments into which it divides the data."""
    before = tcp_info(connection.near).data_segs_out
    connection.send(SEGMENTS * SEGMENT_BYTES)
    return tcp_info(connection.near).data_segs_out - before


@families
def test_are_as_large_after_a_new_window_and_after_withdrawal(net, driver, family):
    give(net.host, driver, BEHIND[family], 20)
    connection = net.connect(BEHIND[family])
    assert segments_of(connection) == SEGMENTS
    for cwnd in (40, 80, 0):
        give(net.host, driver, BEHIND[family], cwnd)
        assert connection.near.getsockopt(*GET_MTU[family]) == LINK_BYTES
        assert segments_of(connection) == SEGMENTS


@families
def test_fit_a_link_whose_mtu_changes(net, driver, family):
    """As without us, once Riptide has followed."""
    give(net.host, driver, BEHIND[family], 20)
    connection = net.connect(BEHIND[family])
    assert segments_of(connection) == SEGMENTS
    for link_bytes in (SEGMENT_BYTES, LINK_BYTES):
        net.host.ip("link", "set", "eth0", "mtu", str(link_bytes))
        driver.quiet()
        assert f"'mtu': {link_bytes}" in str(routes(net.host)[BEHIND[family]]["metrics"])
        segments_of(connection)  # its first segment replaces its cached route
        assert connection.near.getsockopt(*GET_MTU[family]) == link_bytes
        assert (segments_of(connection) == SEGMENTS) == (link_bytes == LINK_BYTES)
        assert net.connect(BEHIND[family]) and segments_of(net.connections[-1]) >= SEGMENTS
