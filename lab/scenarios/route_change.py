"""Route change: an open connection sends after riptided has written its destination's window anew.

Linux 6.18 takes the device away from an IPv4 route that was replaced or deleted, and a connection that still has it
cached reads that device's MTU, 68 bytes, before it looks its route up again: what it sends next leaves in
segments of 48 bytes until the first one has found the new route. They use up the window, which costs a round
trip, and their acknowledgements open it: each change can double the window of an idle connection. A route with an
`mtu` of its own is not affected, and riptided carries over the one of the host's route.
"""

import subprocess

from testbed import Testbed
from traffic import BUILD, Transfer

OBJECT_BYTES = 100000
BOUNDS = (30, 60, 25, 50, 20, 40)


def run(evaluation):
    table = evaluation.table("route_change", "base_route", "number", "bound", "time_ms",
                             "data_segs", "cwnd_before", "cwnd_after", "on_time")
    for base_route, metrics in (("plain", ()), ("mtu", ("mtu", 1500))):
        with Testbed(evaluation, {"sender": "10.9.1.1", "receiver": "10.9.2.1"},
                     ["delay=25ms,rate=100mbit,buffer=1250kb"]) as testbed:
            testbed.set_route("sender", *metrics)
            testbed.start_riptided(["sender"], "--interval", "200ms", "--policy", "paper")
            testbed.transfer([Transfer("sender", "receiver", 3 * OBJECT_BYTES, idle_s=3600)])
            found = [(bound, send_after(testbed, bound))
                     for bound in BOUNDS[:2 if evaluation.quick else None]]
        for number, (bound, one) in enumerate(found):
            table.add(base_route, number, bound, one.done_us / 1e3, one.data_segs, one.cwnd_first,
                      one.cwnd_last, testbed.on_time)
    last = {row["base_route"]: row for row in table.rows}
    return "; ".join(
        f"{name} route: 100 KB in {row['data_segs']} segments and {row['time_ms']:.0f} ms after"
        f" {row['number'] + 1} changes, window {row['cwnd_after']}" for name, row in last.items())


def send_after(testbed, bound):
    """Holds the window down to another bound, waits for the route, sends on the open connection."""
    control = ["--control", "/run/riptide-sender"]
    subprocess.run([BUILD / "cli" / "riptide", "hint", testbed.hosts["receiver"], "--max",
                    str(bound), "--for", "1h", *control], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    testbed.wait_window("sender", testbed.hosts["receiver"], bound)
    sent, = testbed.transfer([Transfer("sender", "receiver", OBJECT_BYTES, reuse=True,
                                       idle_s=3600)])
    return sent
