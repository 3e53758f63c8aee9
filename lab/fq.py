#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Windows of routes where the sender's device has the queue fq, which paces them.

Runs itself in a guest kernel with sch_fq, even if the host's lacks it: Debian's user-mode-linux, a
program that needs neither root nor KVM and uses the host's files. The path is the guest's
tbf and netem, as programs are late there. Needs a build with tests.
"""

import ctypes
import os
import platform
import shutil
import statistics
import subprocess
import sys
import traceback
from pathlib import Path

LAB = Path(__file__).resolve().parent
sys.path.insert(0, str(LAB / "traffic"))
from traffic import BUILD, Traffic, Transfer  # noqa: E402

MODULES = ("net/sched/sch_fq", "net/sched/sch_tbf", "net/sched/sch_netem", "drivers/net/veth")
SYS_FINIT_MODULE = 313  # on x86_64, as the package is
SENDER, RECEIVER = "10.9.1.1", "10.9.4.1"
RTT_MS, RATE_MBIT, OBJECT_BYTES, REPETITIONS = 100, 20, 100000, 10
BUFFERS_BDP = (0.1, 0.25)
KINDS = {"pull": "accepted", "push": "opened"}  # how the sender gets the connection
PLAIN = "pfifo limit 1000"
ARMS = (  # name, initcwnd of the route, queue, window of the program
    ("10", 10, PLAIN, "0"), ("10, fq", 10, "fq", "0"),
    ("100 by a route", 100, PLAIN, "0"), ("100 by a route, fq", 100, "fq", "0"),
    ("100 by the program over half", 10, PLAIN, "100 pacing_percent=50"),
    ("100 by the program over one", 10, PLAIN, "100 pacing_percent=100"))


def boot():
    """Boots the guest, whose first process is this file."""
    linux = shutil.which("linux.uml") or sys.exit("fq: no linux.uml: apt-get install user-mode-linux")
    modules = Path(linux).resolve().parents[1] / "lib/uml/modules"
    subprocess.run([linux, "mem=512M", "rootfstype=hostfs", "rootflags=/", "ro", "con=null", "con0=fd:0,fd:1",
                    "quiet", f"init={Path(__file__).resolve()}", f"MODULES={modules}", f"RIPTIDE_BUILD={BUILD}"],
                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def run(line, **options):
    subprocess.run(line.split(), check=True, **options)


def prepare():
    """Makes namespaces in a row: sender, bottleneck, path, receiver."""
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", TMPDIR="/run")
    for kind, target in ("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("cgroup2", "/run/cgroup"):
        os.makedirs(target, exist_ok=True)
        run(f"mount -t {kind} {kind} {target}")
    libc = ctypes.CDLL(None, use_errno=True)
    for name in MODULES:
        path = Path(os.environ["MODULES"], platform.release(), "kernel", f"{name}.ko")
        with path.open("rb") as module:
            if libc.syscall(SYS_FINIT_MODULE, module.fileno(), b"", 0) < 0:
                raise OSError(ctypes.get_errno(), str(path))
    for name in "sabd":
        run(f"ip netns add {name}")
        run(f"ip netns exec {name} sysctl -qw net.ipv4.ip_forward=1 net.ipv4.tcp_no_metrics_save=1")
    run(f"ip -n s addr add {SENDER} dev lo")
    run(f"ip -n d addr add {RECEIVER} dev lo")
    for i, (near, far) in enumerate(("sa", "ab", "bd")):
        run(f"ip -n {near} link add right type veth peer name left netns {far}")
        for name, device, host in (near, "right", 1), (far, "left", 2):
            run(f"ip -n {name} addr add 10.8.{i}.{host}/24 dev {device}")
            run(f"ip -n {name} link set {device} up gso_max_segs 1")
        run(f"ip -n {near} route add 10.9.4.0/24 via 10.8.{i}.2")
        run(f"ip -n {far} route add 10.9.1.0/24 via 10.8.{i}.1" + f" src {RECEIVER}" * (far == "d"))
    for name, device in ("b", "right"), ("d", "left"):
        run(f"tc -n {name} qdisc add dev {device} root netem delay {RTT_MS / 2}ms limit 10000")


def report():
    print(f"Linux {platform.release()}: {OBJECT_BYTES // 1000} KB over {RTT_MS} ms and {RATE_MBIT} Mbit/s,"
          f" {REPETITIONS} times:\nmedian ms (least to most) / segments retransmitted, percent")
    program = subprocess.Popen(["ip", "netns", "exec", "s", str(BUILD / "tests/netns/program"), "/run/cgroup"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    program.stdout.readline()  # it is ready
    traffic = Traffic({"s": SENDER, "d": RECEIVER})
    for buffer_bdp in BUFFERS_BDP:
        limit = round(buffer_bdp * RATE_MBIT * RTT_MS * 125)
        run(f"tc -n a qdisc replace dev right root tbf rate {RATE_MBIT}mbit burst 3kb limit {limit}")
        for name, by_route, queue, per_connection in ARMS:
            run(f"ip -n s route replace 10.9.4.0/24 via 10.8.0.2 src {SENDER} initcwnd {by_route}")
            run(f"tc -n s qdisc replace dev right root {queue}")
            program.stdin.write(f"set 0.0.0.0/0 {per_connection}\n")
            if not (answer := program.stdout.readline()).startswith("0 "):
                raise RuntimeError(f"windows by the program: {answer}")
            for kind, way in KINDS.items():
                done = [result for _ in range(REPETITIONS) for result in
                        traffic.run([Transfer("s", "d", OBJECT_BYTES, kind=kind)])]
                times_ms = [one.done_us / 1e3 for one in done]
                again = sum(one.retrans_segs for one in done) / sum(one.data_segs for one in done)
                print(f"buffer {buffer_bdp:<4}  {name:<28} {way:<8}  {statistics.median(times_ms):4.0f}"
                      f" ({min(times_ms):.0f} to {max(times_ms):.0f}) / {100 * again:.1f}", flush=True)


def main():
    if os.getpid() != 1:
        boot()
        return
    try:
        prepare()
        report()
    except Exception:  # nobody sees an exception of the first process
        traceback.print_exc()
    subprocess.run(["halt", "-f", "-d"], check=False)


if __name__ == "__main__":
    main()
