# SPDX-License-Identifier: MIT
"""Route change: an open connection sends after its destination's route was rewritten.

Linux 6.18 removes the device from a replaced or deleted route, and a connection that still has it
cached reads the MTU of no device, 68 bytes, before it looks up its route: its next data leaves in
segments of 48 bytes, until the first one finds the new route. They use up the window, for a round
trip, and their acknowledgements open it: each change can double an idle connection's window. Routes
written by hand do that; riptided's have the MTU of their link, read instead of the device's.
"""

import subprocess

from testbed import Testbed
from traffic import BUILD, Transfer

OBJECT_BYTES = 100000
BOUNDS = (30, 60, 25, 50, 20, 40)


def run(evaluation):
    table = evaluation.table("route_change", "written", "number", "bound", "time_ms",
                             "data_segs", "cwnd_before", "cwnd_after", "on_time")
    for written, change in (("by hand", by_hand), ("by riptided", by_riptided)):
        with Testbed(evaluation, {"sender": "10.9.1.1", "receiver": "10.9.2.1"},
                     ["delay=25ms,rate=100mbit,buffer=1250kb"]) as testbed:
            if change is by_riptided:
                testbed.start_riptided(["sender"], "--apply", "routes", "--interval", "200ms", "--policy", "paper")
            open_window(testbed)
            found = [(bound, send_after(testbed, change, bound))
                     for bound in BOUNDS[:2 if evaluation.quick else None]]
        for number, (bound, one) in enumerate(found):
            table.add(written, number, bound, one.done_us / 1e3, one.data_segs, one.cwnd_first,
                      one.cwnd_last, testbed.on_time)
    last = {row["written"]: row for row in table.rows}
    return "; ".join(
        f"{name}: 100 KB in {row['data_segs']} segments and {row['time_ms']:.0f} ms after"
        f" {row['number'] + 1} changes, window {row['cwnd_after']}" for name, row in last.items())


def open_window(testbed):
    """Opens an idle connection with a window above every bound. HyStart ends slow start early if a
    busy host delays an acknowledgement; then it sends more."""
    for reuse in [False] + [True] * 50:
        sent, = testbed.transfer([Transfer("sender", "receiver", 3 * OBJECT_BYTES, reuse=reuse,
                                           idle_s=3600)])
        if sent.cwnd_last > max(BOUNDS):
            return
    raise RuntimeError(f"the window is {sent.cwnd_last} after {51 * 3 * OBJECT_BYTES} bytes, "
                       f"above {max(BOUNDS)} is needed")


def by_hand(testbed, bound):
    testbed.set_route("sender", "initcwnd", bound, to=testbed.hosts["receiver"])


def by_riptided(testbed, bound):
    """Lowers the window to another bound, and waits for the route."""
    control = ["--control", "/run/riptide-sender"]
    subprocess.run([BUILD / "cli" / "riptide", "hint", testbed.hosts["receiver"], "--max",
                    str(bound), "--for", "1h", *control], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    testbed.wait_window("sender", testbed.hosts["receiver"], bound)


def send_after(testbed, change, bound):
    change(testbed, bound)
    sent, = testbed.transfer([Transfer("sender", "receiver", OBJECT_BYTES, reuse=True,
                                       idle_s=3600)])
    return sent
