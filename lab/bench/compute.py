# SPDX-License-Identifier: MIT
"""What a sample costs in lib/compute, by policy, against a bare update of the same hash table.

One million samples into ten thousand destinations; medians of rounds with their quartiles.
./dev bench compute builds and runs this.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "common"))
from host import PROGRAMS, figures, judge, spread  # noqa: E402

POLICIES = "paper", "bdp", "careful"
SAMPLE_NS, TIMES_BARE, HINTS_MS = 60, 1.3, 3


def run(*arguments):
    done = subprocess.run([PROGRAMS / "compute", *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True)
    return figures(done.stdout.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="*", default=POLICIES)
    parser.add_argument("--destinations", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    size = options.destinations, options.samples, options.rounds
    print("{1:,} samples into {0:,} destinations, {2} rounds".format(*size))
    for policy in options.policies:
        found = run(policy, *size)
        ratios = [sample / bare for sample, bare in zip(found["sample"], found["bare"])]
        print(f"{policy:8} {spread(found['sample'], 1, ' ns')} a sample, "
              f"{judge(statistics.median(found['sample']) <= SAMPLE_NS, f'at most {SAMPLE_NS}')}; "
              f"{spread(ratios, 2, ' times')} a bare update, "
              f"{judge(statistics.median(ratios) <= TIMES_BARE, f'at most {TIMES_BARE}')}; "
              f"a tick {spread(found['tick'], 0, ' ns')} a destination", flush=True)
    found = run("hints", *size)
    with_ms = statistics.median(found["with"])
    print(f"a tick of all destinations {spread(found['without'], 1, ' ms')}; with all hints that there can be "
          f"{spread(found['with'], 1, ' ms')}, {judge(with_ms <= HINTS_MS, f'at most {HINTS_MS}')}")


if __name__ == "__main__":
    main()
