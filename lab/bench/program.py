# SPDX-License-Identifier: MIT
"""What windows by the program cost: a window that is set, and a connection that gets it.

Both ends of each connection are on this host and have the program: it serves two for each that
opens. ./dev bench program builds and runs this in a sandbox, in a cgroup of its own.
"""

import collections
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ["RIPTIDE_BUILD"])
TARGETS = {"changed_10000_ns": 2500, "window_ns": 2500, "everything_ns": 2500}


def main():
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("program: this makes a cgroup: run it with ./dev bench program")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    found = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as mounted:
        subprocess.run(["mount", "-t", "cgroup2", "none", mounted], check=True)
        cgroup = Path(mounted) / f"riptide-bench-{os.getpid()}"
        cgroup.mkdir()
        try:
            words = [str(BUILD / "lab" / "bench" / "program"), str(cgroup)]
            # The process enters the cgroup before it opens sockets.
            enter = ["sh", "-c", 'echo $$ > "$2/cgroup.procs"; exec "$@"', "sh", *words]
            for _ in range(3):
                done = subprocess.run(enter, check=True, stdout=subprocess.PIPE, text=True)
                for line in done.stdout.splitlines():
                    name, number = line.split()
                    found[name].append(float(number))
        finally:
            cgroup.rmdir()
            subprocess.run(["umount", mounted], check=True)
    for name, values in found.items():
        target = TARGETS.get(name)
        median = statistics.median(values)
        verdict = f"; target {target} at most: {'met' if median <= target else 'MISSED'}" if target else ""
        print(f"{name:32} {median:7.0f}  ({min(values):.0f} to {max(values):.0f}){verdict}")


if __name__ == "__main__":
    main()
