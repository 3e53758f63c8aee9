# SPDX-License-Identifier: MIT
"""three and ten hosts of a site with riptide-fleet and without, and hosts that join: connections until the window is right

Hosts of a group share a path with a small buffer and with each other's and cross traffic; their windows begin at 57 and
have trials. Half of the groups share the results by riptide-fleet and a Redis or Valkey; the others send as much and keep
to themselves. At the end of the run new hosts begin in the group of ten: some join the site, some do not. First, groups
with one window for all say which rung costs least. A host is there when its window is that rung or one beside it.
--cells slow: hosts open a fourth as many connections a second, for four times as long.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import figures
import pool
from testbed import Testbed
from traffic import Transfer

PACKAGE = Path(__file__).resolve().parents[2] / "bindings/python/riptide"
SERVER = shutil.which("valkey-server") or shutil.which("redis-server")
GROUPS = ((3, False), (3, True), (10, False), (10, True))  # hosts, and whether they share
JOINED, COLD = 3, 3  # hosts that start late, in the last group
CROSS_BYTES, CROSS_PER_S = 1_000_000, 0.75  # sent by another host over each path
REPETITIONS, RUN_S, JOIN_S, FIRST = 2, 110, 60, 100
READ_S, TURN_S = 1, 1


def addresses():
    found = {}
    for group, (n, _) in enumerate(GROUPS):
        names = [f"g{group}h{i}" for i in range(n + (JOINED + COLD) * (group == len(GROUPS) - 1))]
        found.update({name: f"10.9.{group}.{i + 2}" for i, name in enumerate(names)})
        found.update({f"cross{group}": f"10.9.{group}.250", f"far{group}": f"10.9.{group}.1"})
    return found


def testbed_of(evaluation):
    hosts = addresses()
    return Testbed(evaluation, hosts, [*(f"to={name},{pool.PATH}" for name in hosts if name.startswith("far")),
                                       *(f"to={name},delay=30ms" for name in hosts if not name.startswith("far"))])


def plan(drawn, sender, group, begin_s, end_s, per_s):
    (low, high), found = pool.SIZES_BYTES, []
    is_cross = sender.startswith("cross")
    per_s = CROSS_PER_S if is_cross else per_s
    at_s = begin_s + drawn.expovariate(per_s)
    while at_s < end_s:
        n_bytes = CROSS_BYTES if is_cross else round(low * (high / low) ** drawn.random())
        found.append(Transfer(sender, f"far{group}", n_bytes, at_s))
        at_s += drawn.expovariate(per_s)
    return found


def start(testbed, folder, name, group, shares):
    """Starts riptided on a host, its window beginning at 57, and riptide-fleet if it shares."""
    state = folder / f"{name}.state"
    state.write_text(f"riptide state 2 saved_ns={time.time_ns()}\n10.9.{group}.1 cwnd={pool.BEGIN_CWND} samples=1"
                     f" smoothed={pool.BEGIN_CWND} age_ns=1\n", encoding="ascii")
    testbed.start_riptided([name], "--cgroup", testbed.cgroup(), "--state", state, *pool.OPTIONS)
    if not shares:
        return None
    conf = folder / f"{name}.conf"
    conf.write_text(f"site = group{group}\nengine = unix://{folder}/socket\nhost = {name}\ncontrol = /run/riptide-{name}\n"
                    f"interval = {TURN_S}\n", encoding="ascii")
    return subprocess.Popen([sys.executable, "-B", "-m", "fleet", "--config", conf],
                            env={**os.environ, "PYTHONPATH": str(PACKAGE)})


def window_of(name, group):
    with socket.socket(socket.AF_UNIX) as riptided:
        try:
            riptided.connect(f"/run/riptide-{name}")
        except OSError:  # it has not started yet
            return None
        riptided.sendall(json.dumps({"request": "explain", "dst": f"10.9.{group}.1"}).encode() + b"\n")
        window = json.loads(riptided.makefile().readline())["window"]
    return window and window["cwnd"]


def play(evaluation, repetition, run_s, join_s, per_s, folder):
    """[(seconds, window)] of each host, the results, and whether packets were on time."""
    hosts = {name: int(name[1]) for name in addresses() if name.startswith("g")}
    last = len(GROUPS) - 1
    late = [name for name in hosts if hosts[name] == last and int(name.split("h")[1]) >= GROUPS[last][0]]
    transfers = []
    for name in addresses():
        if not name.startswith("far"):
            group = int(name[1]) if name in hosts else int(name.removeprefix("cross"))
            # A host alone and its counterpart that shares send the same plan.
            drawn = evaluation.drawn(repetition, name.replace(f"g{group}h", f"of{GROUPS[group][0]}h") if name in hosts
                                     else f"cross{GROUPS[group][0]}")
            begin_s, end_s = (run_s if name in late else 0), (run_s + join_s if group == last else run_s)
            transfers += plan(drawn, name, group, begin_s, end_s, per_s)
    fleets, rows = [], {name: [] for name in hosts}
    server = subprocess.Popen([SERVER, "--port", "0", "--unixsocket", folder / "socket", "--save", ""], stdout=subprocess.DEVNULL)
    try:
        with testbed_of(evaluation) as testbed, ThreadPoolExecutor(1) as threads:
            for name, group in hosts.items():
                if name not in late:
                    fleets.append(start(testbed, folder, name, group, GROUPS[group][1]))
            time.sleep(pool.ARMS_S)
            sending = threads.submit(testbed.transfer, transfers, run_s + join_s + pool.SETTLE_S)
            begun_s, is_late, next_s = time.monotonic(), False, time.monotonic()
            while not sending.done():
                if not is_late and time.monotonic() - begun_s > run_s - pool.ARMS_S - 5:
                    is_late = True
                    for i, name in enumerate(late):
                        fleets.append(start(testbed, folder, name, last, i < JOINED))
                for name, group in hosts.items():
                    rows[name].append((time.monotonic(), window_of(name, group)))
                next_s += READ_S
                time.sleep(max(0, next_s - time.monotonic()))
            go_s, results = testbed.traffic.go_s, sending.result()
            for fleet in filter(None, fleets):
                fleet.terminate()
                fleet.wait()
    finally:
        server.kill()
        server.wait()
    rows = {name: [(at_s - go_s, cwnd) for at_s, cwnd in read] for name, read in rows.items()}
    return rows, late, results, testbed.on_time


def times_of(results, name, begin_s, n=None):
    """Costs of a host's first n connections from that time on."""
    found = sorted((one for one in results if one.sender == name and one.start_us / 1e6 >= begin_s and one.complete
                    and one.min_rtt_us), key=lambda one: one.start_us)
    return [pool.cost(one) for one in found[:n]]


