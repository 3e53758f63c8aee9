# SPDX-License-Identifier: MIT
"""What a subscription to destroy events costs the kernel and its reader for each connection that
closes, and whether any is lost at the highest rate that one core can open and close.

Connections are opened and closed between two network namespaces on one core, by turns with an observer
on the other that dumps each second alone, and one that hears of closed ones too. The kernel builds the
messages on the core where a socket closes, so its part shows in the time that the same number of
connections takes; on a machine that others share too, look at the lowest. Beside --sockets that stay
open a dump takes long, and it shows how many that closed during one are taken for shown by it.
./dev bench events builds and runs this in a sandbox.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "observe"))
from farm import Farm  # noqa: E402

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
EVENTS = BUILD / "lab" / "bench" / "events"
FARM = BUILD / "lab" / "bench" / "observe" / "farm"
NEAR = "ip", "netns", "exec", "near"
TARGET_PER_S = 20000


def on_core(core):
    return lambda: os.sched_setaffinity(0, {core})


def figures(text):
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines()}


def turn(with_events, way, n):
    """One run: the output of the observer and of the other side."""
    cores = sorted(os.sched_getaffinity(0))
    observer = subprocess.Popen([*NEAR, str(EVENTS), "observe", str(int(with_events))],
                                preexec_fn=on_core(cores[-1]), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, universal_newlines=True)
    assert observer.stdout.readline() == "ready\n"
    said = subprocess.run([EVENTS, way, "/run/netns/near", "/run/netns/far", "0a090002", str(n)],
                          check=True, stdout=subprocess.PIPE, universal_newlines=True,
                          preexec_fn=on_core(cores[0])).stdout
    counted, _ = observer.communicate("end\n")
    return {**figures(counted), **figures(said)}


def make_namespaces():
    for name in ("near", "far"):
        subprocess.run(["ip", "netns", "add", name], check=True)
    subprocess.run(["ip", "-n", "near", "link", "add", "link0", "type", "veth", "peer", "name",
                    "link0", "netns", "far"], check=True)
    for name, address in (("near", "10.9.0.1/24"), ("far", "10.9.0.2/24")):
        subprocess.run(["ip", "-n", name, "address", "add", address, "dev", "link0"], check=True)
        subprocess.run(["ip", "-n", name, "link", "set", "link0", "up"], check=True)
    subprocess.run(["ip", "-n", "near", "route", "add", "10.64.0.0/10", "dev", "link0"], check=True)


def beside(sockets):
    return Farm(FARM, sockets, 2000, "4", NEAR) if sockets else contextlib.nullcontext()


def print_row(name, values):
    low, median, high = statistics.quantiles(values, n=4)
    print(f"{name:34}{median:7.2f} us ({low:.2f} to {high:.2f}), {min(values):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=20000)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--sockets", type=int, default=0, help="open beside; default: none")
    options = parser.parse_args()
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("events: this makes network namespaces: run it with ./dev bench events")
    make_namespaces()
    n = options.connections
    runs = {True: [], False: []}
    bursts = []
    with beside(options.sockets):
        for i in range(options.repeat):
            print(f"\rturn {i + 1} of {options.repeat}", end="", file=sys.stderr, flush=True)
            for with_events in (False, True):
                runs[with_events].append(turn(with_events, "churn", n))
            bursts.append(turn(True, "burst", TARGET_PER_S))
    print(f"\r{n} connections opened and closed in each of {options.repeat} turns, beside "
          f"{options.sockets} sockets: median (quartiles), lowest")
    us = {key: [1e6 * run["seconds"] / n for run in runs[key]] for key in runs}
    print_row("a connection's life, both ends", us[False])
    print_row("  with one end's events", us[True])
    print_row("the reader's time for each event", [1e6 * run["cpu_s"] / n for run in runs[True]])
    print(f"what the kernel adds for each that closes: "
          f"{statistics.median(us[True]) - statistics.median(us[False]):.2f} us by medians, "
          f"{min(us[True]) - min(us[False]):.2f} us by the lowest "
          f"({min(us[True]) / min(us[False]):.2f} x)")
    print(f"longest dispatch of events: {1e3 * max(run['longest_s'] for run in runs[True] + bursts):.2f}"
          " ms of processor time")
    print(f"{n / statistics.median(run['seconds'] for run in runs[True]):,.0f} closes a second: "
          f"lost {sum(run['lost'] for run in runs[True]):,.0f} of "
          f"{sum(run['closed'] for run in runs[True]):,.0f}, flagged as shown by a dump "
          f"{sum(run['shown'] for run in runs[True]):,.0f}")
    lost, heard = (sum(run[name] for run in bursts) for name in ("lost", "closed"))
    is_met = lost == 0 and heard == TARGET_PER_S * len(bursts)
    print(f"{TARGET_PER_S:,} closed within {max(run['seconds'] for run in bursts):.2f} s at most: "
          f"lost {lost:,.0f} of {heard:,.0f} (target: none: {'met' if is_met else 'MISSED'})")


if __name__ == "__main__":
    main()
