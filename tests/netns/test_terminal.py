# SPDX-License-Identifier: MIT
"""Output for people: tables of 80 columns."""

import pytest
from control import ask, riptide_json, status, write_state
from netns import BY_ROUTES, RIPTIDE, Daemon, wait_until, wait_window, windows


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


@pytest.mark.parametrize("interval, state", [("50ms", "step"), ("1h", "pending")])
def test_window_within_the_step_is_no_fault_and_beyond_it_pending(net, interval, state):
    def hint(cwnd_max):
        ask({"request": "hint", "dst": "203.0.113.1", "for_ms": 600000, "cwnd_max": cwnd_max})

    def wanted():
        return int(ask({"request": "show"})["routes"][0].split("\t")[3])

    with Daemon.learned(net, "203.0.113.1", interval=interval):
        cwnd = windows(net.host)["203.0.113.1"]
        if state == "step":
            hint(cwnd - 1)
            wait_until(lambda: windows(net.host)["203.0.113.1"] == cwnd - 1, "a bound without a step")
            hint(cwnd)
        else:
            hint(20)
        wait_until(lambda: wanted() == (cwnd if state == "step" else 20), "another window")
        assert net.host.run(RIPTIDE, "show").stderr == ""
        row, = riptide_json(net.host, "show")["routes"]
        assert (row["initcwnd"], row["daemon"]["wanted"]) == ((cwnd - 1, cwnd) if state == "step" else (cwnd, 20))
        assert row["daemon"]["move"] == state
