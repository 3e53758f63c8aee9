# SPDX-License-Identifier: MIT
"""TCP_INFO of new connections, after riptided has learned from others; and the
owner's own windows are where destinations begin, and the least that they get."""

import pytest
from control import derived, riptide_json, status
from netns import BY_ROUTES, RIPTIDE, Daemon, wait_until, wait_window, windows
from routing_ask import FIRST, PEER, families


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("addresses, mapped", [
    (("203.0.113.1", "203.0.113.2", "203.0.113.3"), False),
    (("203.0.113.1", "203.0.113.2", "203.0.113.3"), True),
    (("2001:db8::1", "2001:db8::2", "2001:db8::3"), False),
], ids=["IPv4", "mapped", "IPv6"])
def test_new_connection_starts_with_the_learned_window_of_its_own_destination(net, addresses, mapped,
                                                                              passive):
    """Windows of destinations behind one gateway do not mix."""
    first, second, third = addresses
    small, large = net.learned(first, 20).cwnd(), net.learned(second, 60).cwnd()
    assert 20 <= small < large <= 100
    without_us = net.connect(first, passive=passive, mapped=mapped)
    assert without_us.cwnd() == 10
    net.reset(without_us)
    with Daemon(net.host, *BY_ROUTES):
        assert (wait_window(net.host, first), wait_window(net.host, second)) == (small, large)
        for address, cwnd in ((first, small), (second, large), (third, 10)) * 2:
            assert net.connect(address, passive=passive, mapped=mapped).cwnd() == cwnd, address


def tune(net, family, cwnd, dst="default"):
    net.host.ip(f"-{family}", "route", "replace", dst, "via", FIRST[family],
                *(("initcwnd", cwnd) if cwnd else ()))


def wait_left_alone(n=1):
    wait_until(lambda: status()["left_alone"] == n, f"{n} destinations left alone")


@families
def test_host_tuned_by_its_owner_is_not_slowed_down(net, family):
    """Otherwise its first window would be 24."""
    tune(net, family, 32)
    connection = net.learned(PEER[family], 30)
    connection.send(3_000_000)  # too much to be evidence about a first flight
    with connection.busy(), Daemon(net.host, *BY_ROUTES, "--policy", "careful") as daemon:
        wait_left_alone()
        assert windows(net.host) == {}
        assert net.connect(PEER[family]).cwnd() == 32
        reason = "left alone: the initcwnd of its base route is no smaller"
        assert reason in daemon.said() and " initcwnd 24" not in daemon.said()
        assert derived(net.host, PEER[family]).startswith(
            f"{PEER[family]}: connections start with 32 segments\n  why          {reason}\n")
        assert reason in " ".join(net.host.run(RIPTIDE, "show").stdout.split())
        wait_until(lambda: riptide_json(net.host, "show", PEER[family])["window"]["cwnd"] >= 32, "its window")
        wait_until(lambda: riptide_json(net.host, "show", PEER[family])["window"]["base_cwnd"] == 32, "its base")


@families
def test_window_follows_a_base_that_changes(net, family):
    cwnd = net.learned(PEER[family], 30).cwnd()
    with Daemon(net.host, *BY_ROUTES):
        assert wait_window(net.host, PEER[family]) == cwnd
        tune(net, family, cwnd)
        wait_until(lambda: windows(net.host) == {}, "no route for what the base does")
        tune(net, family, cwnd // 2)
        assert wait_window(net.host, PEER[family]) == cwnd
        tune(net, family, cwnd + 100)
        wait_until(lambda: windows(net.host) == {}, "no route below the base")
        # At first the base's former window, until the next round knows that it has gone.
        tune(net, family, 0)
        wait_until(lambda: windows(net.host) == {PEER[family]: cwnd}, "the learned window")
