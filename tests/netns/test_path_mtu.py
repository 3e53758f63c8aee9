# SPDX-License-Identifier: MIT
"""A path MTU that the kernel has learned stays known: new connections send no larger packets."""

import contextlib

import pytest

from netns import (Connection, Daemon, Host, join, metric, routes, tcp_info, wait_until, wait_window,
                   windows)
from routing_ask import FIRST, SECOND, families

FAR = {4: "192.0.2.9", 6: "2001:db9::9"}
PREFIX = {4: "192.0.2.0/24", 6: "2001:db9::/48"}
LINK_BYTES, NARROW_BYTES = 1500, 1300


@pytest.fixture
def far(net):
    """A host behind a link of the world with a small MTU, which announces too large an MSS."""
    host = Host("far")
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
    yield host
    host.close()


@pytest.fixture
def connect(net, far):
    opened = []

    def connect(family, addresses=FAR):
        opened.append(Connection(net.host, far, addresses[family]))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


def mtu_of(host, address):
    """The MTU of a new TCP connection; 0: the link's."""
    return mtu_in(host.ip_json("route", "get", address, "ipproto", "tcp")[0])


def mtu_in(route):
    """The mtu of a route as ip -j prints it; 0: none, or that of its link."""
    found = metric(route, "mtu")
    return 0 if found == LINK_BYTES else found or 0


def starts_small(connection):
    """Whether the first flight fits the path."""
    mss_bytes = tcp_info(connection.near).mss_bytes
    connection.send(30 * mss_bytes)
    return mss_bytes < NARROW_BYTES and tcp_info(connection.near).retrans_segs == 0


@families
def test_what_was_learned_before_our_route_stays_known(net, connect, family):
    """Without Riptide only the very first flight is too large."""
    first = connect(family)
    assert not starts_small(first)
    assert starts_small(connect(family))
    first.grow(40)
    with Daemon(net.host):
        wait_window(net.host, FAR[family])
        assert starts_small(connect(family))


@families
@pytest.mark.parametrize("is_of_main", [False, True])
def test_what_was_learned_on_our_route_survives_a_new_window(net, far, connect, family, is_of_main):
    """Also if another route of main has the same MTU."""
    if is_of_main:
        net.host.ip("route", "add", {4: "198.18.0.0/16", 6: "2001:db8:18::/48"}[family], "via",
                    FIRST[family], "mtu", NARROW_BYTES)
    with Daemon(net.host, "--history-weight", "0"):
        connection = connect(family)
        assert wait_window(net.host, FAR[family]) == 10
        # Less than a burst of 64 KB, acknowledged at once: Linux 6.12 grows only full windows.
        for cwnd in (15, 25, 45):
            connection.grow(cwnd)
            wait_until(lambda: windows(net.host)[FAR[family]] >= cwnd * 0.9, "the new window")
            # Closed, as an open one counts: on Linux 5.10 and 6.1 its window stays as at the start.
            with contextlib.closing(Connection(net.host, far, FAR[family])) as another:
                assert starts_small(another)


@families
def test_what_was_learned_on_one_path_is_not_taken_to_another(net, connect, family):
    """The route of that path is removed, and with it the kernel's own cached value."""
    net.host.ip("route", "add", PREFIX[family], "via", SECOND[family])
    with Daemon(net.host):
        connection = connect(family)
        wait_window(net.host, FAR[family])
        connection.grow(40)
        assert starts_small(connect(family))
        net.host.ip("route", "del", PREFIX[family])
        route = wait_until(lambda: routes(net.host)[FAR[family]]["gateway"] == FIRST[family]
                           and routes(net.host)[FAR[family]], "the other path")
        assert mtu_in(route) == 0, route


@families
def test_route_says_what_connections_have_found(net, driver, family):
    """If it is smaller than without; only for hosts, and never above the link's MTU."""
    far, prefix = FAR[family], PREFIX[family]
    for words, mtu in ((f"{far} 40 0 0 {NARROW_BYTES}", NARROW_BYTES), (f"{far} 40", 0),
                       (f"{far} 40 0 0 {LINK_BYTES}", 0), (f"{far} 40 0 0 9000", 0),
                       (f"{prefix} 40 0 0 {NARROW_BYTES}", 0)):
        driver.follow(f"set {words}")
        assert mtu_in(routes(net.host)[words.split()[0]]) == mtu, words


