# SPDX-License-Identifier: MIT
"""First flights at once and paced, by the buffer at the bottleneck.

A path of 100 ms and 20 Mbit/s whose buffer holds from a twentieth of the bandwidth-delay product to
all of it. One cubic connection opens, four at once, or one with bbr. Windows of ten, 24, 32, 50 and
100 leave at once, over half a round trip and over a whole one; riptided's windows, by routes and
paced by the program. Beside it, the segments of single transfers as they arrive.
"""

import itertools

import figures
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
DRAWN_GROUP = ("cubic", 1)
OURS = "careful paced"
DRAWN = {"none": "10, the kernel's window", "100 at once": "100 at once", "100 over one": "100 over a round trip",
         OURS: "riptided, by default"}
SIDE_BY_SIDE = 3
FOLLOWED = {"100 at once": "100 at once", "100 over one": "100 over a round trip"}
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
    table = evaluation.table("pacing", "cell", "arm", "mean_ms", "retransmitted_percent")
    evaluation.say("mean ms / segments retransmitted, percent")
    for cell in cells:
        rows = [table.add(cell.label, arm.name, cell.mean_ms(arm.name), cell.retrans_percent(arm.name)) for arm in ARMS]
        evaluation.say(f"{cell.label}\n    " + ", ".join(
            "{arm} {mean_ms:.0f}/{retransmitted_percent:.1f}".format(**row) for row in rows))


def draw(evaluation, cells, numbered):
    """The time of one object of a single connection, by buffer."""
    cells = [cell for cell in cells if cell.object_kb == DRAWN_KB and numbered[cell.scene][4:6] == DRAWN_GROUP]
    buffers = [numbered[cell.scene].buffer_bdp for cell in cells]
    with evaluation.picture("pacing", width=9, height=5.5) as (_, axes):
        for arm in DRAWN:
            axes.plot(buffers, [cell.mean_ms(arm) for cell in cells], "o-", label=DRAWN[arm],
                      **(figures.DEFAULT_LINE if arm == OURS else {}))
        axes.set(xscale="log", ylim=(0, None), xlabel="buffer at the bottleneck, in bandwidth-delay products",
                 ylabel=f"mean time of {DRAWN_KB} KB, ms")
        axes.set_xticks(BUFFERS_BDP, [f"{buffer:g}" for buffer in BUFFERS_BDP])
        axes.minorticks_off()
        axes.legend()


def follow(evaluation):
    """For each followed arm the segments of one transfer, as they arrived."""
    arms = [arm for arm in ARMS if arm.name in FOLLOWED]
    stage = Stage(1, FOLLOWED_SCENE, arms, 1, 0, evaluation.random)
    found = {}
    with Testbed(evaluation, stage.hosts, stage.paths(evaluation.seed)) as testbed:
        stage.set_up(testbed)
        for name, arm in stage.senders.items():
            with Capture(stage.receiver) as capture:
                testbed.transfer([Transfer(name, stage.receiver, DRAWN_KB * 1000)])
                found[arm.name] = capture.segments(stage.hosts[name])
    return found


def draw_segments(evaluation, found):
    with evaluation.picture("arrivals", width=9, height=5.5) as (_, axes):
        for arm, segments in found.items():
            at_ms = [(one.at_ns - segments[0].at_ns) / 1e6 for one in segments]
            axes.plot(at_ms, [(one.sequence - segments[0].sequence) / SEGMENT_BYTES + 1 for one in segments], ".",
                      markersize=8, label=f"{FOLLOWED[arm]}: all there after {max(at_ms):.0f} ms")
        axes.set(xlabel="ms since the first segment arrived", ylabel=f"segment of {DRAWN_KB} KB")
        axes.legend()


def evaluate(evaluation):
    draw_segments(evaluation, follow(evaluation))
    groups = scenes(evaluation.quick)
    cells, numbered = measure(evaluation, groups)
    if not cells:
        evaluation.nothing_on_time()
        return
    say(evaluation, cells)
    draw(evaluation, cells, numbered)
    gains = [1 - cell.mean_ms("100 over one") / cell.mean_ms("24 at once") for cell in cells]
    evaluation.verdict(
        f"100 segments over a round trip take {100 * sum(gains) / len(gains):.0f} % less time than 24 at"
        f" once, in the mean of {len(cells)} cells (worst {100 * min(gains):.0f} %, best {100 * max(gains):.0f} %).",
        f"{evaluation.conditions['repetitions_left_out']} of {evaluation.conditions['repetitions']}"
        " repetitions were left out as late.")
