# SPDX-License-Identifier: MIT
"""What the bindings cost: all connections as columns, beside the C command and pyroute2.

Whole processes take turns over the same sockets; then the calls alone, without the start of the
interpreter, which a script pays once. ./dev bench python makes the environment for it.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "observe"))
from farm import Farm, set_up_network  # noqa: E402
from turns import ratio, spread, take_turns  # noqa: E402

BUILD = Path(os.environ.get("RIPTIDE_BUILD", HERE.parents[1] / "build"))
OBSERVE = BUILD / "lab" / "bench" / "observe"
PYTHON = OBSERVE / "venv" / "bin" / "python"
SOCKETS, DESTINATIONS = 100_000, 2000

CONTENDERS = {
    "riptide observe": [BUILD / "cli" / "riptide", "observe"],
    "observe_columns": [PYTHON, HERE / "python" / "columns.py"],
    "the same without numpy": [PYTHON, HERE / "python" / "columns.py", "memoryviews"],
    "pyroute2": [PYTHON, HERE / "python" / "by_pyroute2.py"],
}
#: The parts of a whole process besides the call, which a script pays once.
STARTS = {"observe_columns": "Python and numpy", "the same without numpy": "Python"}


def verdict(what, value, target, is_met):
    print(f"{what:58} {str(value):26} {target}: {'met' if is_met else 'MISSED'}")


def bench_calls(repeat):
    """Measures calls only: columns in turn with the whole C command, and the cost of a Sample."""
    done = subprocess.run([str(PYTHON), str(HERE / "python" / "calls.py"), str(repeat),
                           *map(str, CONTENDERS["riptide observe"])],
                          stdout=subprocess.PIPE, text=True, check=True)
    turns = [list(map(float, line.split())) for line in done.stdout.splitlines()]
    columns = spread([columns_s / whole_s for whole_s, columns_s, _ in turns])
    verdict("observe_columns, the call alone, against the C command", columns, "at most 1.3 x",
            columns.median <= 1.3)
    sample_us = spread([1e6 * sample_s for *_, sample_s in turns])
    verdict("a Sample of a list, made and read, us", sample_us, "at most 1.5",
            sample_us.median <= 1.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7, help="turns of each; default: %(default)s")
    options = parser.parse_args()
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("python: this makes many sockets: run it with ./dev bench python")
    set_up_network()
    with Farm(OBSERVE / "farm", SOCKETS, DESTINATIONS, "4"):
        turns = take_turns(OBSERVE / "measure", CONTENDERS, options.repeat)
        print(f"{SOCKETS} sockets, {DESTINATIONS} destinations; processor time of whole processes")
        for name, taken in turns.items():
            print(f"{name:58} {spread([1e3 * turn.cpu_s for turn in taken])} ms, "
                  f"peak {max(turn.peak_kb for turn in taken) / 1024:.0f} MB")
        for name, what in STARTS.items():
            print(f"{f'{name}, with the start of {what}, to C':58} "
                  f"{ratio(turns[name], turns['riptide observe'])}")
        if "pyroute2" in turns:
            others = ratio(turns["pyroute2"], turns["observe_columns"])
            verdict("pyroute2 against observe_columns, whole processes", others, "at least 20 x",
                    others.median >= 20)
        bench_calls(options.repeat)


if __name__ == "__main__":
    main()
