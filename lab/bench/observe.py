# SPDX-License-Identifier: MIT
"""What it costs to observe N sockets: Riptide, the kernel alone, ss, the paper's script.

Each contender runs as a whole process over the same sockets, by turns; printed are medians with their
quartiles, of processor time (user and system) and peak memory. ./dev bench observe builds and runs this in a sandbox.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "common"), str(HERE / "observe"), str(HERE.parents[1] / "tests" / "netns")]
from control import write_state  # noqa: E402
from farm import LINK, Farm, set_up_network  # noqa: E402
from host import BUILD, PROGRAMS, judge, need_sandbox  # noqa: E402
from turns import Failed, ratio, spread, take_turn, take_turns  # noqa: E402

BENCH = PROGRAMS / "observe"
MEASURE, FARM = BENCH / "measure", BENCH / "farm"
RIPTIDE = BUILD / "cli" / "riptide"
RIPTIDED = str(BUILD / "cli" / "riptided")
# The farm's sockets have sent nothing: other policies would have no evidence, and set no route.
PAPER = "--policy=paper"
DESTINATIONS = 2000
MEMORY_DESTINATIONS, MEMORY_ROUNDS = 10_000, 5
HOSTS_SOCKETS, HOSTS = 100_000, 250  # the kernel tests up to 256
MANY_HOSTS = 1000, 2000, 4000, 10_000
ROUNDS = 3

CONTENDERS = {
    "floor": [BENCH / "floor"],
    "observe + compute": [BENCH / "tick"],
    "riptide observe": [RIPTIDE, "observe"],
    "ss -tinHO": ["ss", "-tinHO"],
    "paper's script": ["/usr/bin/python3", HERE / "observe" / "paper.py"],
}


class Figures:
    """The figures that have a target."""

    def __init__(self):
        self.rows = []

    def add(self, what, value, target, is_met):
        self.rows.append((what, str(value), judge(is_met, target)))

    def add_ratio(self, what, turns, name, reference, target):
        value = ratio(turns[name], turns[reference])
        self.add(what, value, f"at most {target} x", value.median <= target)

    def print(self):
        width = max((len(row[0]) for row in self.rows), default=0)
        print(f"\n{'observe + compute':{width}}  {'measured':24}target")
        for what, value, verdict in self.rows:
            print(f"{what:{width}}  {value:24}{verdict}")


def print_table(sockets, turns):
    print(f"\n{sockets} sockets, {min(sockets, DESTINATIONS)} destinations\n"
          f"{'':19}{'turns':>5}  {'processor time, ms':27}{'times the floor':25}peak, MB")
    for name, taken in turns.items():
        cpu_ms = spread([1e3 * turn.cpu_s for turn in taken])
        times = ratio(taken, turns["floor"])
        peak_mb = max(turn.peak_kb for turn in taken) / 1024
        print(f"{name:19}{len(taken):5}  {str(cpu_ms):27}{str(times):25}{peak_mb:8.1f}", flush=True)


def expect(what, found, expected):
    """Ends the bench unless the routes exist: its figures would be of something else."""
    if found != expected:
        sys.exit(f"observe: {found} {what}, not {expected}: this is not what is to be measured")


def expect_windows(expected, *scope):
    done = subprocess.run([BENCH / "tick", *scope], stdout=subprocess.PIPE, text=True, check=False)
    expect("windows", int(re.search(r"(\d+) windows", done.stdout)[1]), expected)


def run_riptided_once(routes):
    # A window of ten gets no route.
    turn = take_turn(MEASURE, [RIPTIDED, PAPER, "--cwnd-min", "12", "--once", "--log-level", "error"])
    shown = subprocess.run(["ip", "route", "show", "table", "7230"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False).stdout  # no table: no route
    expect("routes", shown.count(b" initcwnd "), routes)
    subprocess.run([RIPTIDED, "--flush"], stderr=subprocess.DEVNULL, check=True)
    return turn


def bench_rounds(sockets):
    """Compares whole rounds, with routes, on which the script spends most of its time."""
    turns = {"riptided": [], "script": []}
    for _ in range(ROUNDS):
        turns["riptided"].append(run_riptided_once(DESTINATIONS))
        turns["script"].append(take_turn(MEASURE, [*CONTENDERS["paper's script"], LINK]))
        subprocess.run(["ip", "route", "flush", "proto", "static"], check=True)
    ms = {name: spread([1e3 * turn.cpu_s for turn in taken]) for name, taken in turns.items()}
    print(f"{sockets} sockets, a whole round with {DESTINATIONS} routes, processor time: riptided "
          f"{ms['riptided']} ms, the paper's script with ip(8) {ms['script']} ms, "
          f"{ratio(turns['script'], turns['riptided'])} times", flush=True)


def bench_contenders(sockets, repeat, figures):
    expect_windows(min(sockets, DESTINATIONS))
    turns = take_turns(MEASURE, CONTENDERS, repeat)
    print_table(sockets, turns)
    if sockets == 100_000:
        figures.add_ratio(f"{sockets} sockets, against the paper's script", turns,
                          "observe + compute", "paper's script", 0.05)
        bench_rounds(sockets)
    return turns


def bench_largest(sockets, repeat, turns, figures):
    """Measurements with the largest number of sockets."""
    what = f"{sockets} sockets"
    figures.add_ratio(f"{what}, against the floor", turns, "observe + compute", "floor", 1.10)
    figures.add_ratio(f"{what}, against ss", turns, "observe + compute", "ss -tinHO", 0.28)
    figures.add_ratio(f"{what}, riptide observe, against the floor", turns, "riptide observe", "floor", 1.12)
    peak_mb = max(turn.peak_kb for turn in turns["riptide observe"]) / 1024
    figures.add(f"{what}, riptide observe, peak memory", f"{peak_mb:.1f} MB", "at most 6.9 MB", peak_mb <= 6.9)
    expect_windows(2, "10.64.0.0/31")
    scoped = take_turns(MEASURE, {
        "unscoped": [BENCH / "tick"],
        "scoped": [BENCH / "tick", "10.64.0.0/31"],  # two of 2,000 destinations
        "riptide observe": [RIPTIDE, "observe"],
        "riptide observe, scoped": [RIPTIDE, "observe", "10.64.0.0/31"],
    }, repeat)
    figures.add_ratio(f"{what}, scope of 1 in 1000, against unscoped", scoped, "scoped",
                      "unscoped", 0.30)
    figures.add_ratio(f"{what}, scope of 1 in 1000, riptide observe", scoped, "riptide observe, scoped",
                      "riptide observe", 0.30)


def bench_dispatch(sockets, figures):
    done = subprocess.run([BENCH / "dispatch", "3", str(min(sockets, DESTINATIONS))],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("observe: no figures of dispatches")  # the program has printed why
    for line in done.stdout.splitlines():
        part, n, *times = line.split()
        wall_us, own_us = [float(t) for t in times[:3]], [float(t) for t in times[3:]]
        print(f"dispatches, {part:5}: {n:>6}, us: median {own_us[0]:.0f}, p99 {own_us[1]:.0f}, "
              f"longest {own_us[2]:.0f} of the thread; {wall_us[0]:.0f}, {wall_us[1]:.0f}, "
              f"{wall_us[2]:.0f} by the wall", flush=True)
        if part == "dump":
            for name, own, limit_us in ("longest", own_us[2], 1000), ("p99", own_us[1], 300):
                figures.add(f"{sockets} sockets, {name} dispatch, time of the thread",
                            f"{own / 1e3:.2f} ms", f"at most {limit_us / 1e3:g} ms",
                            own <= limit_us)


def side_by_side(n):
    """`n` hosts, evenly over adjacent addresses, with one socket each."""
    return [f"10.{64 + (i >> 16)}.{i >> 8 & 255}.{i & 255}"
            for i in range(0, HOSTS_SOCKETS, HOSTS_SOCKETS // n)]


def bench_hosts(repeat, figures):
    """A scope of single hosts among 100,000, and of more than fit in a filter."""
    hosts = side_by_side(HOSTS)
    with Farm(FARM, HOSTS_SOCKETS, HOSTS_SOCKETS):
        expect_windows(HOSTS, *hosts)
        turns = take_turns(MEASURE, {
            "unscoped": [BENCH / "tick"],
            "scoped": [BENCH / "tick", *hosts],
            **{n: [BENCH / "tick", *side_by_side(n)] for n in MANY_HOSTS},
        }, repeat)
    for n in MANY_HOSTS:
        print(f"{HOSTS_SOCKETS} sockets, scope of {n} hosts among as many, against unscoped: "
              f"{ratio(turns[n], turns['unscoped'])}")
    what = f"{HOSTS_SOCKETS} sockets, scope of {HOSTS} hosts, 1 in {HOSTS_SOCKETS // HOSTS}"
    figures.add_ratio(f"{what}, against unscoped", turns, "scoped", "unscoped", 0.40)


def memory_kb(pid, field):
    return int(re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def memory_after(rounds, field, destinations, *options):
    """The memory of a riptided after each of these numbers of rounds, by its log."""
    n, sizes_kb = 0, []
    command = [RIPTIDED, "--log-level", "debug", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as riptided:
        for line in riptided.stderr:
            if not (found := re.search(r"tick: .* destinations (\d+)", line)):
                continue
            n += 1
            if n in rounds:
                sizes_kb.append(memory_kb(riptided.pid, field))
            if n == rounds[-1]:
                riptided.terminate()
                expect("destinations", int(found[1]), destinations)
    if n < rounds[-1]:
        raise Failed(f"riptided ended after {n} rounds")
    return sizes_kb


def bench_memory(sockets, figures):
    """Memory after one round, some, and some with the default policy, which has no evidence
    from these sockets, and begins with windows for all."""
    destinations = min(sockets, MEMORY_DESTINATIONS)
    with Farm(FARM, sockets, MEMORY_DESTINATIONS), tempfile.TemporaryDirectory() as directory:
        state = Path(directory) / "state"
        write_state(state, {f"10.64.{i >> 8}.{i & 255}": 40 for i in range(destinations)})
        peaks_kb = {"paper, --once": run_riptided_once(destinations).peak_kb}
        for what, *options in (
                ("paper, no events", PAPER, "--holdout-percent=0"),
                ("default policy", f"--state={state}")):
            (peaks_kb[what],) = memory_after([MEMORY_ROUNDS], "VmHWM", destinations, *options)
    for what, peak_kb in peaks_kb.items():
        figures.add(f"{sockets} sockets, {destinations} destinations, peak memory, {what}",
                    f"{peak_kb / 1024:.2f} MB", "at most 6 MB", peak_kb <= 6 * 1024)


def bench_growth(figures):
    with Farm(FARM, 1000, 1000):
        before_kb, after_kb = memory_after([1000, 2000], "VmRSS", 1000,
                                            PAPER, "--interval=10ms", "--max-share=0")
    growth_kb = after_kb - before_kb
    figures.add("1000 sockets, growth of riptided over 1000 rounds", f"{growth_kb} KB", "none",
                growth_kb <= 0)


def bench_sockets(sockets, options, figures):
    with Farm(FARM, sockets, DESTINATIONS):
        turns = bench_contenders(sockets, options.repeat, figures)
        if sockets == options.sockets[-1]:
            bench_largest(sockets, options.repeat, turns, figures)
            bench_dispatch(sockets, figures)


def attempt(what, bench, *arguments):
    """Runs a part; if it is not possible here, prints why and leaves it out."""
    try:
        bench(*arguments)
    except (Failed, OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(f"{what}: left out: {error}", flush=True)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sockets", default="1000,10000,100000", help="default: %(default)s")
    parser.add_argument("--full", action="store_true", help="1,000,000 as well: 4 GB, ten minutes")
    parser.add_argument("--repeat", type=int, default=7, help="turns of each; default: %(default)s")
    parser.add_argument("--parts", default="sockets,hosts,memory,growth", help="some of %(default)s")
    options = parser.parse_args()
    options.sockets = sorted({int(n) for n in options.sockets.split(",")})
    if options.full:
        options.sockets = sorted({*options.sockets, 1_000_000})
    need_sandbox("observe")
    return options


def main():
    options = parse_options()
    figures = Figures()
    set_up_network()
    parts = options.parts.split(",")
    for sockets in options.sockets if "sockets" in parts else ():
        attempt(f"{sockets} sockets", bench_sockets, sockets, options, figures)
    if "hosts" in parts:
        attempt("a scope of hosts", bench_hosts, options.repeat, figures)
    if "memory" in parts:
        attempt("memory", bench_memory, options.sockets[-1], figures)
    if "growth" in parts:
        attempt("growth", bench_growth, figures)
    figures.print()


if __name__ == "__main__":
    main()
