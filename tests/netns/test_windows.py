# SPDX-License-Identifier: MIT
"""What a new connection reads from its own TCP_INFO, after riptided has learned from others."""

import pytest
from netns import Daemon, wait_until, wait_window, windows

NEW_CONNECTIONS = [
    pytest.param("203.0.113.1", passive, mapped, id=f"IPv4-{'passive' if passive else 'active'}"
                 f"{'-mapped' if mapped else ''}")
    for passive in (False, True) for mapped in (False, True)
] + [
    pytest.param("2001:db8::1", passive, False, id=f"IPv6-{'passive' if passive else 'active'}")
    for passive in (False, True)
]


@pytest.mark.parametrize("address, passive, mapped", NEW_CONNECTIONS)
def test_new_connection_without_riptided_starts_with_10(net, address, passive, mapped):
    net.learned(address, 30)
    assert net.connect(address, passive=passive, mapped=mapped).cwnd() == 10


@pytest.mark.parametrize("address, passive, mapped", NEW_CONNECTIONS)
def test_new_connection_starts_with_the_learned_window(net, address, passive, mapped):
    cwnd = net.learned(address, 30).cwnd()
    assert 30 <= cwnd <= 100
    with Daemon(net.host):
        assert wait_window(net.host, address) == cwnd
        assert net.connect(address, passive=passive, mapped=mapped).cwnd() == cwnd


def test_window_is_the_mean_of_open_connections(net):
    cwnds = [net.learned("203.0.113.1", cwnd).cwnd() for cwnd in (12, 30, 60)]
    assert len(set(cwnds)) == 3
    with Daemon(net.host):
        window = wait_window(net.host, "203.0.113.1")
    assert abs(window - sum(cwnds) / 3) < 1


@pytest.mark.parametrize("address", ["203.0.113.1", "2001:db8::1"])
def test_window_is_bounded_above(net, address):
    assert net.learned(address, 60).cwnd() > 40
    with Daemon(net.host, "--cwnd-max", "40"):
        wait_window(net.host, address)
        assert net.connect(address).cwnd() == 40


@pytest.mark.parametrize("address", ["203.0.113.1", "2001:db8::1"])
def test_window_is_bounded_below(net, address):
    assert net.learned(address, 20).cwnd() < 50
    with Daemon(net.host, "--cwnd-min", "50"):
        wait_window(net.host, address)
        assert net.connect(address).cwnd() == 50


def test_window_follows_open_connections(net):
    connection = net.learned("203.0.113.1", 20)
    with Daemon(net.host):
        assert wait_window(net.host, "203.0.113.1") == connection.cwnd()
        connection.grow(60)
        # The moving average comes near, and small steps are not worth a change of routes.
        near = pytest.approx(connection.cwnd(), rel=0.1)
        wait_until(lambda: windows(net.host)["203.0.113.1"] == near, "the new window")


def test_without_history_the_newest_tick_alone_counts(net):
    connection = net.learned("203.0.113.1", 20)
    with Daemon(net.host, "--history-weight", "0") as daemon:
        before = wait_window(net.host, "203.0.113.1")
        with daemon.stopped():  # no tick between
            connection.grow(60)
        after = wait_until(lambda: next((window for window in [windows(net.host)["203.0.113.1"]]
                                         if window != before), None), "a change")
        assert after == connection.cwnd(), daemon.said()


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("addresses", [("203.0.113.1", "203.0.113.2", "203.0.113.3"),
                                       ("2001:db8::1", "2001:db8::2", "2001:db8::3")],
                         ids=["IPv4", "IPv6"])
def test_destinations_behind_one_gateway_do_not_mix(net, addresses, passive):
    first, second, third = addresses
    small, large = net.learned(first, 20).cwnd(), net.learned(second, 60).cwnd()
    assert small != large
    with Daemon(net.host):
        wait_window(net.host, first)
        wait_window(net.host, second)
        for address, cwnd in ((first, small), (second, large), (third, 10)) * 2:
            assert net.connect(address, passive=passive).cwnd() == cwnd, address


@pytest.mark.parametrize("options, prefix, seen, unseen, outside", [
    (["--prefix-len4", "24"], "203.0.113.0/24", "203.0.113.1", "203.0.113.200", "198.51.100.1"),
    (["--prefix-len6", "48"], "2001:db8:7::/48", "2001:db8:7::1", "2001:db8:7:8::9",
     "2001:db8:8::1"),
    (["--aggregate", "203.0.113.0/25"], "203.0.113.0/25", "203.0.113.1", "203.0.113.100",
     "203.0.113.200"),
    (["--aggregate", "2001:db8:7::/48"], "2001:db8:7::/48", "2001:db8:7::1", "2001:db8:7:8::9",
     "2001:db8:8::1"),
])
def test_grouped_destinations_share_a_window(net, options, prefix, seen, unseen, outside):
    cwnd = net.learned(seen, 30).cwnd()
    with Daemon(net.host, *options):
        assert wait_window(net.host, prefix) == cwnd
        assert windows(net.host).keys() == {prefix}
        assert net.connect(unseen).cwnd() == cwnd
        assert net.connect(outside).cwnd() == 10


def test_longest_aggregate_wins(net):
    net.learned("203.0.113.1", 20)
    inner = net.learned("203.0.113.129", 60).cwnd()
    with Daemon(net.host, "--aggregate", "203.0.113.0/24", "--aggregate", "203.0.113.128/25"):
        wait_window(net.host, "203.0.113.0/24")
        assert wait_window(net.host, "203.0.113.128/25") == inner
        assert net.connect("203.0.113.200").cwnd() == inner


@pytest.mark.parametrize("options", [
    ["--exclude", "203.0.113.2"],
    ["--scope", "203.0.113.1"],
    ["--scope", "203.0.113.0/24", "--exclude", "203.0.113.2/31"],
    ["--exclude", "203.0.113.0/24", "--scope", "203.0.113.0/31"],
])
def test_scope_decides_what_is_learned(net, options):
    net.learned("203.0.113.1", 30)
    net.learned("203.0.113.2", 30)
    with Daemon(net.host, *options):
        wait_window(net.host, "203.0.113.1")
        assert windows(net.host).keys() == {"203.0.113.1"}
        assert net.connect("203.0.113.2").cwnd() == 10

