# SPDX-License-Identifier: MIT
"""Runs the evaluations of lab/evaluations, or lists them. ./dev lab builds and runs this in a sandbox."""

import argparse
import ast
import importlib
import os
import sys
import time
from pathlib import Path

LAB = Path(__file__).resolve().parent
EVALUATIONS = LAB / "evaluations"
for folder in (LAB, EVALUATIONS, LAB / "wan", LAB / "traffic"):
    sys.path.insert(0, str(folder))


def names():
    return sorted(path.stem for path in EVALUATIONS.glob("*.py"))


def describe(name):
    """The first line of the module, without its imports."""
    module = ast.parse((EVALUATIONS / f"{name}.py").read_text(encoding="utf-8"))
    return ast.get_docstring(module).splitlines()[0]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev lab", description=__doc__.split(".")[0] + ".")
    parser.add_argument("name", nargs="?", choices=names(), metavar="NAME",
                        help="one of: " + ", ".join(names()))
    parser.add_argument("--quick", action="store_true", help="a small form, two minutes at most")
    parser.add_argument("--seed", type=int, default=1, help="of everything that is drawn")
    parser.add_argument("--cells", help="which scenes of duel: some, cross, pages, short, busy, or a"
                        " regular expression for scenes of some; of cdn: one for arms beside none and 100")
    parser.add_argument("--arms", type=lambda text: text.split(","), metavar="NAME,NAME", help="only these (duel)")
    parser.add_argument("--repetitions", type=int, metavar="N", help="of each cell (duel)")
    parser.add_argument("--learn", type=int, metavar="SECONDS", help="with openings that do not count (duel, pacing)")
    parser.add_argument("--out", type=Path, help="folder of the results, else lab/out/NAME")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    if not options.name:
        for name in names():
            print(f"./dev lab {name:<10} {describe(name)}")
        return
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit(f"lab: this makes network namespaces: run it with ./dev lab {options.name}")
    from evaluation import Evaluation  # here, as it needs packages that ./dev lab installs
    started_s = time.monotonic()
    folder = options.out or LAB / "out" / (options.name + ("-quick" if options.quick else ""))
    with Evaluation(options.name, folder, options) as evaluation:
        importlib.import_module(options.name).evaluate(evaluation)
    print(f"{time.monotonic() - started_s:.0f} s; CSV, pictures and verdict are in {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("lab: ended by hand; its namespaces are gone, what was measured is kept")
