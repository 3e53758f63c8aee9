# SPDX-License-Identifier: MIT
"""What Riptide adds to the life of a connection: destroy events, and windows by the program.

Events: connections are opened and closed between two network namespaces on one core, by turns with an
observer on the other that dumps each second alone, and one that hears of closed ones too. The kernel
builds the messages on the core where a socket closes, so its part shows in the time that the same number
of connections takes; on a machine that others share too, look at the lowest. Beside --sockets that stay
open a dump takes long, and it shows how many that closed during one are taken for shown by it.

Program: both ends of each connection are on this host, in a cgroup of its own, and have the program: it
serves two for each that opens. ./dev bench connections builds and runs this in a sandbox.
"""

import argparse
import collections
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "common"), str(HERE / "observe"), str(HERE.parents[1] / "tests" / "netns")]
import cgroups  # noqa: E402
from farm import Farm  # noqa: E402
from host import PROGRAMS, figures, judge, need_sandbox, spread  # noqa: E402

CONNECTIONS, FARM = PROGRAMS / "connections", PROGRAMS / "observe" / "farm"
NEAR = "ip", "netns", "exec", "near"
TARGETS_NS = {"changed_10000_ns": 2500, "window_ns": 2500, "everything_ns": 2500}


def on_core(core):
    return lambda: os.sched_setaffinity(0, {core})


def turn(with_events, n):
    """One run: the output of the observer and of the other side."""
    cores = sorted(os.sched_getaffinity(0))
    observer = subprocess.Popen([*NEAR, str(CONNECTIONS), "observe", str(int(with_events))],
                                preexec_fn=on_core(cores[-1]), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, universal_newlines=True)
    assert observer.stdout.readline() == "ready\n"
    said = subprocess.run([CONNECTIONS, "churn", "/run/netns/near", "/run/netns/far", "0a090002", str(n)],
                          check=True, stdout=subprocess.PIPE, universal_newlines=True,
                          preexec_fn=on_core(cores[0])).stdout
    counted, _ = observer.communicate("end\n")
    return {name: value for name, (value,) in figures((counted + said).splitlines()).items()}


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
    return Farm(FARM, sockets, 2000, NEAR) if sockets else contextlib.nullcontext()


def print_row(name, values):
    print(f"{name:34}{spread(values, unit=' us')}, {min(values):.2f}")


def bench_events(options):
    make_namespaces()
    n = options.connections
    runs = {True: [], False: []}
    with beside(options.sockets):
        for i in range(options.repeat):
            print(f"\rturn {i + 1} of {options.repeat}", end="", file=sys.stderr, flush=True)
            for with_events in (False, True):
                runs[with_events].append(turn(with_events, n))
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
    print(f"longest dispatch of events: {1e3 * max(run['longest_s'] for run in runs[True]):.2f}"
          " ms of processor time")
    print(f"{n / statistics.median(run['seconds'] for run in runs[True]):,.0f} closes a second: "
          f"lost {sum(run['lost'] for run in runs[True]):,.0f} of "
          f"{sum(run['closed'] for run in runs[True]):,.0f} (target: none), flagged as shown by a dump "
          f"{sum(run['shown'] for run in runs[True]):,.0f}")


def bench_program(options):
    found = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as directory, cgroups.mounted(Path(directory)) as root, \
            cgroups.made(root) as cgroup:  # which this process enters
        for _ in range(3):
            done = subprocess.run([CONNECTIONS, "program", cgroup], check=True, stdout=subprocess.PIPE, text=True)
            for name, values in figures(done.stdout.splitlines()).items():
                found[name] += values
    for name, values in found.items():
        target, median = TARGETS_NS.get(name), statistics.median(values)
        verdict = f"; {judge(median <= target, f'at most {target}')}" if target else ""
        print(f"{name:32} {median:7.0f}  ({min(values):.0f} to {max(values):.0f}){verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=20000)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--sockets", type=int, default=0, help="open beside; default: none")
    parser.add_argument("--only", choices=("events", "program"))
    options = parser.parse_args()
    need_sandbox("connections")
    for name, bench in (("events", bench_events), ("program", bench_program)):
        if options.only in (None, name):
            bench(options)


if __name__ == "__main__":
    main()
