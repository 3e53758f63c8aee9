# SPDX-License-Identifier: MIT
"""First flights at once and paced, by the buffer at the bottleneck.

A path of 100 ms and 20 Mbit/s whose buffer holds from a twentieth of the bandwidth-delay product to
all of it. One cubic connection opens, four at once, or one with bbr. Windows of ten, 24, 32, 50 and
100 leave at once, over half a round trip and over a whole one; riptided's windows, by routes and
paced by the program. Beside it, the segments of single transfers as they leave and arrive.
"""

import contextlib
import itertools

from capture import Capture
from contest import judge
from contest.play import COLUMNS, Stage, play
from contest.scenes import BY_ROUTES, CAREFUL, SEGMENT_BYTES, Arm, Scene
from testbed import Testbed
from traffic import Transfer

ARMS = (
    Arm("none"),
    Arm("24 at once", initcwnd=24),
    Arm("32 at once", initcwnd=32),
    Arm("50 at once", initcwnd=50),
    Arm("50 over half", initcwnd=50, pacing_percent=50),
    Arm("100 at once", initcwnd=100),
    Arm("100 over half", initcwnd=100, pacing_percent=50),
    Arm("100 over one", initcwnd=100, pacing_percent=100),
    Arm("careful", riptided=(*CAREFUL, *BY_ROUTES)),
    Arm("careful paced", riptided=CAREFUL),
)
BUFFERS_BDP = (0.05, 0.1, 0.25, 0.5, 1)
OBJECTS_KB = (50, 100, 200)
DRAWN_KB = 100
DRAWN = ("none", "24 at once", "100 at once", "100 over one", "careful", "careful paced")
SIDE_BY_SIDE = 3
FOLLOWED = ("100 at once", "100 over half", "100 over one")
FOLLOWED_SCENE = Scene(100, 20, 0.25, 0, "cubic", 1, (DRAWN_KB,))


def scenes(quick):
    """The scenes of each (congestion, openers), by buffer."""
    buffers = BUFFERS_BDP[2:3] if quick else BUFFERS_BDP
    groups = (("cubic", 1),) if quick else (("cubic", 1), ("cubic", 4), ("bbr", 1))
    return {group: [Scene(100, 20, buffer, 0, *group, OBJECTS_KB) for buffer in buffers]
            for group in groups}


def measure(evaluation, groups):
    """Plays all scenes; returns their cells."""
    repetitions = 3 if evaluation.quick else 8
    table = evaluation.table("transfers", *COLUMNS)
    numbered = list(enumerate(itertools.chain(*groups.values()), 1))
    batches = [numbered[i:i + SIDE_BY_SIDE] for i in range(0, len(numbered), SIDE_BY_SIDE)]
    for batch in evaluation.steps(batches, lambda batch: batch[0][1].label()):
        play(evaluation, batch, ARMS, repetitions, table)
    cells, n_late, n_all = judge.cells_of(table.rows, dict(numbered))
    evaluation.conditions.update(repetitions=n_all, repetitions_left_out=n_late)
    return cells, dict(numbered)


def say(evaluation, cells):
    """Writes each cell's figures as a table, and prints them."""
    table = evaluation.table("pacing", "cell", "arm", "mean_ms", "low", "high", "retrans_percent")
    evaluation.say("mean ms / segments retransmitted, percent")
    for cell in cells:
        words = []
        for arm in ARMS:
            figures = judge.figures_of(cell.samples[arm.name])
            table.add(cell.label, arm.name, *figures.mean_ms, figures.retrans_bytes.value)
            words.append(f"{arm.name} {figures.mean_ms.value:.0f}/{figures.retrans_bytes.value:.1f}")
        evaluation.say(f"{cell.label}\n    " + ", ".join(words))


