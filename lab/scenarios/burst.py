# SPDX-License-Identifier: MIT
"""A burst: 200 connections to one destination open at once, each with the window of its route."""

from figures import draw_cdf, estimate, estimate_quantile, on_time
from testbed import Testbed
from traffic import Transfer

CONNECTIONS = 200
OBJECT_BYTES = 50000
WINDOWS = (10, 24, 50, 100)
POLICIES = ("paper", "careful")
# 100 Mbit/s and 50 ms: a path of 417 packets, and a buffer of the same size.
PATHS = ["from=sender,delay=25ms,rate=100mbit,buffer=625kb", "from=receiver,delay=25ms"]


def run(evaluation):
    table = evaluation.table("burst", "arm", "repetition", "window", "time_ms", "retrans_segs",
                             "retrans_first", "data_segs", "complete", "on_time")
    repetitions = 1 if evaluation.quick else 5
    arms = WINDOWS[::3] if evaluation.quick else WINDOWS + POLICIES
    for repetition in range(repetitions):
        for arm in arms:
            results, window, is_on_time = burst(evaluation, arm, evaluation.drawn(repetition))
            for one in results:
                table.add(arm, repetition, window, one.done_us / 1e3, one.retrans_segs,
                          one.retrans_first, one.data_segs, one.complete, is_on_time)
    return draw(evaluation, table.rows, arms)


def burst(evaluation, arm, drawn):
    with Testbed(evaluation, {"sender": "10.9.1.1", "receiver": "10.9.2.1"}, PATHS) as testbed:
        if arm in POLICIES:
            learn(testbed, arm)
        else:
            testbed.set_route("sender", "initcwnd", arm)
        results = testbed.transfer([Transfer("sender", "receiver", OBJECT_BYTES,
                                             at_s=drawn.uniform(0, 0.005), tag="burst")
                                    for _ in range(CONNECTIONS)])
        window = max(one.cwnd_first for one in results)
    return results, window, testbed.on_time


def learn(testbed, policy):
    """Lets riptided learn from a few connections that move data, as before a burst."""
    testbed.start_riptided(["sender"], "--apply", "routes", "--policy", policy, "--interval", "500ms")
    testbed.transfer([Transfer("sender", "receiver", 400000, at_s=0.25 * n, idle_s=60)
                      for n in range(8)])


def draw(evaluation, rows, arms):
    lines = []
    with evaluation.picture("burst") as (_, axes):
        for arm in arms:
            chosen = on_time([row for row in rows if row["arm"] == arm])
            times_ms = [row["time_ms"] for row in chosen if row["complete"]]
            share = sum(r["retrans_segs"] for r in chosen) / sum(r["data_segs"] for r in chosen)
            draw_cdf(axes, times_ms, label=f"{arm}: {100 * share:.0f} % resent")
            lines.append(f"{arm} {estimate(times_ms).value:.0f} ms, p95"
                         f" {estimate_quantile(times_ms, 0.95).value:.0f} ms,"
                         f" {100 * share:.0f} % resent")
        axes.set(xlabel="completion time, ms", ylabel="share of the 200 connections",
                 title="50 KB each, 100 Mbit/s, 50 ms, buffer of one product")
        axes.legend(title="window or policy", fontsize=8)
    return f"{CONNECTIONS} at once, median: " + "; ".join(lines)
