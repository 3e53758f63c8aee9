# SPDX-License-Identifier: MIT
"""The property test of the invariant for as long as it is told: ./dev soak --invariant.

Prints a line of figures for each minute and ends with the figures of all; with 1 and a script at
the first violation.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from invariant import N_HOSTS, Figures, Found, run  # noqa: E402
from twins import probe_kinds  # noqa: E402

EVENTS_PER_RUN = 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--events", type=int, help="end after so many, however long it takes")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10 ** 9,
                        help="of the first run")
    parser.add_argument("--destinations", type=int, default=2 * N_HOSTS, help="hosts, half IPv6")
    options = parser.parse_args()

    kinds, lacking = probe_kinds()
    print(f"soak: first seed {options.seed}; this kernel lacks {', '.join(lacking) or 'nothing'}",
          flush=True)
    figures = Figures()
    start = said = time.monotonic()
    seed = options.seed
    while figures.n_events < options.events if options.events \
            else time.monotonic() - start < options.minutes * 60:
        try:
            run(seed, EVENTS_PER_RUN, kinds, figures, options.destinations // 2)
        except Found as found:
            print(f"VIOLATION after {figures}\n{found}", flush=True)
            return 1
        seed += 1
        if time.monotonic() - said > 60:
            said = time.monotonic()
            print(f"{(said - start) / 60:.0f} min, seed {seed}: {figures}", flush=True)
    print(f"no violation: {seed - options.seed} runs, {figures}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
