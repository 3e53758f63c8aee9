# SPDX-License-Identifier: MIT
"""Links that go, come back or are revived: local TCP goes the way that it goes without us."""

import pytest
from netns import Daemon, wait_until
from routing_ask import OTHER, PEER, WITHOUT_US, ask, families, wait_as_without_us, wait_ours
from routing_base import default_line, mac
from twins import Driver, Side


@pytest.fixture
def lines():
    """A host with several links, and what runs ip(8) lines on it."""
    side = Side("lines")
    side.settle()
    yield side
    side.close()


@families
def test_sysctl_that_revives_a_dead_link_is_followed(lines, family):
    host, dst = lines.host, OTHER[family]
    lines.shell.run(f"{default_line(family, 'add', 1)} metric 2000")
    host.sysctl(f"ipv{family}/conf/all/ignore_routes_with_linkdown", 1)
    lines.shell.run("ip link set far0 down")
    lines.settle()
    with Driver(host) as driver:
        driver.follow(f"set {dst} 40")
        assert "dev eth1 " in ask(host, dst, *WITHOUT_US)
        wait_ours(host, dst)
        host.sysctl(f"ipv{family}/conf/all/ignore_routes_with_linkdown", 0)
        assert "dev eth0 " in ask(host, dst, *WITHOUT_US)
        wait_as_without_us(host, dst)


def test_host_that_begins_to_forward_is_followed(lines):
    """A host that forwards does not pass a failed IPv6 gateway over."""
    host, dst = lines.host, OTHER[6]
    for line in (f"{default_line(6, 'add', 1)} metric 2000",
                 f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud stale",
                 f"ip neigh replace fd00::1 dev eth0 lladdr {mac(16)} nud failed"):
        lines.shell.run(line)
    with Driver(host) as driver:
        driver.follow(f"set {dst} 40")
        assert "dev eth1 " in ask(host, dst, *WITHOUT_US)
        host.sysctl("ipv6/conf/all/forwarding", 1)
        assert "dev eth0 " in ask(host, dst, *WITHOUT_US)
        wait_as_without_us(host, dst)


@families
def test_link_that_lost_its_carrier_and_came_back_is_used_again(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        net.world.ip("link", "set", "eth0", "down")
        wait_as_without_us(net.host, PEER[family])
        net.world.ip("link", "set", "eth0", "up")
        wait_until(net.host.is_ready, "carrier")
        wait_ours(net.host, PEER[family])
