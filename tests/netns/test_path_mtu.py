"""A path MTU that the kernel has learned stays known: new connections send nothing too large."""

import pytest

from netns import Connection, Daemon, Host, join, routes, tcp_info, wait_until, wait_window, windows

FAR = {4: "192.0.2.9", 6: "2001:db9::9"}
NARROW_BYTES = 1300
families = pytest.mark.parametrize("family", [4, 6], ids=["IPv4", "IPv6"])


@pytest.fixture
def far(net):
    """A host behind a narrow link of the world, which offers segments that are too large for it."""
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

    def connect(family):
        opened.append(Connection(net.host, far, FAR[family]))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


def starts_small(connection):
    """Whether the first flight fits the path."""
    mss_bytes = tcp_info(connection.near).mss_bytes
    connection.send(30 * mss_bytes)
    return mss_bytes < NARROW_BYTES and tcp_info(connection.near).retrans_segs == 0


@families
def test_without_riptide_the_first_flight_is_too_large(connect, family):
    assert not starts_small(connect(family))
    assert starts_small(connect(family))


@families
def test_what_was_learned_before_our_route_stays_known(net, connect, family):
    connect(family).grow(40)
    with Daemon(net.host):
        assert wait_window(net.host, FAR[family]) >= 40
        assert starts_small(connect(family))


@families
def test_what_was_learned_on_our_route_survives_a_new_window(net, connect, family):
    with Daemon(net.host, "--history-weight", "0"):
        connection = connect(family)
        assert wait_window(net.host, FAR[family]) == 10
        for cwnd in (20, 40, 80):
            connection.grow(cwnd)
            wait_until(lambda: windows(net.host)[FAR[family]] >= cwnd * 0.9, "the new window")
            assert starts_small(connect(family))


@families
def test_what_was_learned_on_one_path_is_not_taken_to_another(net, connect, family):
    """The route goes on which it was learned, and with it what the kernel alone would know."""
    prefix, gateways = {4: ("192.0.2.0/24", ("10.0.0.2", "10.0.0.1")),
                        6: ("2001:db9::/48", ("fd00::2", "fd00::1"))}[family]
    net.host.ip("route", "add", prefix, "via", gateways[0])
    with Daemon(net.host):
        connection = connect(family)
        wait_window(net.host, FAR[family])
        connection.grow(40)
        assert starts_small(connect(family))
        net.host.ip("route", "del", prefix)
        route = wait_until(lambda: routes(net.host)[FAR[family]]["gateway"] == gateways[1]
                           and routes(net.host)[FAR[family]], "the other path")
        assert "mtu" not in str(route["metrics"]), route
