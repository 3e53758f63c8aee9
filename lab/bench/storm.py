# SPDX-License-Identifier: MIT
"""What a router costs while routes of main change, and how long its rule stays in place.

Hosts with 1,000 to 1,000,000 routes in main, 1,000 and 10,000 destinations; each case in a network
namespace of its own. Printed are medians of its seconds with their quartiles. ./dev bench storm
builds and runs this in a sandbox.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
STORM = BUILD / "lab" / "bench" / "storm"
HOST = "bench"
START_MS = 2000


class Storm(NamedTuple):
    """Route changes per second, each of a route with some destinations; targets in percent."""
    name: str
    per_route: int
    rate: int
    covers: bool
    core: float
    placed: float


STORMS = (Storm("1,000 a second, cover none", 4, 1000, False, 3, 100),
          Storm("20 a second, cover 250", 250, 20, True, 12, 80),
          Storm("20 a second, cover 4", 4, 20, True, 5, 93))


def in_host(*arguments):
    done = subprocess.run(["ip", "netns", "exec", HOST, str(STORM), *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True)
    figures = {}
    for line in done.stdout.splitlines():
        name, value = line.split()
        figures.setdefault(name, []).append(float(value))
    return figures


def run(routes, *arguments):
    commands = ("link set lo up", "link add link0 type veth peer name link1", "link set link1 up",
                "link set link0 up", "address add 10.0.0.1/24 dev link0", "route add default via 10.0.0.2")
    subprocess.run(["ip", "netns", "add", HOST], check=True)
    try:
        subprocess.run(["ip", "-n", HOST, "-batch", "-"], check=True, input="\n".join(commands), text=True)
        in_host("fill", routes)
        return in_host(*arguments)
    finally:
        subprocess.run(["ip", "netns", "delete", HOST], check=True)


def spread(shares):
    low, median, high = (100 * share for share in statistics.quantiles(shares, n=4))
    return f"{median:6.2f} % ({low:.2f} to {high:.2f})"


def judge(is_met, target):
    return f"{target} {'met' if is_met else 'MISSED'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--destinations", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--seconds", type=int, default=8)
    options = parser.parse_args()
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("storm: this makes network namespaces: run it with ./dev bench storm")
    floor = run(1000, "floor", STORMS[0].rate, options.seconds)["core"]
    print(f"reading {STORMS[0].rate:,} notifications a second and nothing else: core {spread(floor)}", flush=True)
    for destinations in options.destinations:
        for routes in options.routes:
            starts, newcomers, resident_kb = [], [], []
            print(f"{routes:,} routes in main, {destinations:,} destinations", flush=True)
            for storm in STORMS:
                figures = run(routes, "run", destinations, storm.per_route, storm.rate, int(storm.covers),
                              options.seconds)
                core, placed = figures["core"], figures["placed"]
                starts += figures["start_ms"]
                newcomers += figures["newcomer_ms"]
                resident_kb += figures["resident_kb"]
                print(f"  {storm.name:28} core {spread(core)}, "
                      f"{judge(100 * statistics.median(core) <= storm.core, f'at most {storm.core} %')}; "
                      f"rule in place {spread(placed)}, "
                      f"{judge(100 * statistics.median(placed) >= storm.placed, f'at least {storm.placed} %')}",
                      flush=True)
            print(f"  start {statistics.median(starts):.0f} ms ({min(starts):.0f} to {max(starts):.0f}), "
                  f"{judge(max(starts) < START_MS, f'under {START_MS} ms')}; a new destination after a change "
                  f"{statistics.median(newcomers):.2f} ms of processor time; "
                  f"{max(resident_kb) / 1024:.1f} MB resident", flush=True)


if __name__ == "__main__":
    main()
