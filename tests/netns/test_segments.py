# SPDX-License-Identifier: MIT
"""An open connection's segments keep their size after the route to its peer was rewritten. The
kernel removes the device from a deleted route, and a connection that has it cached reads the MTU of
none, 68, before it looks up another: docs/design.md, "Our routes carry the MTU of their link".
"""

from netns import routes, tcp_info, windows
from routing_ask import families

PEER = {4: "198.51.100.7", 6: "2001:db8::7"}
SEGMENTS, SEGMENT_BYTES = 20, 1400  # less than fits, with any TCP options
LINK_BYTES, NARROW_BYTES = 1500, 1400
GET_MTU = {4: (0, 14), 6: (41, 24)}  # IP_MTU, IPV6_MTU


def give(host, driver, dst, cwnd):
    """Sets a window, and waits until the former route is freed."""
    driver.follow(f"set {dst} {cwnd}")
    assert windows(host).get(dst, 0) == cwnd
    forget(host)


def forget(host):
    """Waits until the kernel has freed deleted routes, as removing a link does."""
    host.ip("link", "add", "gone", "type", "veth")
    host.ip("link", "del", "gone")


def mtu_of(connection, family):
    """The MTU that the connection would use if it sent now."""
    return connection.near.getsockopt(*GET_MTU[family])


def segments_of(connection):
    """The number of segments into which it divides the data."""
    before = tcp_info(connection.near).data_segs_out
    connection.send(SEGMENTS * SEGMENT_BYTES)
    return tcp_info(connection.near).data_segs_out - before


@families
def test_are_as_large_after_a_new_window_and_after_withdrawal(net, driver, family):
    give(net.host, driver, PEER[family], 20)
    connection = net.connect(PEER[family])
    assert segments_of(connection) == SEGMENTS
    for cwnd in (40, 80, 0):
        give(net.host, driver, PEER[family], cwnd)
        assert mtu_of(connection, family) == LINK_BYTES
        assert segments_of(connection) == SEGMENTS


@families
def test_fit_a_link_whose_mtu_changes(net, driver, family):
    """As without us, once Riptide has followed."""
    give(net.host, driver, PEER[family], 20)
    connection = net.connect(PEER[family])
    assert segments_of(connection) == SEGMENTS
    for link_bytes in (NARROW_BYTES, LINK_BYTES):
        net.host.ip("link", "set", "eth0", "mtu", str(link_bytes))
        driver.quiet()
        assert f"'mtu': {link_bytes}" in str(routes(net.host)[PEER[family]]["metrics"])
        segments_of(connection)  # its first segment replaces its cached route
        assert mtu_of(connection, family) == link_bytes
        assert (segments_of(connection) == SEGMENTS) == (link_bytes == LINK_BYTES)
        assert net.connect(PEER[family]) and segments_of(net.connections[-1]) >= SEGMENTS
