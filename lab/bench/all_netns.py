# SPDX-License-Identifier: MIT
"""What riptided --all-netns costs where nothing happens: memory of a worker, processor time of all.

./dev bench all_netns builds and runs this in a sandbox. Namespaces share one table of connections, as
by default, so that each worker's look walks all of it.
"""

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "netns"))
import cgroups  # noqa: E402
import netns  # noqa: E402


def spent_s(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def memory_kb(pid, *fields):
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(fields))


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--namespaces", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    netns.mount_build()
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root = stack.enter_context(cgroups.mounted(directory))
        cgroup = stack.enter_context(cgroups.made(root))
        hosts = [netns.Host() for _ in range(options.namespaces + 1)]
        for host in hosts:
            stack.callback(host.close)
        for host in hosts[1:]:
            host.start("sleep", "100000")
        cgroups.enter(cgroup.parent)  # no worker for this process's namespace
        hosts[0].start("sh", "-c", f"echo $$ > {cgroup}/cgroup.procs; exec sleep 100000")
        daemon = stack.enter_context(netns.Daemon(
            hosts[0], "--all-netns", "--apply", "connections", "--cgroup", cgroup, "--policy",
            "careful", "--max-share", "5%", interval="1s", has_rules=False))
        netns.wait_until(lambda: len(children(daemon.pid)) == len(hosts), "its workers")
        time.sleep(10)
        workers = children(daemon.pid)
        before = [spent_s(pid) for pid in (daemon.pid, *workers)]
        time.sleep(options.seconds)
        parent, *each = (spent_s(pid) - was for pid, was in zip((daemon.pid, *workers), before))
        private = [memory_kb(pid, "Private_") for pid in workers]
        print(f"{len(workers)} workers, each with a look a second, for {options.seconds} s:")
        print(f"  processor  workers {sum(each) / options.seconds:.2%} of a core, "
              f"parent {parent / options.seconds:.2%}")
        print(f"  memory     private {statistics.median(private):.0f} kB a worker (at most "
              f"{max(private)}), {sum(private) / 1e3:.1f} MB all; resident "
              f"{statistics.median(memory_kb(pid, 'Rss') for pid in workers):.0f} kB, of which most is "
              f"shared; parent private {memory_kb(daemon.pid, 'Private_')} kB")


if __name__ == "__main__":
    main()