def evaluate(evaluation):
    if not SERVER:
        raise SystemExit("lab: no valkey-server or redis-server")
    best = pool.find_best(evaluation)
    right = pool.RUNGS[max(pool.RUNGS.index(best) - 1, 0):pool.RUNGS.index(best) + 2]
    evaluation.say(f"best: {best}; a host is there with {', '.join(map(str, right))}")
    table = evaluation.table("hosts", "repetition", "hosts", "is_pooled", "host", "connections", "is_there", "last_cwnd", "on_time")
    first = evaluation.table("first", "repetition", "kind", "host", "n", "cost", "on_time")
    slower = 4 if evaluation.cells == "slow" else 1
    repetitions, run_s, join_s = (1, 15, 15) if evaluation.quick else (
        evaluation.repetitions or REPETITIONS, RUN_S * slower, JOIN_S * slower)
    counts, costs, pictured = {}, {"long": [], "joined": [], "cold": []}, None
    for repetition in evaluation.steps(range(repetitions)):
        with tempfile.TemporaryDirectory() as folder:
            rows, late, results, is_on_time = play(evaluation, repetition, run_s, join_s, pool.PER_S / slower, Path(folder))
        pictured = pictured or (rows, late)
        for name, read in rows.items():
            group = int(name[1])
            if name in late:
                continue
            at_s = next((at_s for at_s, cwnd in read if cwnd in right), None)
            if at_s is not None and at_s >= run_s:
                at_s = None
            n = sum(one.start_us / 1e6 < (run_s if at_s is None else at_s) for one in results if one.sender == name)
            counts.setdefault(GROUPS[group], []).append((n, at_s is not None))
            table.add(repetition, GROUPS[group][0], int(GROUPS[group][1]), name, n, at_s is not None, read[-1][1], is_on_time)
        last = len(GROUPS) - 1
        for name in (name for name in rows if name.startswith(f"g{last}")):
            kind = "long" if name not in late else "joined" if late.index(name) < JOINED else "cold"
            found = times_of(results, name, run_s, FIRST)
            costs[kind] += found
            first.add(repetition, kind, name, len(found), sum(found) / max(len(found), 1), is_on_time)
    draw(evaluation, right, *pictured)
    means = {}
    for (n_hosts, is_pooled), found in counts.items():
        means[n_hosts, is_pooled] = figures.estimate_mean([n for n, _ in found])
        evaluation.say(f"{n_hosts} hosts, {'sharing' if is_pooled else 'alone'}: {means[n_hosts, is_pooled]} connections each, median"
                       f" {sorted(n for n, _ in found)[len(found) // 2]}; never there: {sum(not there for _, there in found)}"
                       f" of {len(found)}, which count with all that they had")
    ratios = {n: means[n, True].value / max(means[n, False].value, 1) for n in (3, 10)}
    base = figures.estimate_mean(costs["long"]).value
    more = {}
    for kind in "joined", "cold":
        one = figures.estimate_mean([cost - base for cost in costs[kind]])
        more[kind] = one
        evaluation.say(f"the first {FIRST} connections of {kind} hosts ({len(costs[kind])}) take {100 * one.value:+.1f} %"
                       f" ({100 * one.low:+.1f} to {100 * one.high:+.1f}) more time than those of hosts that have run for"
                       f" {run_s} s at the same time ({len(costs['long'])})")
    joined = more["joined"]
    evaluation.verdict(
        f"Ten hosts that share need {ratios[10]:.2f} times the connections of ten alone; a sixth:"
        f" {'met' if ratios[10] <= 1 / 6 else 'missed'}. Three: {ratios[3]:.2f}.",
        f"\"Long\" is {run_s} s here, not an hour. A joined host's first {FIRST} connections take {100 * joined.value:+.1f} % more time than a long-running host's; within 3 %:"
        f" {'met' if abs(joined.value) <= 0.03 else 'not excluded' if joined.low <= 0.03 else 'missed'}; a cold one's"
        f" {100 * more['cold'].value:+.1f} %.")


def draw(evaluation, right, rows, late):
    """Draws windows of ten hosts alone, of ten that share, and of late ones; one repetition."""
    alone, last = len(GROUPS) - 2, len(GROUPS) - 1
    shown = ("ten hosts alone", [name for name in rows if int(name[1]) == alone], "C0"), \
        ("ten hosts that share", [name for name in rows if int(name[1]) == last and name not in late], "C1"), \
        ("hosts that begin late: joined (green), cold (red)", late, None)
    with evaluation.picture("fleet", 1, len(shown)) as (_, axes):
        for axis, (words, names, color) in zip(axes, shown):
            axis.axhspan(right[0], right[-1], color="0.9")
            for i, name in enumerate(names):
                axis.step([at_s for at_s, cwnd in rows[name] if cwnd], [cwnd for _, cwnd in rows[name] if cwnd],
                          color=color or ("C2" if i < JOINED else "C3"), alpha=0.6, where="post")
            axis.set(title=words, xlabel="seconds", ylabel="window, segments", ylim=(0, 80))
