# SPDX-License-Identifier: MIT
"""initial windows against each other: static ones, riptided's policies, the kernel's cache

--cells some (default) plays a fixed part of the grid, all plays all of it; anything
else is a regular expression that selects scenes of "some", such as "1 %" or "bbr". --arms
selects arms, besides those with which all are compared, or names further ones; --repetitions is for few arms on few
scenes, --learn for arms that learn for longer.
"""

import sys

from contest import judge
from contest.play import COLUMNS, expected_s, learning_s, play
from contest.scenes import ARMS, MORE_ARMS, arms_named, numbered_scenes

SIDE_BY_SIDE = 4
LEAST_SAVED = -75  # lower end of the picture
MBIT_TOGETHER = 200  # sum of the rates of scenes that are played side by side
REPETITIONS, QUICK_REPETITIONS = 6, 2


def batches(numbered, n_arms):
    """Groups of scenes that the machine can play side by side: more scenes with few arms."""
    room = max(1, len(ARMS) // n_arms)
    batch, rate_mbit = [], 0
    for number, scene in numbered:
        if batch and (len(batch) == room * SIDE_BY_SIDE or rate_mbit + scene.rate_mbit > room * MBIT_TOGETHER):
            yield batch
            batch, rate_mbit = [], 0
        batch.append((number, scene))
        rate_mbit += scene.rate_mbit
    yield batch


NEEDED = ("none", judge.REFERENCE, judge.OURS)


def write_figures(evaluation, cells, arms):
    table = evaluation.table(
        "cells", "cell", "arm", "repetitions", "cwnd", "mean_ms", "mean_low", "mean_high", "p95_ms",
        "p95_low", "p95_high", "p99_ms", "retrans_connections_percent", "retrans_first_percent",
        "retrans_bytes_percent", "retrans_low", "retrans_high")
    for cell in cells:
        for arm in arms:
            figures = judge.figures_of(cell.samples[arm.name])
            table.add(cell.label, arm.name, figures.repetitions, figures.cwnd, *figures.mean_ms,
                      *figures.p95_ms, figures.p99_ms, figures.retrans_connections, figures.retrans_first,
                      *figures.retrans_bytes)


def points(cells, arm):
    """(percent of bytes retransmitted, percent of time saved against none) of each cell."""
    return [(judge.retrans_percent(cell.samples[arm]),
             100 - 100 * judge.mean(cell.samples[arm]) / judge.mean(cell.samples["none"]))
            for cell in cells]


def draw(evaluation, cells, arms):
    with evaluation.picture("duel", width=9, height=6) as (_, axes):
        for i, arm in enumerate(arms[1:]):
            x, y = zip(*points(cells, arm.name))
            colour = f"C{i}"
            axes.scatter(x, y, s=9, color=colour, alpha=0.35)
            axes.scatter(sum(x) / len(x), sum(y) / len(y), s=130, color=colour, edgecolor="black",
                         marker="*" if arm.name == judge.OURS else "o", label=arm.name, zorder=3)
        axes.set_xlabel("bytes retransmitted, percent (small: a cell, large: mean of all cells)")
        axes.set_ylim(bottom=LEAST_SAVED)
        axes.set_ylabel(f"time saved against a window of ten, percent (below {LEAST_SAVED}: not shown)")
        axes.legend()


def say_arms(evaluation, cells, arms):
    evaluation.say(f"{'arm':<12} {'time saved':>10} {'retransmitted':>14} {'window':>7}"
                   "   means of all cells; mean, p95 and p99 divided by those of 24, and the worst")
    for arm in arms:
        x, y = zip(*points(cells, arm.name))
        cwnd = sum(cell.samples[arm.name][..., 4].mean() for cell in cells) / len(cells)
        evaluation.say(f"{arm.name:<12} {sum(y) / len(y):>8.1f} % {sum(x) / len(x):>12.2f} %"
                       f" {cwnd:>7.1f}   " + ", ".join(
                           "{:.2f} (up to {:.2f})".format(*judge.ratios(cells, arm.name, statistic))
                           for statistic in (judge.mean, judge.p95, judge.p99)))


def play_cells(evaluation, arms):
    """Plays the scenes of --cells with these arms; returns cells, repetitions left out, and all."""
    grid = "quick" if evaluation.quick else evaluation.cells or "some"
    try:
        numbered = numbered_scenes(grid)
    except ValueError as error:
        sys.exit(f"lab: --cells {error}")
    repetitions = evaluation.repetitions or (QUICK_REPETITIONS if evaluation.quick else REPETITIONS)
    groups = list(batches(numbered, len(arms)))
    minutes = sum(max(expected_s(scene, repetitions, learning_s(evaluation)) for _, scene in group) for group in groups) / 60
    evaluation.say(f"{len(numbered)} scenes, {len(arms)} arms, {repetitions} repetitions: about {minutes:.0f} min")
    table = evaluation.table("transfers", *COLUMNS)
    for group in evaluation.steps(groups, lambda group: group[0][1].label()):
        play(evaluation, group, arms, repetitions, table)
    cells, n_late, n_all = judge.cells_of(table.rows, dict(numbered))
    evaluation.conditions.update(cells=grid, repetitions=n_all, repetitions_left_out=n_late)
    return cells, n_late, n_all


def evaluate(evaluation):
    arms = ARMS
    if evaluation.arms:
        arms = arms_named(*evaluation.arms, *NEEDED)
        unknown = set(evaluation.arms) - {arm.name for arm in arms}
        if unknown:
            names = ", ".join(arm.name for arm in (*ARMS, *MORE_ARMS))
            sys.exit(f"lab: --arms: no {', '.join(sorted(unknown))}; there are: {names}")
    cells, n_late, n_all = play_cells(evaluation, arms)
    if not cells:
        evaluation.nothing_on_time()
        return
    write_figures(evaluation, cells, arms)
    draw(evaluation, cells, arms)
    say_arms(evaluation, cells, arms)
    misses = evaluation.table("misses", "target", "cell", "figure")
    targets = judge.judge(cells)
    for target in targets:
        evaluation.say(f"{'met   ' if target.is_met else 'missed'} {target.text}:"
                       f" {target.n - len(target.missed)} of {target.n} cells")
        for cell, why in target.missed:
            misses.add(target.text, cell.label, why)
    if not misses.rows:
        misses.add("none", "", "")
    evaluation.verdict(
        f"{judge.OURS} reaches {sum(target.is_met for target in targets)} of {len(targets)} targets"
        f" in {len(cells)} cells of the grid '{evaluation.conditions['cells']}'; misses.csv names the cells that do not.",
        f"{n_late} of {n_all} repetitions were left out: a packet was late, or a transfer"
        " incomplete.")
