# SPDX-License-Identifier: MIT
"""Delayed base RTT: connections that open into a standing queue take its delay for the path's own.

Another host keeps the buffer (two bandwidth-delay products) of a path of 20 Mbit/s and 50 ms full for a while, then is
ends. Connections of 100 KB come twice a second. Shown are their smallest round trip time,
the windows that follow from it, and losses, during the queue and after it.
"""

import statistics

from figures import on_time
from scenarios import POLICIES, arm_of, pairs, set_arms
from testbed import Testbed
from traffic import Transfer

OBJECT_BYTES = 100000
EVERY_S = 0.5
RATE_MBPS = 20
ARMS = (10, 50) + POLICIES


def run(evaluation):
    table = evaluation.table("base_rtt", "arm", "repetition", "phase", "start_s", "window",
                             "min_rtt_ms", "retrans_segs", "data_segs", "time_ms", "on_time")
    arms = ARMS[2:3] if evaluation.quick else ARMS
    queue_s = 2 if evaluation.quick else 12
    for repetition in range(1 if evaluation.quick else 5):
        results, is_on_time = queue_up(evaluation, arms, queue_s,
                                       evaluation.drawn("base_rtt", repetition))
        for one in results:
            if one.tag == "object":
                start_s = one.start_us / 1e6
                table.add(arm_of(arms, one), repetition,
                          "queue" if start_s < queue_s else "after", start_s, one.cwnd_first,
                          one.min_rtt_us / 1e3, one.retrans_segs, one.data_segs,
                          one.done_us / 1e3, is_on_time)
    summary = summarize(evaluation, on_time(table.rows), arms)
    return "base RTT of 50 ms; in the queue and after it: " + "; ".join(
        "{} window {:.0f}, {:.0f}, measured {:.0f}, {:.0f} ms, resent {:.0f}, {:.0f} %".format(
            arm, *(value for column in ("window", "min_rtt_ms", "resent_percent")
                   for value in (summary[arm, "queue"][column], summary[arm, "after"][column])))
        for arm in arms if arm in POLICIES)


def queue_up(evaluation, arms, queue_s, drawn):
    buffer_bytes = int(RATE_MBPS * 1e6 / 8 * 0.05 * 2)
    paths = [f"to=receiver{n},delay=25ms,rate={RATE_MBPS}mbit,buffer={buffer_bytes}b"
             for n in range(len(arms))]
    bulk_bytes = int(RATE_MBPS * 1e6 / 8 * queue_s)
    transfers = [Transfer(f"other{n}", f"receiver{n}", bulk_bytes, tag="bulk")
                 for n in range(len(arms))]
    transfers += [Transfer(f"sender{n}", f"receiver{n}", OBJECT_BYTES, tag="object", idle_s=2,
                           at_s=1 + (index + drawn.random()) * EVERY_S)
                  for n in range(len(arms)) for index in range(int((queue_s * 1.7 - 1) / EVERY_S))]
    with Testbed(evaluation, pairs(arms, "other"), [*paths, "delay=25ms"]) as testbed:
        set_arms(testbed, arms)
        results = testbed.transfer(transfers)
    return results, testbed.on_time


def summarize(evaluation, rows, arms):
    table = evaluation.table("base_rtt_summary", "arm", "phase", "window", "min_rtt_ms",
                             "resent_percent", "time_ms")
    found = {}
    for arm in arms:
        for phase in ("queue", "after"):
            chosen = [r for r in rows if r["arm"] == arm and r["phase"] == phase]
            found[arm, phase] = table.add(
                arm, phase, *(statistics.median(row[column] for row in chosen)
                              for column in ("window", "min_rtt_ms")),
                100 * sum(r["retrans_segs"] for r in chosen) / sum(r["data_segs"] for r in chosen),
                statistics.median(row["time_ms"] for row in chosen))
    return found
