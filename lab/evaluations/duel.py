# SPDX-License-Identifier: MIT
"""initial windows against each other: static ones, riptided's policies, the kernel's cache

--cells some (default) plays the grid; cross, pages, short and busy are others; anything
else is a regular expression that selects scenes of "some", such as "1 %" or "bbr". --arms
selects arms, besides those with which all are compared, or names further ones; --repetitions is for few arms on few
scenes, --learn for arms that learn for longer.
"""

import sys

from contest import judge
from contest.play import COLUMNS, play
from contest.scenes import ARMS, MORE_ARMS, arms_named, numbered_scenes

SIDE_BY_SIDE = 4
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


def write_cells(evaluation, cells, arms):
    table = evaluation.table("cells", "cell", "arm", "repetitions", "window", "mean_ms", "p95_ms", "p99_ms",
                             "retransmitted_percent")
    for cell in cells:
        for name in (arm.name for arm in arms):
            table.add(cell.label, name, len(cell.samples[name]), cell.cwnd(name), judge.mean(cell, name),
                      judge.p95(cell, name), judge.p99(cell, name), cell.retrans_percent(name))


def write_arms(evaluation, cells, arms):
    """The means of each arm over all cells."""
    table = evaluation.table("arms", "arm", "saved_percent", "mean", "worst", "p95", "p99", "retransmitted_percent",
                             "window")
    evaluation.say(f"time saved against a window of ten, means of {len(cells)} cells; "
                   f"times divided by those of {judge.REFERENCE}, geometric means")
    for arm in arms:
        mean, worst = judge.ratios(cells, arm.name, judge.mean)
        p95, p99 = (judge.ratios(cells, arm.name, statistic)[0] for statistic in (judge.p95, judge.p99))
        window = sum(cell.cwnd(arm.name) for cell in cells) / len(cells)
        saved = 100 - sum(100 * judge.mean(cell, arm.name) / judge.mean(cell, "none") for cell in cells) / len(cells)
        row = table.add(arm.name, saved, mean, worst, p95, p99, judge.retrans_percent(cells, arm.name), window)
        evaluation.say("{arm:<14} saved {saved_percent:.1f} %; mean {mean:.2f}, worst {worst:.2f}; "
                       "p95 {p95:.2f}, p99 {p99:.2f}; retransmitted {retransmitted_percent:.1f} %; "
                       "window {window:.0f}".format(**row))
    return table.rows


def draw(evaluation, rows):
    """Time against what is retransmitted: the nearer to the lower left corner, the better."""
    points = {row["arm"]: (row["retransmitted_percent"], row["mean"]) for row in rows}
    with evaluation.picture("duel", width=9, height=6) as (_, axes):
        for arm, (x, y) in points.items():
            is_ours = arm == judge.OURS
            has_neighbour = any(0 < other_x - x < 5 and abs(other_y - y) < 0.03 for other_x, other_y in points.values())
            axes.scatter(x, y, zorder=3, color="C3" if is_ours else "0.45", marker="*" if is_ours else "o",
                         s=400 if is_ours else 120)
            axes.annotate(f"{arm}, the default" if is_ours else arm, (x, y), textcoords="offset points",
                          xytext=(-10 if has_neighbour else 10, -5), ha="right" if has_neighbour else "left",
                          weight="bold" if is_ours else "normal")
        axes.set(xlabel="bytes retransmitted, percent", ylabel=f"mean time, {judge.REFERENCE} = 1",
                 xlim=(0, 1.25 * max(x for x, _ in points.values()) + 0.1))


def play_cells(evaluation, arms):
    """Plays the scenes of --cells with these arms; returns cells, repetitions left out, and all."""
    grid = "quick" if evaluation.quick else evaluation.cells or "some"
    try:
        numbered = numbered_scenes(grid)
    except ValueError as error:
        sys.exit(f"lab: --cells {error}")
    repetitions = evaluation.repetitions or (QUICK_REPETITIONS if evaluation.quick else REPETITIONS)
    groups = list(batches(numbered, len(arms)))
    evaluation.say(f"{len(numbered)} scenes, {len(arms)} arms, {repetitions} repetitions")
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
    write_cells(evaluation, cells, arms)
    draw(evaluation, write_arms(evaluation, cells, arms))
    misses = evaluation.table("misses", "target", "cell", "figure")
    targets = judge.judge(cells, evaluation.conditions["cells"].partition(":")[0])
    for target in targets:
        evaluation.say(f"{'met   ' if target.is_met else 'missed'} {target.text}: {target.figure}")
        for cell, figure in target.missed:
            misses.add(target.text, cell.label, figure)
    if not misses.rows:
        misses.add("none", "", "")
    evaluation.verdict(
        f"{judge.OURS} reaches {sum(target.is_met for target in targets)} of {len(targets)} targets in "
        f"{len(cells)} cells of the grid '{evaluation.conditions['cells']}'; misses.csv names the cells that do not.",
        f"{n_late} of {n_all} repetitions were left out: a packet was late, or a transfer incomplete.")
