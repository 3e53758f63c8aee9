# SPDX-License-Identifier: MIT
"""`riptide observe` on real connections, compared with ss(8)."""

import collections
import contextlib
import socket

import pytest
from netns import AS_NOBODY, Connection, observe, ss


def mixed_connections(net):
    """Idle connections of all kinds to three destinations, with different windows."""
    for congestion, cwnd in (("reno", 12), ("cubic", 35), ("bbr", 70)):
        net.learned("203.0.113.1", cwnd, congestion=congestion)
        net.learned("203.0.113.1", cwnd + 20, congestion=congestion, mapped=True)
        net.learned("203.0.113.2", cwnd, congestion=congestion, passive=True, mapped=True)
        net.learned("2001:db8::1", cwnd, congestion=congestion)
        net.learned("2001:db8::1", cwnd + 20, congestion=congestion, passive=True)


def test_mean_of_established_connections_equals_what_ss_says(net):
    mixed_connections(net)
    net.short("203.0.113.3")
    windows = collections.defaultdict(list)
    for peer, cwnd in ss(net.host):
        windows[peer].append(cwnd)
    assert sorted(len(group) for group in windows.values()) == [3, 6, 6]

    with net.host.server():
        seen = observe(net.host)
        assert observe(net.host, prefix=AS_NOBODY) == seen
    assert seen.keys() == windows.keys()
    for peer, group in windows.items():
        assert seen[peer]["connections"] == len(group)
        assert seen[peer]["cwnd_mean"] == pytest.approx(sum(group) / len(group), abs=0.06)


def test_one_that_closes_with_its_last_data_is_seen_while_these_are_under_way(net):
    near = net.learned("203.0.113.1").near
    with contextlib.suppress(BlockingIOError):  # as nobody reads
        while True:
            near.send(bytes(1 << 16))
    near.shutdown(socket.SHUT_WR)
    assert "203.0.113.1" in net.host.run("ss", "-tnH", "state", "fin-wait-1").stdout and not ss(net.host)
    assert observe(net.host)["203.0.113.1"]["connections"] == 1


def link_local_of(host):
    found = host.ip("-6", "-o", "addr", "show", "dev", "eth0", "scope", "link")
    return found.split()[3].partition("/")[0]


OWN = (("127.0.0.1", None), ("127.9.9.9", None), ("::1", None), ("10.0.0.10", None),
       ("10.0.1.10", "10.0.0.10"), ("fd00::10", None), ("fd00:0:0:1::10", "fd00::10"))


def test_peers_on_the_host_itself_and_link_local_ones_are_left_out(net):
    for host, address in ((net.host, "169.254.7.1/24"), (net.world, "169.254.7.2/24")):
        host.ip("addr", "add", address, "dev", "eth0")
    net.learned("203.0.113.1")
    net.learned("203.0.113.2")
    net.host.ip("addr", "add", "203.0.113.2/32", "dev", "lo")
    for address in ("169.254.7.2", link_local_of(net.world) + "%eth0"):
        net.connect(address)
    for address, source in OWN:
        net.connections.append(Connection(net.host, net.host, address, source=source))
    assert len(ss(net.host)) == 4 + 2 * len(OWN)
    assert observe(net.host).keys() == {"203.0.113.1"}
