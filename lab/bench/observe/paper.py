# SPDX-License-Identifier: MIT
"""The paper's agent, written from its description (ICDCS 2016, Sec. III, Fig. 8; the authors' blog
names `ss -tia`): one round, as a baseline.

    paper.py            observes and computes, and prints the windows
    paper.py DEVICE     sets a route by ip(8) for each of them, through that device

Details that the paper leaves open are chosen for speed: lines are read as they arrive, and
one search per connection finds its window.
"""

import re
import subprocess
import sys

HISTORY_WEIGHT = 0.5
CWND_MIN, CWND_MAX = 10, 100
CWND = re.compile(r" cwnd:(\d+)")


def poll():
    """{destination: [window, ...]} of all open connections."""
    observed = {}
    with subprocess.Popen(["ss", "-tia"], stdout=subprocess.PIPE, text=True) as ss:
        next(ss.stdout)  # the headings
        for line in ss.stdout:
            if not line.startswith(("\t", " ")):
                state, _, _, _, peer = line.split(maxsplit=5)[:5]
                continue
            found = CWND.search(line)
            if found and state != "LISTEN":
                destination = peer.rpartition(":")[0]
                observed.setdefault(destination, []).append(int(found[1]))
    return observed


def update(history, observed):
    """One step of Algorithm 1 for each destination: average, moving average, bounds."""
    final = {}
    for destination, windows in observed.items():
        average = sum(windows) / len(windows)
        previous = history.get(destination, average)
        history[destination] = HISTORY_WEIGHT * previous + (1 - HISTORY_WEIGHT) * average
        final[destination] = min(max(round(history[destination]), CWND_MIN), CWND_MAX)
    return final


def set_route(destination, window, device):
    subprocess.run(["ip", "route", "replace", destination, "dev", device, "proto", "static",
                    "initcwnd", str(window)], check=True)


if __name__ == "__main__":
    for destination, window in update({}, poll()).items():
        if len(sys.argv) > 1:
            set_route(destination, window, sys.argv[1])
        else:
            print(destination, window)
