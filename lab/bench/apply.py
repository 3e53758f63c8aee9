# SPDX-License-Identifier: MIT
"""What it costs to change 20,000 windows: libriptide, finished messages by hand, ip -batch.

Each way runs in a network namespace of its own, several times in turn, all in one run; printed are
medians with their quartiles and ratios. ./dev bench apply builds and runs this in a sandbox.
"""

import argparse
import ipaddress
import resource
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "common"))
from host import PROGRAMS, figures, host, ip_batch, judge, need_sandbox, spread, start  # noqa: E402

FIRST = ipaddress.ip_address("10.64.0.0")


def run(way, n):
    done, _ = start(PROGRAMS / "routes", way, n).communicate()
    return {name: value for name, (value,) in figures(done.splitlines()).items()}


def by_ip_batch(n):
    run("hand", n)
    lines = [f"route replace {FIRST + i} table 7230 proto 230 via 10.0.0.2 dev link0 initcwnd 60 mtu 1500"
             for i in range(n)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ip_batch(lines)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"change": 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)}


WAYS = {"by hand": lambda n: run("hand", n), "libriptide": lambda n: run("library", n), "ip -batch": by_ip_batch}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=20000)
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    need_sandbox("apply")
    times_ms = {name: [] for name in (*WAYS, "libriptide, new destinations")}
    for turn in range(options.repeat):
        print(f"\rturn {turn + 1} of {options.repeat}", end="", file=sys.stderr, flush=True)
        for name, way in WAYS.items():
            with host():
                result = way(options.changes)
            times_ms[name].append(result["change"])
            if "first" in result:
                times_ms["libriptide, new destinations"].append(result["first"])
    print(f"\r{options.changes} changes, processor time of the process with the kernel's part, {options.repeat} turns")
    medians = {name: statistics.median(values) for name, values in times_ms.items()}
    for name, values in times_ms.items():
        print(f"{name:30}{spread(values, 1, ' ms'):32}{medians[name] / medians['by hand']:6.2f} x")
    ratio, batch = medians["libriptide"] / medians["by hand"], medians["ip -batch"] / medians["libriptide"]
    print(f"libriptide / by hand {ratio:.2f}, {judge(ratio <= 1.5, 'at most 1.5')}; "
          f"ip -batch / libriptide {batch:.1f}, {judge(batch >= 4, 'at least 4')}")


if __name__ == "__main__":
    main()
