# SPDX-License-Identifier: MIT
"""What the benchmarks share: a host in a network namespace, and the figures that their programs print."""

import contextlib
import os
import statistics
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[3] / "build"))
PROGRAMS = BUILD / "lab" / "bench"
HOST = "bench"


def need_sandbox(name):
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit(f"{name}: this makes network namespaces: run it with ./dev bench {name}")


def ip_batch(lines):
    subprocess.run(["ip", "-n", HOST, "-batch", "-"], check=True, input="\n".join(lines), text=True)


@contextlib.contextmanager
def host():
    """A host behind a default route via 10.0.0.2 dev link0."""
    subprocess.run(["ip", "netns", "add", HOST], check=True)
    try:
        ip_batch(("link set lo up", "link add link0 type veth peer name link1", "link set link1 up",
                  "link set link0 up", "address add 10.0.0.1/24 dev link0", "route add default via 10.0.0.2"))
        yield
    finally:
        subprocess.run(["ip", "netns", "delete", HOST], check=True)


def start(*command):
    """A program on the host, whose input and output are the caller's."""
    return subprocess.Popen(["ip", "netns", "exec", HOST, *map(str, command)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)


def figures(lines):
    """{name: [value, ...]} of lines of a name and a number."""
    found = {}
    for line in lines:
        name, value = line.split()
        found.setdefault(name, []).append(float(value))
    return found


def spread(values, digits=2, unit=""):
    """A median with its quartiles."""
    low, median, high = statistics.quantiles(values, n=4)
    return f"{median:.{digits}f}{unit} ({low:.{digits}f} to {high:.{digits}f})"


def judge(is_met, target):
    return f"{target}: {'met' if is_met else 'MISSED'}"
