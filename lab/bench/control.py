# SPDX-License-Identifier: MIT
"""What the control socket costs: how long `riptide show` takes, and how late rounds are meanwhile.

`riptide show` of 10,000 routes against the kernel's side alone; the lateness of rounds with 200
clients that connect, ask for everything and never read, against no clients, in turns.
./dev bench control builds and runs this in a sandbox.
"""

import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "netns"))

from control import PATH, ask, connect, many, status, write_state
from netns import BUILD, MOUNTED, RIPTIDE, Daemon, Network, wait_until

ROUTES = 10000
CLIENTS = 200
ROUNDS = 40


def show_ms(host, *options):
    """The duration of one `riptide show`, and its processor time."""
    with host.entered():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run([RIPTIDE, "show", *options], check=True, stdout=subprocess.DEVNULL)
        took_ms = 1e3 * (time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took_ms, 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def print_times(name, times_ms, target_ms=None):
    low, median, high = statistics.quantiles(times_ms, n=4)
    verdict = ""
    if target_ms:
        verdict = f"; target {target_ms} ms at most: {'met' if median <= target_ms else 'MISSED'}"
    print(f"{name:34}{median:7.1f} ms  ({low:.1f} to {high:.1f}, at most {max(times_ms):.1f})"
          f"{verdict}")


def lateness_ms(n_clients):
    """How late rounds begin while that many clients send requests and never read."""
    late = {}
    asking = connect()  # before others occupy all places
    clients = [socket.socket(socket.AF_UNIX) for _ in range(n_clients)]
    for client in clients:
        client.connect(PATH)
        client.setblocking(False)
        try:
            client.sendall(b'{"request":"show"}\n')
        except OSError:
            pass  # turned away
    answers = asking.makefile("rb")
    while len(late) < ROUNDS:
        asking.sendall(b'{"request":"status"}\n')
        found = json.loads(answers.readline())["round"]
        late[found["number"]] = found["late_ms"]
        time.sleep(0.02)
    for client in (*clients, answers, asking):
        client.close()
    wait_until(lambda: status()["clients"] == 1, "no clients")
    return list(late.values())


def main():
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("control: this makes network namespaces: run it with ./dev bench control")
    MOUNTED.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", BUILD, MOUNTED], check=True)
    net = Network()
    try:
        write_state("/run/state", many(ROUTES))
        with Daemon(net.host, "--policy", "paper", "--log-level", "warning", "--state", "/run/state") as daemon:
            wait_until(lambda: status()["routes"] == ROUTES, "all routes")
            rounds = ask({"request": "status"})["round"]["number"]
            wait_until(lambda: status()["round"]["number"] > rounds + 2, "a quiet daemon")
            print(f"{ROUTES} routes, interval 50 ms, {Path('/proc/loadavg').read_text().split()[0]}"
                  " processes waiting for a processor")
            for name, options in (("show", ()), ("show --json", ("--json",)),
                                  ("show, the kernel's side alone", ("--control", "none"))):
                took_ms, processor_ms = zip(*[show_ms(net.host, *options) for _ in range(15)])
                print_times(name, took_ms, None if "alone" in name else 60)
                print_times("  of that its processor time", processor_ms)
            late = {0: [], CLIENTS: []}
            for _ in range(5):
                for n_clients, found in late.items():
                    found += lateness_ms(n_clients)
            for n_clients, found in late.items():
                print_times(f"lateness, {n_clients} clients, {len(found)} rounds", found)
            worst = max(late[CLIENTS])
            print(f"latest round with {CLIENTS} clients {worst:.1f} ms (target 10 at most: "
                  f"{'met' if worst <= 10 else 'MISSED'})")
            assert daemon.is_running()
    finally:
        net.close()


if __name__ == "__main__":
    main()
