# SPDX-License-Identifier: MIT
"""the best window of each cell of the duel: which targets some static window reaches, and which none

Static windows on the duel's scenes, at once from 10 to 100 segments, and paced over half a round trip and over one, beside a
second static 24, which says how often the same window misses a target by chance. --cells is the duel's.
"""

from typing import NamedTuple

from contest import judge
from contest.scenes import Arm
from duel import play_cells

CWNDS = (10, 17, 24, 34, 50, 100)
PACED_CWNDS, PERCENT = (24, 36, 50, 70, 100), {50: "half", 100: "one"}
AGAIN = "static 24 again"
STATIC = tuple(Arm(f"static {cwnd}", initcwnd=cwnd) for cwnd in CWNDS)
PACED = tuple(Arm(f"{cwnd} over {part}", initcwnd=cwnd, pacing_percent=percent)
              for cwnd in PACED_CWNDS for percent, part in PERCENT.items())
ARMS = (*STATIC, *PACED, Arm(AGAIN, initcwnd=24))


class Verdict(NamedTuple):
    target: str
    where: list  # cells, or scenes
    arms: dict  # cell or scene -> names of arms that reach it there


def by_target(cells, names):
    """Arms that reach each target, all targets, and all targets in all cells of a scene."""
    judged = {name: judge.judge(cells, name) for name in names}
    verdicts = []
    for number, target in enumerate(judged[names[0]]):
        missed = {name: {id(cell) for cell, _ in targets[number].missed}
                  for name, targets in judged.items()}
        verdicts.append(Verdict(target.text, cells, {
            cell.label: {name for name in names if id(cell) not in missed[name]} for cell in cells}))
    together = {cell.label: set.intersection(*(verdict.arms[cell.label] for verdict in verdicts))
                for cell in cells}
    verdicts.append(Verdict("all of these at once", cells, together))
    scenes = {}
    for cell in cells:
        scene = cell.label.rpartition(",")[0]
        scenes[scene] = scenes.get(scene, set(names)) & together[cell.label]
    verdicts.append(Verdict("all at once with one arm for all objects of a scene", list(scenes), scenes))
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
    table = evaluation.table("oracle", "target", "where", "arms")
    by_chance = {target.text: len(target.missed) for target in judge.judge(cells, AGAIN)}
    at_once = {arm.name for arm in STATIC}
    for target, where, arms in by_target(cells, [arm.name for arm in STATIC + PACED]):
        for place, reach in arms.items():
            table.add(target, place, ", ".join(sorted(reach)))
        n_never = sum(not reach for reach in arms.values())
        n_paced = sum(not reach & at_once for reach in arms.values()) - n_never
        again = f"; a second static 24 misses {by_chance[target]}" if target in by_chance else ""
        evaluation.say(f"{target}: none in {n_never} of {len(where)}, only paced ones in {n_paced}{again}")


def draw(evaluation, cells):
    with evaluation.picture("oracle", width=9, height=6) as (_, axes):
        for cell in cells:
            of_24 = judge.mean(cell.samples["static 24"])
            for cwnds, name, colour in ((CWNDS, "static {}", "C0"), (PACED_CWNDS, "{} over half", "C1"),
                                        (PACED_CWNDS, "{} over one", "C2")):
                axes.plot(cwnds, [judge.mean(cell.samples[name.format(cwnd)]) / of_24 for cwnd in cwnds],
                          color=colour, alpha=0.3)
        axes.set(xscale="log", yscale="log", xlabel="initial window, segments (blue: at once, orange: over"
                 " half a round trip, green: over one)",
                 ylabel="mean time, times that of a static 24; a line is a cell")
        axes.set_xticks(CWNDS, CWNDS)
