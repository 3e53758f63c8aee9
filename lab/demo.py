# SPDX-License-Identifier: MIT
"""The main job of riptided, shown: fresh TCP connections over 120 ms, without it, with it as it is
installed, whose first flights are paced, and with routes alone.

The two hosts are network namespaces, the path between them is lab/wan's emulator. ./dev demo builds
and runs this in a sandbox. riptided learns its windows here, from connections that move data:
this file contains no window.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

LAB = Path(__file__).resolve().parent
sys.path[:0] = [str(LAB), str(LAB / "wan"), str(LAB / "traffic")]
from testbed import Testbed  # noqa: E402
from traffic import Transfer  # noqa: E402

HOSTS = {"sender": "10.9.1.1", "receiver": "10.9.2.1"}
ROUND_TRIP_MS = 120
RATE_MBIT = 20
BUFFER_KB = 30  # a tenth of the path's capacity
RMEM_BYTES = 524288
SIZES_KB = (10, 50, 100)
BUSY_CONNECTIONS = 4
BUSY_KB = 400
LEARN_KB = max(SIZES_KB)
OPEN_S = 3600
WINDOW_LIMIT_S = 30


class Demo(Testbed):
    """The two hosts, with what is measured and asked here."""

    def __init__(self):
        path = f"delay={ROUND_TRIP_MS // 2}ms,rate={RATE_MBIT}mbit,buffer={BUFFER_KB}kb"
        super().__init__(self, HOSTS, [path], sysctls={
            "ipv4/tcp_rmem": f"4096 {RMEM_BYTES} 6291456", "ipv4/tcp_wmem": "4096 16384 4194304",
            "ipv4/tcp_no_metrics_save": 0})  # what hosts have, but for the first

    def note_wan(self, counters):
        """In place of an evaluation: nobody asks whether the emulator was on time."""

    def measure(self, size_kb, repetitions):
        """Median time in ms from connect to the last byte, one new connection after the other."""
        results = [self.transfer([Transfer("sender", "receiver", size_kb * 1000)])[0] for _ in range(repetitions)]
        return statistics.median(result.done_us / 1e3 for result in results)

    def measure_all(self, repetitions):
        return {size_kb: self.measure(size_kb, repetitions) for size_kb in SIZES_KB}

    def work(self):
        """Traffic between two busy hosts, on connections that stay open."""
        self.transfer([Transfer("sender", "receiver", BUSY_KB * 1000, reuse=True, idle_s=OPEN_S)
                       for _ in range(BUSY_CONNECTIONS)])

    def window(self):
        """riptided's initial window to the receiver, if it gives one."""
        shown = self.ask_riptide("sender", "show")
        rows = [dict(zip(shown["columns"], row)) for row in shown["routes"]]
        return next((row["window"] for row in rows if row["dst"] == HOSTS["receiver"]), None)

    def pace(self):
        """How first flights leave."""
        program = self.ask_riptide("sender", "show", HOSTS["receiver"])["program"]
        percent = program and program["pacing_percent"]
        return f"over {percent} % of a round trip" if percent else "that leave at once"

    def learn(self, options, n_new):
        """Starts a riptided that has learned from busy connections, and from some new ones."""
        self.work()
        self.start_riptided(["sender"], *options)
        end_s = time.monotonic() + WINDOW_LIMIT_S
        while not self.window():
            if time.monotonic() > end_s:
                sys.exit("demo: riptided gave no window")
            self.work()  # a riptided that starts slowly finds them idle
        self.measure(LEARN_KB, n_new)


def print_table(columns):
    """Columns: {name: {size_kb: ms}}; the first one is without riptided."""
    without, *others = columns.values()
    print(f"{'size':>8}" + "".join(f"{name:>12}" for name in columns) + "   round trips saved")
    for size_kb in SIZES_KB:
        saved = [round((without[size_kb] - one[size_kb]) / ROUND_TRIP_MS, 1) + 0.0 for one in others]
        print(f"{size_kb:>5} KB" + "".join(f"{one[size_kb]:>9.0f} ms" for one in columns.values())
              + f"{', '.join(map(str, saved)):>20}")


def demonstrate(demo, repetitions, n_new):
    print(f"Two hosts {ROUND_TRIP_MS} ms apart, {RATE_MBIT} Mbit/s behind a buffer of {BUFFER_KB} KB,"
          f" cubic. Each transfer is a new\nconnection; median of {repetitions}, from connect to"
          f" the last byte. The receiver's net.ipv4.tcp_rmem[1] is raised\nto {RMEM_BYTES}: by default"
          " Linux lets in no more than 44 segments at the start of a connection.\n", flush=True)
    columns = {"without": demo.measure_all(repetitions)}
    print(f"riptided learns from {BUSY_CONNECTIONS} open connections that have moved {BUSY_KB} KB each, and"
          f" {n_new} new ones of {LEARN_KB} KB.", flush=True)
    for name, *options in (("riptided",), ("routes", "--apply", "routes")):
        demo.learn(options, n_new)
        apply = demo.ask_riptide("sender", "status")["apply"]
        print(f"{name}: the next start with {demo.window()} segments {demo.pace()}", flush=True)
        columns[name] = demo.measure_all(repetitions)
        demo.end_riptided()
        if apply["by"] == "routes" and not options:
            print(f"riptided uses routes alone here: {apply['why']}")
            break
    print()
    print_table(columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("demo: this makes network namespaces: run it with ./dev demo")
    with Demo() as demo:
        demonstrate(demo, *((3, 10) if options.quick else (7, 25)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("demo: ended by hand; its namespaces are gone")
