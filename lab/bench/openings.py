# SPDX-License-Identifier: MIT
"""Of how many connections that close it is known how they opened.

TCP sockets without peers are open in a cgroup whose connections get windows by the program; each
second some of them, drawn at random, are closed, and others opened. A reader does what an agent does:
it dumps all each second, which keeps the notes of open connections, and looks for that of each one
that closes. ./dev bench openings builds and runs this in a sandbox.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "common"), str(HERE / "observe"), str(HERE.parents[1] / "tests" / "netns")]
import cgroups  # noqa: E402
from farm import set_up_network  # noqa: E402
from host import PROGRAMS, figures, judge, need_sandbox  # noqa: E402

TARGET = 0.99
LINGER_S = 15  # sockets end ten seconds after they were closed, as no peer answers


def started(*arguments):
    """The program, once it is ready."""
    process = subprocess.Popen([PROGRAMS / "openings", *map(str, arguments)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    if process.stdout.readline() != "ready\n":
        sys.exit(f"openings {arguments[0]} did not get ready")
    return process


def measure(options, cgroup):
    """What the reader counted."""
    reader = started("read", cgroup)
    keeper = started("keep", options.sockets, options.closes)
    time.sleep(LINGER_S)
    reader.stdin.write("begin\n")
    reader.stdin.flush()
    time.sleep(options.seconds)
    said, _ = reader.communicate("end\n")
    keeper.communicate()
    return {name: int(value) for name, (value,) in figures(said.splitlines()).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sockets", type=int, default=100_000)
    parser.add_argument("--closes", type=int, default=1000, help="each second")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    need_sandbox("openings")
    set_up_network()
    Path("/proc/sys/net/ipv4/tcp_orphan_retries").write_text("1")  # of the sandbox's namespace
    with tempfile.TemporaryDirectory() as directory, cgroups.mounted(Path(directory)) as root, \
            cgroups.made(root) as cgroup:  # which this process enters
        counts = measure(options, cgroup)
    share = counts["found"] / counts["closed"]
    print(f"{options.sockets:,} connections open, {counts['closed'] / options.seconds:,.0f} closed each second "
          f"for {options.seconds} s")
    print(f"closed, and known how they opened  {100 * share:.3f} % of {counts['closed']:,}; "
          f"{judge(share >= TARGET, f'at least {100 * TARGET:.0f} %')}")
    print(f"  of those, by another's note      {counts['wrong']}")
    print(f"open, and known                    {100 * counts['open_found'] / max(counts['open'], 1):.3f} % of "
          f"{counts['open']:,} samples")
    for name, when in (("_before", "before"), ("", "meanwhile")):
        print(f"{'opened ' + when:34} {counts['opened' + name]:,}; not noted for lack of room: "
              f"{counts['not_noted' + name]:,}, {100 * counts['not_noted' + name] / counts['opened' + name]:.3f} %")


if __name__ == "__main__":
    main()
