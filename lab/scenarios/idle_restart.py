# SPDX-License-Identifier: MIT
"""Idle restart: a connection sends again after a pause, with the window of its former route.

After an idle time of a retransmission timeout the kernel halves the window for each further one, down to
the initial window of the route by which it last sent: a changed route counts only from the
next time on. Routes have an `mtu` here, to exclude the hazard of route_change.py.
"""

from testbed import Testbed
from traffic import Transfer

OBJECT_BYTES = 100000
CASES = (  # window at the opening, and when it sends again
    (10, 10), (50, 50), (10, 50), (50, 10))


def run(evaluation):
    table = evaluation.table("idle_restart", "slow_start_after_idle", "congestion", "window_opened",
                             "window_now", "idle_s", "cwnd_first", "time_ms", "on_time")
    cases = CASES[:3] if evaluation.quick else CASES
    congestions = ("cubic",) if evaluation.quick else ("cubic", "bbr")
    idles_s = (1.5,) if evaluation.quick else (0.1, 1, 3)
    for decays in (1,) if evaluation.quick else (1, 0):
        with Testbed(evaluation, {"sender": "10.9.1.1", "receiver": "10.9.2.1"},
                     ["delay=50ms,rate=100mbit,buffer=1250kb"],
                     sysctls={"ipv4/tcp_slow_start_after_idle": decays}) as testbed:
            found = [(congestion, case, idle_s, send_again(testbed, congestion, case, idle_s))
                     for congestion in congestions for case in cases for idle_s in idles_s]
        for congestion, (opened, now), idle_s, one in found:
            table.add(decays, congestion, opened, now, idle_s, one.cwnd_first, one.done_us / 1e3,
                      testbed.on_time)
    chosen = {(row["window_opened"], row["window_now"]): row for row in table.rows
              if row["slow_start_after_idle"] and row["congestion"] == "cubic"
              and row["idle_s"] == idles_s[-1]}
    return ("100 KB on a cubic connection that was idle: {:.0f} ms (window {}) under a route of 10, "
            "{:.0f} ms (window {}) where the route has said 50 since it last sent, {:.0f} ms (window {})"
            " where it said so before".format(*(
                chosen[case][column] for case in ((10, 10), (10, 50), (50, 50))
                for column in ("time_ms", "cwnd_first"))))


def send_again(testbed, congestion, case, idle_s):
    opened, now = case
    testbed.set_route("sender", "initcwnd", opened, "mtu", 1500)
    testbed.transfer([Transfer("sender", "receiver", 300000, congestion=congestion,
                               idle_s=idle_s + 2)])
    testbed.set_route("sender", "initcwnd", now, "mtu", 1500)
    again, = testbed.transfer([Transfer("sender", "receiver", OBJECT_BYTES, at_s=idle_s,
                                        congestion=congestion, reuse=True)])
    if not again.reused:
        raise RuntimeError("the connection did not stay open")
    return again