def draw(evaluation, cells, numbered, groups):
    """Draws the time by buffer for one object, a picture for each kind of use."""
    found = {(numbered[cell.scene], cell.object_kb): cell for cell in cells}
    with evaluation.picture("pacing", 1, len(groups)) as (_, grid):
        grid = grid if len(groups) > 1 else [grid]
        for axes, ((congestion, openers), of_group) in zip(grid, groups.items()):
            shown = [scene for scene in of_group if (scene, DRAWN_KB) in found]
            for arm in (arm for arm in ARMS if arm.name in DRAWN):
                means = [judge.figures_of(found[scene, DRAWN_KB].samples[arm.name]).mean_ms.value
                         for scene in shown]
                axes.plot([scene.buffer_bdp for scene in shown], means, marker="o", markersize=4,
                          linestyle="-" if "over" in arm.name or "paced" in arm.name else "--", label=arm.name)
            axes.set(xscale="log", xlabel="buffer, bandwidth-delay products", ylim=(0, None),
                     ylabel=f"mean time of {DRAWN_KB} KB, ms", title=f"{congestion}, {openers} at once")
            axes.set_xticks(BUFFERS_BDP, [f"{buffer:g}" for buffer in BUFFERS_BDP])
        grid[-1].legend(fontsize=7)


def follow(evaluation):
    """For each arm the segments of one transfer, as they left and as they arrived."""
    arms = [arm for arm in ARMS if arm.name in FOLLOWED]
    stage = Stage(1, FOLLOWED_SCENE, arms, 1, 0, evaluation.random)
    found = {}
    with contextlib.ExitStack() as stack:
        testbed = stack.enter_context(
            Testbed(evaluation, stage.hosts, stage.paths(evaluation.seed)))
        stage.set_up(testbed)
        for name, arm in stage.senders.items():
            with Capture(name) as near, Capture(stage.receiver) as far:
                testbed.transfer([Transfer(name, stage.receiver, DRAWN_KB * 1000)])
                found[arm.name] = [end.segments(stage.hosts[name]) for end in (near, far)]
    return found


def draw_segments(evaluation, found):
    """Draws when segments left and arrived, or were lost: the first round trip, and all."""
    with evaluation.picture("arrivals", 1, 2) as (_, grid):
        for color, (name, (left, arrived)) in enumerate(found.items()):
            missing = {one.packet for one in left} - {one.packet for one in arrived}
            lost = [one for one in left if one.packet in missing]
            for segments, marker, size, label in (
                    (left, ".", 1, None), (arrived, ".", 5, f"{name}: {len(arrived)} arrived"),
                    (lost, "x", 4, f"{name}: {len(lost)} lost, when they left")):
                for axes in grid if segments else ():
                    axes.plot([(one.at_ns - left[0].at_ns) / 1e6 for one in segments],
                              [(one.sequence - left[0].sequence) / SEGMENT_BYTES + 1 for one in segments],
                              linestyle="", marker=marker, markersize=size, color=f"C{color}", label=label)
        for axes, words in zip(grid, ("one round trip", "until all have arrived")):
            axes.set(xlabel="ms since the first data segment left", ylabel=f"segment of {DRAWN_KB} KB",
                     title=words)
        grid[0].set_xlim(-5, FOLLOWED_SCENE.rtt_ms + 20)
        grid[1].legend(fontsize=7, loc="lower right", title="small: as they left", title_fontsize=7)


def evaluate(evaluation):
    draw_segments(evaluation, follow(evaluation))
    groups = scenes(evaluation.quick)
    cells, numbered = measure(evaluation, groups)
    if not cells:
        evaluation.nothing_on_time()
        return
    say(evaluation, cells)
    draw(evaluation, cells, numbered, groups)
    gains = [1 - judge.figures_of(cell.samples["100 over one"]).mean_ms.value
             / judge.figures_of(cell.samples["24 at once"]).mean_ms.value for cell in cells]
    evaluation.verdict(
        f"100 segments over a round trip take {100 * sum(gains) / len(gains):.0f} % less time than 24 at"
        f" once, in the mean of {len(cells)} cells (worst {100 * min(gains):.0f} %, best {100 * max(gains):.0f} %).",
        f"{evaluation.conditions['repetitions_left_out']} of {evaluation.conditions['repetitions']}"
        " repetitions were left out as late.")
