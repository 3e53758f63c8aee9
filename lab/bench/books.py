# SPDX-License-Identifier: MIT
"""What books of outcomes cost an agent for each connection that closes: its processor time, the
kernel's part included, and own instructions where valgrind is there, beside those of an agent without
books that reads the same ends.

Connections are 20 ms long, of one destination that has a window; those that are too small for books
have 4,000 bytes, the others 40,000, and all of these count. ./dev bench books builds and runs this
in a sandbox.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wan"))
import wanbox  # noqa: E402

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
ADDRESSES = {"near": ["10.9.0.1"], "far": ["10.9.0.2"]}
SMALL_PERCENT = 100, 80, 0
AT_ONCE = 100
COUNTED = 300  # closed connections, under callgrind
TARGET = 1.05


def run(cgroup, n, small_percent, tool=()):
    words = [*tool, BUILD / "lab" / "bench" / "events", "books", "/run/netns/near", "/run/netns/far",
             "0a090002", str(n), str(small_percent), cgroup]
    # The process enters the cgroup before it opens sockets.
    enter = ["sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', cgroup, *words]
    return subprocess.run(enter, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def instructions(cgroup, small_percent, function):
    callgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={function}*")
    return int(re.search(r"Collected : (\d+)", run(cgroup, COUNTED, small_percent, callgrind))[1]) / COUNTED


def measure(cgroup, n):
    for small in SMALL_PERCENT:
        pairs = [[int(ns) / AT_ONCE for ns in line.split()[1:]] for line in run(cgroup, n, small).splitlines()]
        without, with_books = (statistics.median(column) for column in zip(*pairs))
        # The agents read first in turns, so there are two medians.
        ratio = statistics.geometric_mean(statistics.median(b / a for a, b in pairs[i::2]) for i in range(2))
        print(f"{small:3} % small: {without:.0f} ns, with books {with_books:.0f}; {ratio:.3f} times by medians of "
              f"{len(pairs)} (target {TARGET} at most: {'met' if ratio <= TARGET else 'MISSED'})")
        if shutil.which("valgrind"):
            counts = [instructions(cgroup, small, function) for function in ("without_books", "with_books")]
            print("             {:.0f} instructions of its own, with books {:.0f}".format(*counts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=10000, help="hundreds")
    options = parser.parse_args()
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("books: this makes network namespaces: run it with ./dev bench books")
    for name in ADDRESSES:
        subprocess.run(["ip", "netns", "add", name], check=True)
    ports = [f"name={name},netns={name},net={address}/32" for name, (address,) in ADDRESSES.items()]
    with wanbox.Wan(ports, ["delay=10ms"], ADDRESSES), tempfile.TemporaryDirectory() as mounted:
        subprocess.run(["mount", "-t", "cgroup2", "none", mounted], check=True)
        cgroup = Path(mounted) / f"riptide-bench-{os.getpid()}"
        cgroup.mkdir()
        try:
            measure(cgroup, options.connections)
        finally:
            cgroup.rmdir()
            subprocess.run(["umount", mounted], check=True)


if __name__ == "__main__":
    main()
