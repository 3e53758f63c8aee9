# SPDX-License-Identifier: MIT
"""Path MTU: a hop takes 1,400 bytes, both ends believe in 1,500, and first flights are full-sized.

The first flight is dropped at the hop and sent again, smaller, after its router's message. What was
learned must survive a change of the window: riptided rewrites routes when windows change.
"""

from scenarios import POLICIES
from testbed import Testbed
from traffic import Transfer

OBJECT_BYTES = 100000
WINDOWS = (10, 50, 100)
HOP_MTU = 1400


def run(evaluation):
    table = evaluation.table("path_mtu", "arm", "number", "window", "time_ms", "retrans_segs",
                             "mss_bytes", "on_time")
    for arm in WINDOWS[::2] if evaluation.quick else WINDOWS + POLICIES:
        results, on_time = fetch(evaluation, arm, 2 if evaluation.quick else 20)
        for number, one in enumerate(results):
            table.add(arm, number, one.cwnd_first, one.done_us / 1e3, one.retrans_segs,
                      one.mss_bytes, on_time)
    first = {row["arm"]: row for row in table.rows if row["number"] == 0}
    later = [row["retrans_segs"] for row in table.rows if row["number"] > 0]
    return (f"the first connection resends {first[10]['retrans_segs']} segments from 10 and"
            f" {first[100]['retrans_segs']} from 100 ({first[10]['time_ms']:.0f} and"
            f" {first[100]['time_ms']:.0f} ms); of {len(later)} later ones, riptided's while its"
            f" windows moved, {sum(map(bool, later))} resent anything")


def fetch(evaluation, arm, count):
    """Transfers one after the other; with riptided other connections change the window."""
    with Testbed(evaluation, {"sender": "10.9.1.1", "router": "10.9.2.1"},
                 ["delay=25ms,rate=100mbit,buffer=1mb"],
                 ports={"router": {"net": "10.9.3.1/32"}}) as testbed:
        testbed.add_host_behind("router", "receiver", "10.9.3.1", HOP_MTU)
        if arm in POLICIES:
            testbed.start_riptided(["sender"], "--policy", arm, "--interval", "200ms")
        else:
            testbed.set_route("sender", "initcwnd", arm)
        results = testbed.transfer(
            [Transfer("sender", "receiver", OBJECT_BYTES * (1 + n % 5), at_s=0.5 * n, idle_s=2)
             for n in range(count)])
    return sorted(results, key=lambda one: one.start_us), testbed.on_time