@families
def test_path_that_has_grown_is_found_when_its_mtu_is_let_go(net, far, driver, connect, family):
    driver.follow(f"set {FAR[family]} 40 0 0 {NARROW_BYTES}")
    assert starts_small(connect(family))
    for host, link in ((net.world, "eth2"), (far, "eth0")):
        host.ip("link", "set", link, "mtu", str(LINK_BYTES))
    assert tcp_info(connect(family).near).mss_bytes < NARROW_BYTES
    driver.follow(f"set {FAR[family]} 40")
    connection = connect(family)
    assert tcp_info(connection.near).mss_bytes > NARROW_BYTES
    connection.send(50_000)
    assert tcp_info(connection.near).retrans_segs == 0


@families
def test_mtu_goes_with_the_base_route(net, driver, family):
    """The MTU through another gateway is unknown, until the learned one was discarded."""
    shown, second = f"set {FAR[family]} 40 0 0 {NARROW_BYTES}", SECOND[family]
    driver.follow(shown)
    assert mtu_of(net.host, FAR[family]) == NARROW_BYTES
    net.host.ip(f"-{family}", "route", "replace", "default", "via", second)
    wait_until(lambda: driver.quiet() and routes(net.host)[FAR[family]]["gateway"] == second,
               "the other gateway")
    assert mtu_of(net.host, FAR[family]) == 0
    driver.follow(shown)
    assert mtu_of(net.host, FAR[family]) == 0
    driver.follow(f"set {FAR[family]} 40", shown)
    assert mtu_of(net.host, FAR[family]) == NARROW_BYTES


def test_what_is_learned_while_a_destination_is_left_alone_is_not_kept(net, driver):
    """It may belong to another route than the later base route."""
    rule = ("to", FAR[4], "ipproto", "tcp", "lookup", "100")
    net.host.ip("route", "add", "default", "via", "10.0.0.2", "table", "100")
    net.host.ip("rule", "add", *rule)
    assert driver.follow(f"set {FAR[4]} 40 0 0 {NARROW_BYTES}")["left_alone"] == 1
    net.host.ip("rule", "del", *rule)
    assert driver.quiet()["routes"] == 1
    assert mtu_of(net.host, FAR[4]) == 0


def test_headers_of_a_tunnel_are_not_taken_off_again_and_again(net):
    """They are subtracted from a route's mtu: connections report less than the route has."""
    peer, segment = "2001:db8::77", "fd00::99"
    for host in (net.host, net.world):
        for link in ("all", "eth0"):
            host.sysctl(f"ipv6/conf/{link}/seg6_enabled", 1)
    for host, words in ((net.world, f"{segment}/128 encap seg6local action End.DT6 table 255 dev eth0"),
                        (net.host, f"{segment}/128 via fd00::1"),
                        (net.host, f"2001:db8::/32 encap seg6 mode encap segs {segment} dev eth0")):
        done = host.run("ip", "-6", "route", "add", *words.split(), check=False)
        if done.returncode != 0:
            pytest.skip(f"this kernel lacks it: {done.stderr.strip()}")
    first = net.connect(peer)
    without_bytes = tcp_info(first.near).mss_bytes
    with first.busy(), Daemon(net.host):
        wait_window(net.host, peer)
        # Open connections may keep their route: IPv6 does not look up ours for them.
        second = net.connect(peer)
        with second.busy():
            for other in ("198.51.100.7", "198.51.100.8", "198.51.100.9"):  # one round each
                net.learned(other)
                wait_window(net.host, other)
            wait_until(lambda: mtu_in(routes(net.host)[peer]) == 0, "the mtu of the link")
            wait_until(lambda: tcp_info(second.near).mss_bytes == without_bytes, "its segments")


@pytest.mark.parametrize("dst", [FAR[4], PREFIX[4]], ids=["host", "prefix"])
def test_path_that_must_fragment_carries_connections(net, far, driver, connect, dst):
    """Below min_pmtu the kernel locks the learned value: packets may be fragmented, also on our
    route."""
    net.world.ip("link", "set", "eth2", "mtu", "500")
    driver.follow(f"set {dst} 40")
    connection = connect(4)
    connection.send(50_000)
    assert "mtu lock" in net.host.ip("route", "get", FAR[4], "ipproto", "tcp")
    driver.follow(f"set {dst} 80")
    connection.send(50_000)
    connect(4).send(50_000)
