# SPDX-License-Identifier: MIT
"""What riptided costs a host, and how fast it comes and goes.

Real connections between network namespaces, the real daemon. Processor time is the kernel's count
for the process, its system calls included. ./dev bench daemon builds and runs this in a sandbox.
"""

import argparse
import contextlib
import os
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "common"), str(HERE.parents[1] / "tests" / "netns")]
import cgroups  # noqa: E402
import netns  # noqa: E402
from connection import tcp_info  # noqa: E402
from control import many, write_state  # noqa: E402
from host import judge, need_sandbox  # noqa: E402

SOCKETS, DESTINATIONS, ROUTES = 1000, 100, 10000
RESTARTED = 1000  # destinations
# The mean of open connections: as these have sent no data, other policies have no evidence.
POLICY = ("--policy", "paper", "--cwnd-min", "20")  # idle connections show 10, which gets no route
CONNECTIONS_AT_ONCE = 5000  # each is two of the 20,000 files that a process may have
# Buckets of the kernel's table of connections, which a dump walks: as on hosts with 8 and 32 GB.
# Each namespace here has its own table, or the machine's connections would count.
TABLES = (65536, 262144)
FAMILIES = {"IPv4": (socket.AF_INET, "198.18.{}.{}"), "IPv6": (socket.AF_INET6, "2001:db8:{:x}:{:x}::1")}
RESET = b"\1\0\0\0\0\0\0\0"  # struct linger: reset at once


@contextlib.contextmanager
def network(table_entries=TABLES[0]):
    """A host and the world, each with a table of connections of its own."""
    Path("/proc/sys/net/ipv4/tcp_child_ehash_entries").write_text(str(table_entries))
    net = netns.Network()
    net.world.batch("route add local 198.18.0.0/15 dev lo\n")
    net.world.sysctl("core/somaxconn", 4096)
    try:
        yield net
    finally:
        net.close()


@contextlib.contextmanager
def connections(net, family, addresses):
    """Opens a connection from the host to each of the addresses."""
    ends = []
    with net.world.socket(family) as listener:
        listener.bind(("", 0))
        listener.listen(4096)
        with net.host.entered():
            for address in addresses:
                ends.append(socket.create_connection((address, listener.getsockname()[1])))
                ends.append(listener.accept()[0])
        yield
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.close()


