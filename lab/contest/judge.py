# SPDX-License-Identifier: MIT
"""Figures of arms in each cell, from their transfers, and the targets. Pure."""

from functools import partial
from typing import NamedTuple

import numpy

REFERENCE, OURS = "static 24", "paced"
# The largest mean time, of each grid that has one of its own, and of the others.
GRID_MEAN_OF_REFERENCE, MEAN_OF_REFERENCE = {"busy": 0.75, "pages": 1}, 0.78
WORST_OF_REFERENCE, POINTS_LESS = 1.05, 2
CELLS_ABOVE = 0.05  # the share of cells whose p95 and p99 may be above the reference's
LATE_SHARE, LATE_FLOOR_MS = 0.05, 2  # of a round trip


class Cell(NamedTuple):
    """A scene with one object: the samples of all arms in the same repetitions."""
    scene: int
    object_kb: float
    label: str
    samples: dict  # arm -> array (repetition, connection, [ms, retransmitted, data segments, window])

    def mean_ms(self, arm):
        return self.samples[arm][..., 0].mean()

    def quantile_ms(self, arm, share):
        return numpy.quantile(self.samples[arm][..., 0], share)

    def retrans_percent(self, arm):
        return 100 * self.samples[arm][..., 1].sum() / self.samples[arm][..., 2].sum()

    def cwnd(self, arm):
        return self.samples[arm][..., 3].mean()


mean, p95, p99 = Cell.mean_ms, partial(Cell.quantile_ms, share=0.95), partial(Cell.quantile_ms, share=0.99)


def is_late(row):
    return row["late_ms"] > max(LATE_FLOOR_MS, LATE_SHARE * row["rtt_ms"])


def cells_of(rows, scenes):
    """Cells, from repetitions that were complete, and on time for every arm. Returns
    them, how many repetitions were left out, and of how many."""
    groups = {}
    for row in rows:
        key = row["scene"], row["object_kb"]
        repetition = groups.setdefault(key, {}).setdefault(row["repetition"], {})
        repetition.setdefault(row["arm"], []).append(row)
    arms = {row["arm"] for row in rows}
    cells, n_late, n_all = [], 0, 0
    for (number, object_kb), repetitions in groups.items():
        scene = scenes[number]
        good = [repetition for repetition in repetitions.values()
                if len(repetition) == len(arms)
                and all(len(of_arm) == scene.openers for of_arm in repetition.values())
                and not any(is_late(row) for of_arm in repetition.values() for row in of_arm)]
        n_all += len(repetitions)
        n_late += len(repetitions) - len(good)
        if len(good) < 2:
            continue
        columns = "time_ms", "retrans_segs", "data_segs", "cwnd_first"
        samples = {arm: numpy.array([[[row[column] for column in columns] for row in repetition[arm]]
                                     for repetition in good], float) for arm in arms}
        if scene.is_page:
            for of_arm in samples.values():
                of_arm[..., 0] = of_arm[..., 0].max(axis=1, keepdims=True)
        cells.append(Cell(number, object_kb, f"{scene.label()}, {object_kb:g} KB", samples))
    return cells, n_late, n_all


def ratio(cell, arm, statistic):
    return float(statistic(cell, arm) / statistic(cell, REFERENCE))


def ratios(cells, arm, statistic):
    """The geometric mean over cells of a statistic divided by the reference's, and the worst."""
    of_cells = [ratio(cell, arm, statistic) for cell in cells]
    return float(numpy.exp(numpy.mean(numpy.log(of_cells)))), max(of_cells)


def retrans_percent(cells, arm):
    return float(numpy.mean([cell.retrans_percent(arm) for cell in cells]))


class Target(NamedTuple):
    text: str
    figure: str
    is_met: bool
    missed: tuple = ()  # of (cell, figure)


def judge(cells, grid):
    """The targets of a grid, and the cells that miss them."""
    most = GRID_MEAN_OF_REFERENCE.get(grid, MEAN_OF_REFERENCE)
    ours, _ = ratios(cells, OURS, mean)
    resent = [retrans_percent(cells, arm) for arm in (OURS, REFERENCE)]
    slow = [(cell, f"{ratio(cell, OURS, mean):.2f}") for cell in cells if ratio(cell, OURS, mean) > WORST_OF_REFERENCE
            and cell.retrans_percent(OURS) > cell.retrans_percent(REFERENCE) - POINTS_LESS]
    targets = [
        Target(f"mean time at most {most} of {REFERENCE}'s", f"{ours:.2f}", ours <= most),
        Target(f"retransmitted at most {REFERENCE}'s", "{:.1f} and {:.1f} %".format(*resent), resent[0] <= resent[1]),
        Target(f"no cell above {WORST_OF_REFERENCE}, unless it retransmits {POINTS_LESS} points less",
               f"{len(slow)} of {len(cells)} cells", not slow, slow)]
    for name, statistic in ("p95", p95), ("p99", p99):
        above = [(cell, f"{ratio(cell, OURS, statistic):.2f}") for cell in cells if ratio(cell, OURS, statistic) > 1]
        targets.append(Target(
            f"{name} at most {REFERENCE}'s in {100 - 100 * CELLS_ABOVE:g} % of cells",
            f"{len(cells) - len(above)} of {len(cells)}", len(above) <= CELLS_ABOVE * len(cells), above))
    return targets
