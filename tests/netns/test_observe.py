# SPDX-License-Identifier: MIT
"""`riptide observe` against real connections, with ss(8) as the witness."""

import collections
import socket

import pytest
from netns import AS_NOBODY, Connection, observe, ss


def mixed_connections(net):
    """Quiet connections of all kinds to three destinations; their windows differ."""
    for congestion, cwnd in (("reno", 12), ("cubic", 35), ("bbr", 70)):
        net.learned("203.0.113.1", cwnd, congestion=congestion)
        net.learned("203.0.113.1", cwnd + 20, congestion=congestion, mapped=True)
        net.learned("203.0.113.2", cwnd, congestion=congestion, passive=True, mapped=True)
        net.learned("2001:db8::1", cwnd, congestion=congestion)
        net.learned("2001:db8::1", cwnd + 20, congestion=congestion, passive=True)


def test_mean_equals_what_ss_says(net):
    mixed_connections(net)
    windows = collections.defaultdict(list)
    for peer, cwnd, _ in ss(net.host):
        windows[peer].append(cwnd)
    assert sorted(len(group) for group in windows.values()) == [3, 6, 6]

    seen = observe(net.host)

    assert seen.keys() == windows.keys()
    for peer, group in windows.items():
        assert seen[peer]["connections"] == len(group)
        assert seen[peer]["cwnd_mean"] == pytest.approx(sum(group) / len(group), abs=0.06)


def test_reports_the_congestion_controls_that_are_there(net):
    mixed_connections(net)
    assert {congestion for _, _, congestion in ss(net.host)} == {"reno", "cubic", "bbr"}


def test_listeners_and_closed_connections_do_not_count(net):
    net.learned("203.0.113.1")
    connection = net.learned("203.0.113.2")
    with net.host.socket(socket.AF_INET) as listener:
        listener.listen()
        connection.near.close()
        connection.far.close()
        net.connections.remove(connection)
        assert observe(net.host).keys() == {"203.0.113.1"}


def link_local_of(host):
    found = host.ip("-6", "-o", "addr", "show", "dev", "eth0", "scope", "link")
    return found.split()[3].partition("/")[0]


@pytest.mark.parametrize("address, source", [
    ("127.0.0.1", None),
    ("127.9.9.9", None),
    ("::1", None),
    ("10.0.0.10", None),
    ("10.0.1.10", "10.0.0.10"),
    ("fd00::10", None),
    ("fd00:0:0:1::10", "fd00::10"),
])
def test_peers_on_the_host_itself_are_left_out(net, address, source):
    net.learned("203.0.113.1")
    own = Connection(net.host, net.host, address, source=source)
    net.connections.append(own)
    assert {peer for peer, _, _ in ss(net.host)} > {"203.0.113.1"}
    assert observe(net.host).keys() == {"203.0.113.1"}


def test_own_address_that_came_later_is_left_out(net):
    net.learned("203.0.113.1")
    net.learned("203.0.113.2")
    net.host.ip("addr", "add", "203.0.113.2/32", "dev", "lo")
    assert observe(net.host).keys() == {"203.0.113.1"}


def test_link_local_peers_are_left_out(net):
    net.host.ip("addr", "add", "169.254.7.1/24", "dev", "eth0")
    net.world.ip("addr", "add", "169.254.7.2/24", "dev", "eth0")
    net.learned("203.0.113.1")
    net.connect("169.254.7.2")
    net.connect(link_local_of(net.world) + "%eth0")
    assert len(ss(net.host)) == 3
    assert observe(net.host).keys() == {"203.0.113.1"}


def test_without_privilege_shows_the_same_as_root(net):
    mixed_connections(net)
    as_root = observe(net.host)
    assert len(as_root) == 3
    assert observe(net.host, prefix=AS_NOBODY) == as_root


@pytest.mark.parametrize("prefix, expected", [
    ("203.0.113.0/31", {"203.0.113.1"}),
    ("203.0.113.2", {"203.0.113.2"}),
    ("2001:db8::/32", {"2001:db8::1"}),
    ("192.0.2.0/24", set()),
])
def test_prefixes_choose_destinations(net, prefix, expected):
    for address in ("203.0.113.1", "203.0.113.2", "2001:db8::1"):
        net.learned(address)
    assert observe(net.host, prefix).keys() == expected


def test_other_namespaces_are_not_seen(net):
    net.learned("203.0.113.1")
    assert observe(net.host).keys() == {"203.0.113.1"}
    assert observe(net.world).keys() == {"10.0.0.10"}