def spent_ns(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def memory_kb(pid, field):
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def steady(table_entries, n_sockets, options):
    """(processor time of a round in ms, resident kB) once the routes are there."""
    with network(table_entries) as net:
        addresses = [f"198.51.100.{n % DESTINATIONS + 1}" for n in range(n_sockets)]
        with connections(net, socket.AF_INET, addresses), \
                netns.Daemon(net.host, *POLICY, interval=f"{options.interval_ms}ms") as daemon:
            netns.wait_until(lambda: len(netns.routes(net.host)) == len(set(addresses)), "routes")
            rounds_ms = []
            for _ in range(options.repeat):
                before = spent_ns(daemon.pid)
                time.sleep(options.ticks * options.interval_ms / 1e3)
                rounds_ms.append((spent_ns(daemon.pid) - before) / 1e6 / options.ticks)
            return statistics.median(rounds_ms), memory_kb(daemon.pid, "VmHWM")


def first_route_ms():
    """From the start of the program to a route in the kernel."""
    with network() as net, connections(net, socket.AF_INET, ["198.51.100.1"]):
        start = time.perf_counter()
        daemon = netns.Daemon(net.host, *netns.BY_ROUTES, *POLICY, interval="1s")
        netns.wait_until(lambda: netns.routes(net.host), "a route")
        elapsed = 1e3 * (time.perf_counter() - start)
        with daemon:
            return elapsed


def learn(net, name, state):
    """Makes a state file with all destinations."""
    family, form = FAMILIES[name]
    addresses = [form.format(n >> 8, n & 255) for n in range(256, 256 + ROUTES)]
    with netns.Daemon(net.host, *netns.BY_ROUTES, *POLICY, "--state", state, interval="100ms"):
        for n in range(0, ROUTES, CONNECTIONS_AT_ONCE):
            with connections(net, family, addresses[n:n + CONNECTIONS_AT_ONCE]):
                netns.wait_until(lambda: len(netns.routes(net.host)) >= n + CONNECTIONS_AT_ONCE, "routes")


def end_ms(net, state):
    """Times from SIGTERM: until the kernel is clean, by the daemon's log; until its end, with
    the state on disk; its processor time. And its resident kB before."""
    pipe = Path("/run/said")
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    command = ("sh", "-c", f'exec "$@" 2>{pipe}', "sh", netns.RIPTIDED)
    with netns.Daemon(net.host, *netns.BY_ROUTES, *POLICY, "--state", state, command=command,
                      interval="100ms") as daemon:
        netns.wait_until(lambda: len(netns.routes(net.host)) == ROUTES, "routes")
        peak_kb, before_ns = memory_kb(daemon.pid, "VmHWM"), spent_ns(daemon.pid)
        while select.select([reading], [], [], 0)[0]:
            os.read(reading, 1 << 16)
        os.set_blocking(reading, True)
        start = time.perf_counter()
        daemon.process.send_signal(signal.SIGTERM)
        with open(reading) as said:
            next(line for line in said if "all windows are withdrawn" in line)
        left_ms = 1e3 * (time.perf_counter() - start)
        usage = os.wait4(daemon.pid, 0)[2]
        elapsed_ms = 1e3 * (time.perf_counter() - start)
        daemon.process.returncode = 0
    assert not netns.routes(net.host) and not netns.rules(net.host)
    return left_ms, elapsed_ms, 1e3 * (usage.ru_utime + usage.ru_stime) - before_ns / 1e6, peak_kb


def restart_ms(net, cgroup, state, apply):
    """For how long new connections start with the kernel's window while a service manager restarts
    riptided: SIGTERM, the end, ExecStopPost=, the start."""
    addresses = [f"198.18.{n >> 8}.{n & 255}" for n in range(256, 256 + RESTARTED)]
    write_state(state, dict.fromkeys(addresses, 40))
    options = ("--state", state, "--apply", apply, "--holdout-percent", "0", "--ttl", "2h")
    if apply != "routes":
        options += ("--cgroup", cgroup)
    script = '"$@" & echo $!; wait $!; "$0" --flush; exec "$@"'
    with tempfile.TemporaryFile() as log, net.world.socket(socket.AF_INET) as listener, net.host.entered():
        listener.bind(("", 0))
        listener.listen(64)
        service = net.host.start("sh", "-c", script, netns.RIPTIDED, netns.RIPTIDED, *options,
                                 stdout=subprocess.PIPE, stderr=log)
        first = int(service.stdout.readline())

        def starts(n):
            with socket.create_connection((addresses[n % RESTARTED], listener.getsockname()[1])) as one:
                cwnd = tcp_info(one).cwnd
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            listener.accept()[0].close()
            return cwnd > 10
        netns.wait_until(lambda: len(netns.routes(net.host)) == RESTARTED, "routes")
        netns.wait_until(lambda: all(map(starts, range(RESTARTED))), "windows")
        last_ns = time.monotonic_ns()  # of a connection with its window
        began_ns = ended_ns = None
        os.kill(first, signal.SIGTERM)
        n = n_since = 0
        while n_since < 2 * RESTARTED:
            now_ns = time.monotonic_ns()
            if starts(n * 7):
                ended_ns = ended_ns or now_ns
                last_ns, n_since = now_ns, n_since + (began_ns is not None)
            else:
                began_ns = began_ns or last_ns
                ended_ns, n_since = None, 0
            n += 1
        service.terminate()
        service.wait()
    return (ended_ns - began_ns) / 1e6


def verdict(value, target):
    return judge(value <= target, f"at most {target:g}")


def bench_steady(options):
    print(f"processor time at 1 Hz (measured: a round each {options.interval_ms} ms, "
          f"{options.ticks} rounds, median of {options.repeat})")
    for table in TABLES:
        floor_ms, _ = steady(table, 0, options)
        round_ms, resident_kb = steady(table, SOCKETS, options)
        print(f"  {SOCKETS:,} sockets, {DESTINATIONS} destinations, kernel's table of "
              f"{table:,}: {round_ms / 10:.3f} % ({verdict(round_ms / 10, 0.2)}); "
              f"{floor_ms / 10:.3f} % without any socket")
    print(f"resident: {resident_kb / 1024:.1f} MB ({verdict(resident_kb / 1024, 4)})")


def bench_start(options):
    times_ms = [first_route_ms() for _ in range(options.repeat)]
    print(f"start to first route at 1 s: {statistics.median(times_ms):.0f} ms, "
          f"{max(times_ms):.0f} at most ({verdict(max(times_ms), 1200)})")


def bench_end(options):
    for name in FAMILIES:
        with network() as net, tempfile.TemporaryDirectory() as directory:
            state = Path(directory) / "state"
            learn(net, name, state)
            ends = [end_ms(net, state) for _ in range(options.repeat)]
        left_ms, end, processor_ms, peak_kb = zip(*ends)
        print(f"SIGTERM to nothing left, {ROUTES:,} {name} routes: "
              f"{statistics.median(left_ms):.1f} ms ({min(left_ms):.1f} to {max(left_ms):.1f}; "
              f"{verdict(statistics.median(left_ms), 50)}); to its end {statistics.median(end):.1f} ms "
              f"({max(end):.1f} at most), processor {statistics.median(processor_ms):.1f} ms; "
              f"{max(peak_kb) / 1024:.1f} MB resident before")


def bench_restart(options):
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as mount, network() as net, \
            cgroups.mounted(Path(mount)) as root, cgroups.made(root) as cgroup:
        for apply in ("routes", "both"):
            times_ms = [restart_ms(net, cgroup, Path(directory) / "state", apply) for _ in range(options.repeat)]
            print(f"a restart with {RESTARTED:,} destinations, --apply {apply}: connections start with the kernel's "
                  f"window for {statistics.median(times_ms):.0f} ms, {max(times_ms):.0f} at most "
                  f"({verdict(statistics.median(times_ms), 150)})")


def bench_show(options):
    with network() as net, tempfile.TemporaryDirectory() as directory, net.host.entered():
        state = Path(directory) / "state"
        write_state(state, many(ROUTES))
        with netns.Daemon(net.host, *POLICY, "--state", state, "--log-level", "warning"):
            netns.wait_until(lambda: len(netns.routes(net.host)) == ROUTES, "routes")
            for words, target_ms in ((["show"], 60), (["show", "--json"], 120)):
                times_ms = []
                for _ in range(3 * options.repeat):
                    start = time.perf_counter()
                    subprocess.run([netns.RIPTIDE, *words], check=True, stdout=subprocess.DEVNULL)
                    times_ms.append(1e3 * (time.perf_counter() - start))
                median_ms = statistics.median(times_ms)
                print(f"riptide {' '.join(words)}, {ROUTES:,} routes: {median_ms:.0f} ms "
                      f"({min(times_ms):.0f} to {max(times_ms):.0f}; {verdict(median_ms, target_ms)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interval-ms", type=int, default=100)
    parser.add_argument("--ticks", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", choices=("steady", "start", "end", "restart", "show"), help="one of these")
    options = parser.parse_args()
    need_sandbox("daemon")
    netns.MOUNTED.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", netns.BUILD, netns.MOUNTED], check=True)
    print(f"{Path('/proc/loadavg').read_text().split()[0]} processes waiting for a processor")
    for name, bench in (("steady", bench_steady), ("start", bench_start), ("end", bench_end),
                        ("restart", bench_restart), ("show", bench_show)):
        if options.only in (None, name):
            bench(options)


if __name__ == "__main__":
    main()
