# SPDX-License-Identifier: MIT
"""Contenders that take turns, each a whole process; and figures of turns."""

import statistics
import subprocess
from dataclasses import dataclass

PATIENCE_S = 15  # a contender that has taken longer takes no further turn


@dataclass
class Turn:
    cpu_s: float
    peak_kb: int
    wall_s: float


class Failed(Exception):
    """A contender failed; the line has its output."""


def take_turn(measure, command):
    done = subprocess.run([str(measure), *map(str, command)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    fields = done.stdout.split()
    if len(fields) != 5 or fields[4] != "0":
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise Failed(f"{command[0]}: {lines[-1]}")
    return Turn(float(fields[0]) + float(fields[1]), int(fields[2]), float(fields[3]))


def take_turns(measure, contenders, repeat):
    """Runs {name: command} in turns: {name: [turn, ...]}."""
    turns = {name: [] for name in contenders}
    for _ in range(repeat):
        for name, command in contenders.items():
            if sum(turn.wall_s for turn in turns[name]) < PATIENCE_S:
                turns[name].append(take_turn(measure, command))
    return turns


@dataclass
class Spread:
    """A median with its quartiles."""
    low: float
    median: float
    high: float

    def __str__(self):
        digits = 3 if self.median < 1 else 2 if self.median < 1000 else 0
        if self.low == self.high:
            return f"{self.median:.{digits}f}"
        return f"{self.median:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def spread(values):
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    return Spread(*statistics.quantiles(values, n=4, method="inclusive"))


def ratio(turns, reference):
    """The ratio of processor times, turn by turn, as a disturbance of the machine affects both."""
    return spread([a.cpu_s / b.cpu_s for a, b in zip(turns, reference)])
