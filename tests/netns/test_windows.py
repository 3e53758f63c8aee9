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
def test_new_connection_starts_with_the_learned_window(net, address, passive, mapped):
    cwnd = net.learned(address, 30).cwnd()
    assert 30 <= cwnd <= 100
    without_us = net.connect(address, passive=passive, mapped=mapped)
    assert without_us.cwnd() == 10
    net.connections.remove(without_us)
    without_us.close()
    with Daemon(net.host):
        assert wait_window(net.host, address) == cwnd
        assert net.connect(address, passive=passive, mapped=mapped).cwnd() == cwnd


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
