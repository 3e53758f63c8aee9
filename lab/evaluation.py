# SPDX-License-Identifier: MIT
"""Common parts of evaluations: a seed, a folder for results, tables, progress and a verdict.

An evaluation is a module in lab/evaluations with a function `evaluate(evaluation)`. The first line
of the module is what `./dev lab` lists.
"""

import contextlib
import csv
import json
import os
import platform
import random
import sys

# The WAN delivers within 0.4 ms on a busy machine (lab/wan/README.md). A path later than this at
# p99 is not the configured one, whatever its round trip time.
LATE_MS = 2


class Table:
    """A CSV file; each row is written before the next measurement."""

    def __init__(self, path, columns):
        self.columns = columns
        self.rows = []
        self._file = path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file)
        self._writer.writerow(columns)

    def add(self, *values):
        """One row, in the order of the columns; returned by name."""
        self.rows.append(dict(zip(self.columns, values, strict=True)))
        self._writer.writerow(f"{value:.6g}" if isinstance(value, float) else value for value in values)
        self._file.flush()
        return self.rows[-1]

    def close(self):
        self._file.close()


class Evaluation:
    """One run of one evaluation."""

    def __init__(self, name, folder, options):
        self.name = name
        self.folder = folder
        self.quick, self.seed = options.quick, options.seed
        # Which cells and arms, how often, after what time; None, or if an evaluation has no choice
        self.cells, self.arms = options.cells, options.arms
        self.repetitions, self.learn_s = options.repetitions, options.learn
        self.random = random.Random(self.seed)
        self.conditions = {"evaluation": name, "quick": self.quick, "seed": self.seed,
                           "kernel": platform.release(), "processors": os.cpu_count()}
        self._tables = []
        self._total = self._done = 0
        self._late_ms = []

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.conditions["load_before"] = os.getloadavg()[0]
        return self

    def __exit__(self, kind, value, traceback):
        self._show("")
        for table in self._tables:
            table.close()
        self.conditions["load_after"] = os.getloadavg()[0]
        if self._late_ms:
            self.conditions["paths"] = len(self._late_ms)
            self.conditions["paths_late"] = sum(late > LATE_MS for late in self._late_ms)
            self.conditions["worst_p99_late_ms"] = round(max(self._late_ms), 3)
        text = json.dumps(self.conditions, indent=2)
        (self.folder / "conditions.json").write_text(text + "\n", encoding="utf-8")

    def drawn(self, *words):
        """A random generator for the named purpose, the same in each run with this seed."""
        return random.Random(f"{self.seed} {' '.join(map(str, words))}")

    def table(self, name, *columns):
        table = Table(self.folder / f"{name}.csv", columns)
        self._tables.append(table)
        return table

    @contextlib.contextmanager
    def picture(self, name, rows=1, columns=1, width=8, height=5):
        """A figure and its axes, saved as NAME.png at the end of the block."""
        from figures import plt  # which takes a second

        figure, axes = plt.subplots(rows, columns, figsize=(width, height), layout="constrained")
        yield figure, axes
        figure.savefig(self.folder / f"{name}.png")
        plt.close(figure)

    def note_wan(self, counters):
        """Notes whether the WAN in a box was on time; call it with its last counters."""
        late_ms = counters["late_us"]["p99"] / 1e3
        self._late_ms.append(late_ms)
        return late_ms <= LATE_MS and not counters["dropped_tun"]

    def expect(self, total):
        """Sets the number of steps to come."""
        self._total, self._done = total, 0

    def step(self, what):
        """Counts a step, and shows it on a terminal."""
        self._done += 1
        self._show(f"{self._done} of {self._total}: {what}")

    def steps(self, items, describe=str):
        """The items, with progress."""
        items = list(items)
        self.expect(len(items))
        for item in items:
            self.step(describe(item))
            yield item

    def say(self, text=""):
        self._show("")
        print(text, flush=True)

    def verdict(self, first, second):
        """The two most important lines for a reader."""
        lines = f"{first}\n{second}\n"
        (self.folder / "verdict.txt").write_text(lines, encoding="utf-8")
        self.say(lines.rstrip())

    def nothing_on_time(self):
        """The verdict of an evaluation without cells, as this machine was too busy."""
        self.verdict("No cell has two repetitions that were on time.",
                     f"Left out as late: {self.conditions['repetitions_left_out']} repetitions.")

    @staticmethod
    def _show(text):
        if sys.stderr.isatty():
            print(f"\r\033[K{text[:120]}", end="", file=sys.stderr, flush=True)
