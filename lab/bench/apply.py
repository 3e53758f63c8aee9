# SPDX-License-Identifier: MIT
"""What it costs to change 20,000 windows: libriptide, finished messages by hand, ip -batch.

Each way runs in a network namespace of its own, several times in turn, all in one run; printed are
medians with their quartiles and ratios. ./dev bench apply builds and runs this in a sandbox.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
APPLY = BUILD / "lab" / "bench" / "apply"
HOST = "bench"


def ip(*arguments, **options):
    subprocess.run(["ip", "-n", HOST, *arguments], check=True, **options)


def run(*arguments):
    done = subprocess.run(["ip", "netns", "exec", HOST, str(APPLY), *arguments], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True)
    return {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}


def by_router(n):
    return run("router", n)


def by_socket(n):
    return run("socket", n)


def by_ip_batch(n):
    run("socket", n)
    commands = subprocess.run([str(APPLY), "batch", n], check=True, stdout=subprocess.PIPE).stdout
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ip("-batch", "-", input=commands)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"change": 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)}


def in_namespace(way, n):
    subprocess.run(["ip", "netns", "add", HOST], check=True)
    try:
        ip("link", "set", "lo", "up")
        ip("link", "add", "link0", "type", "veth", "peer", "name", "link1")
        ip("link", "set", "link1", "up")
        ip("link", "set", "link0", "up")
        ip("address", "add", "10.0.0.1/24", "dev", "link0")
        ip("route", "add", "default", "via", "10.0.0.2")
        return way(n)
    finally:
        subprocess.run(["ip", "netns", "delete", HOST], check=True)


def print_row(name, times_ms, reference_ms):
    low, median, high = statistics.quantiles(times_ms, n=4)
    print(f"{name:34}{median:9.1f} ms  ({low:.1f} to {high:.1f}){median / reference_ms:9.2f} x")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", default="20000")
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("apply: this makes network namespaces: run it with ./dev bench apply")
    ways = {"by hand": by_socket, "libriptide": by_router, "ip -batch": by_ip_batch}
    times_ms = {name: [] for name in ways}
    first_ms = []
    start = time.monotonic()
    for turn in range(options.repeat):
        print(f"\rturn {turn + 1} of {options.repeat}", end="", file=sys.stderr, flush=True)
        for name, way in ways.items():
            result = in_namespace(way, options.changes)
            times_ms[name].append(result["change"])
            first_ms += [result["first"]] if "first" in result else []
    print(f"\r{options.changes} changes, processor time of the process with the kernel's part,"
          f" {options.repeat} turns in {time.monotonic() - start:.0f} s")
    reference_ms = statistics.median(times_ms["by hand"])
    for name in ways:
        print_row(name, times_ms[name], reference_ms)
    print_row("libriptide, new destinations", first_ms, reference_ms)
    ratio = statistics.median(times_ms["libriptide"]) / reference_ms
    batch = statistics.median(times_ms["ip -batch"]) / statistics.median(times_ms["libriptide"])
    print(f"libriptide / by hand {ratio:.2f} (target 1.5 at most: {'met' if ratio <= 1.5 else 'MISSED'})"
          f"; ip -batch / libriptide {batch:.1f} (target 4 at least: {'met' if batch >= 4 else 'MISSED'})")


if __name__ == "__main__":
    main()
