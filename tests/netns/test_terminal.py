# SPDX-License-Identifier: MIT
"""Output for people: tables of 80 columns."""

from control import status, write_state
from netns import BY_ROUTES, RIPTIDE, Daemon, wait_until, wait_window


def test_tables_fit_eighty_columns(net):
    """With the longest possible address, and a reason of several lines."""
    longest = "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff"
    net.world.ip("-6", "addr", "add", f"{longest}/128", "dev", "lo")
    net.host.ip("route", "add", "blackhole", "203.0.113.2")
    write_state("/run/state", {"203.0.113.2": 33})
    with Daemon.learned(net, {longest: 60, "198.51.100.100": 60}, *BY_ROUTES, "--state", "/run/state"):
        wait_window(net.host, longest)
        wait_until(lambda: status()["left_alone"] == 1, "a destination that is left alone")
        for command, n in (("observe", 3), ("show", 4)):
            text = net.host.run(RIPTIDE, command).stdout
            assert len(text.splitlines()) > n and max(map(len, text.splitlines())) <= 80, text
            assert f"\n{longest} " in text
        assert "left alone: " in text and "\n2 with a window, median " in text
