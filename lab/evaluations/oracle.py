# SPDX-License-Identifier: MIT
"""the best window of each cell of the duel: which targets some static window reaches, and which none

Static windows from 10 to 100 on the duel's scenes, beside paper, which one target is about, and a second static 24,
which says how often the same window misses a target by chance. --cells is the duel's.
"""

from typing import NamedTuple

from contest import judge
from contest.scenes import Arm, arms_named
from duel import play_cells

CWNDS = (10, 14, 17, 20, 22, 24, 28, 34, 42, 60, 100)
AGAIN = "static 24 again"


def static(cwnd):
    return Arm(f"static {cwnd}", initcwnd=cwnd)


ARMS = (*map(static, CWNDS), Arm(AGAIN, initcwnd=24), *arms_named("paper"))


class Verdict(NamedTuple):
    target: str
    where: list  # cells, or scenes
    windows: dict  # cell or scene -> those that reach it there


def by_target(cells, cwnds):
    """For each target, for all of them at once, and for all cells of a scene at once."""
    judged = {cwnd: judge.judge(cells, f"static {cwnd}") for cwnd in cwnds}
    verdicts = []
    for number, target in enumerate(judged[cwnds[0]]):
        missed = {cwnd: {id(cell) for cell, _ in targets[number].missed}
                  for cwnd, targets in judged.items()}
        verdicts.append(Verdict(target.text, cells, {
            cell.label: {cwnd for cwnd in cwnds if id(cell) not in missed[cwnd]} for cell in cells}))
    together = {cell.label: set.intersection(*(verdict.windows[cell.label] for verdict in verdicts))
                for cell in cells}
    verdicts.append(Verdict("all of these at once", cells, together))
    scenes = {}
    for cell in cells:
        scene = cell.label.rpartition(",")[0]
        scenes[scene] = scenes.get(scene, set(cwnds)) & together[cell.label]
    verdicts.append(Verdict("all at once with one window for all objects of a scene",
                            list(scenes), scenes))
    return verdicts


def evaluate(evaluation):
    cells, n_late, n_all = play_cells(evaluation, ARMS)
    if not cells:
        return
    say(evaluation, cells)
    draw(evaluation, cells)
    evaluation.verdict(
        f"In {len(cells)} cells: oracle.csv says which static windows reach which target.",
        f"{n_late} of {n_all} repetitions were left out: a packet was late, or a transfer"
        " incomplete.")


def say(evaluation, cells):
    table = evaluation.table("oracle", "target", "where", "windows")
    by_chance = {target.text: len(target.missed) for target in judge.judge(cells, AGAIN)}
    for target, where, windows in by_target(cells, CWNDS):
        for place, reach in windows.items():
            table.add(target, place, " ".join(map(str, sorted(reach))))
        n_never = sum(not reach for reach in windows.values())
        again = f"; a second static 24 misses {by_chance[target]}" if target in by_chance else ""
        evaluation.say(f"{target}: no window in {n_never} of {len(where)}{again}")


def draw(evaluation, cells):
    with evaluation.picture("oracle", width=9, height=6) as (_, axes):
        for cell in cells:
            of_24 = judge.mean(cell.samples["static 24"])
            axes.plot(CWNDS, [judge.mean(cell.samples[f"static {cwnd}"]) / of_24 for cwnd in CWNDS],
                      color="C0", alpha=0.4)
        axes.set(xscale="log", yscale="log", xlabel="initial window, segments",
                 ylabel="mean time, times that of a static 24; a line is a cell")
        axes.set_xticks(CWNDS, CWNDS)
