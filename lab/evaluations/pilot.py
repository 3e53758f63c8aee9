# SPDX-License-Identifier: MIT
"""the pilot's table: seven paths on which four ways of giving windows were first compared

Beside each figure, the pilot's own. Then what first flights of which windows fit into which buffer.
"""

from contest import judge
from contest.play import COLUMNS, play
from contest.scenes import PACKET_BYTES, Arm, Scene, arms_named

ARMS = arms_named("none", "static 24", "paper", "careful")
# Scene, and the pilot's (mean ms, percent retransmitted) for none, 24, paper, and
# min(capacity / 2, burst) / sharers, the plan for careful at that time.
ROWS = (
    (Scene(100, 100, 1, 0, "cubic", 1, (100,)), ((428, 0.0), (319, 0.0), (218, 0.0), (217, 0.0))),
    (Scene(100, 20, 0.5, 0, "cubic", 1, (200,)), ((605, 0.3), (488, 0.8), (422, 9.6), (391, 2.8))),
    (Scene(20, 20, 0.5, 0, "cubic", 1, (100,)), ((145, 6.5), (107, 11.9), (110, 5.9), (113, 3.4))),
    (Scene(50, 50, 1, 0, "cubic", 8, (200,)),
     ((412, 4.4), (418, 10.7), (475, 34.5), (421, 14.3))),
    (Scene(100, 5, 0.512, 0, "cubic", 1, (100,)), ((608, 4.2), (546, 9.7), (557, 8.5), (573, 4.3))),
    (Scene(100, 5, 0.512, 0, "bbr", 1, (100,)), ((793, 7.8), (653, 13.4), (847, 41.0), (602, 7.8))),
    (Scene(100, 20, 0.5, 0, "bbr", 1, (200,)), ((751, 3.3), (583, 3.4), (420, 9.1), (439, 6.3))),
)
# Buffers in segments at 100 ms and 20 Mbit/s, and windows around the limit that the pilot saw.
FLIGHTS = ((43, (40, 50)), (86, (70, 100)), (172, (100,)))
CAPACITY_SEGS = 172
REPETITIONS, SIDE_BY_SIDE = 10, 4


def flight_scene(buffer_segs):
    capacity_segs = Scene(100, 20, 1, 0, "cubic", 1, ()).capacity_segs
    assert abs(capacity_segs * PACKET_BYTES - CAPACITY_SEGS * 1448) < 3000
    return Scene(100, 20, buffer_segs / capacity_segs, 0, "cubic", 1, (200,))


def in_groups(items, n):
    return [items[i:i + n] for i in range(0, len(items), n)]


def compare_rows(evaluation, rows, repetitions):
    table = evaluation.table("transfers", *COLUMNS)
    numbered = [(number, scene) for number, (scene, _) in enumerate(rows, 1)]
    for group in evaluation.steps(in_groups(numbered, SIDE_BY_SIDE), lambda group: group[0][1].label()):
        play(evaluation, group, ARMS, repetitions, table)
    cells, n_late, n_all = judge.cells_of(table.rows, dict(numbered))
    evaluation.conditions.update(repetitions=n_all, repetitions_left_out=n_late)
    pilot = evaluation.table("pilot", "cell", "arm", "mean_ms", "mean_low", "mean_high",
                             "retrans_percent", "pilot_ms", "pilot_retrans_percent")
    evaluation.say("mean ms / bytes retransmitted in percent; in brackets the pilot's")
    for cell in cells:
        words = []
        for arm, (pilot_ms, pilot_percent) in zip(ARMS, rows[cell.scene - 1][1]):
            figures = judge.figures_of(cell.samples[arm.name])
            pilot.add(cell.label, arm.name, *figures.mean_ms, figures.retrans_bytes.value, pilot_ms,
                      pilot_percent)
            words.append(f"{arm.name} {figures.mean_ms.value:.0f} / {figures.retrans_bytes.value:.1f}"
                         f" ({pilot_ms} / {pilot_percent})")
        evaluation.say(f"{cell.label}\n    " + ", ".join(words))
    return cells, n_late, n_all


def compare_flights(evaluation, repetitions):
    """Lines with the first flights that lost nothing."""
    table = evaluation.table("flights", *COLUMNS)
    agreed = 0
    for number, (buffer_segs, windows) in enumerate(FLIGHTS, 1):
        arms = tuple(Arm(f"static {cwnd}", initcwnd=cwnd) for cwnd in windows)
        play(evaluation, [(number, flight_scene(buffer_segs))], arms, repetitions, table)
        for cwnd, arm in zip(windows, arms):
            flights = [row for row in table.rows if row["scene"] == number
                       and row["arm"] == arm.name and not judge.is_late(row)]
            n_fit = sum(row["retrans_first"] == 0 for row in flights)
            is_fit = cwnd == min(windows)  # according to the pilot
            agreed += is_fit == (n_fit > len(flights) / 2)
            evaluation.say(f"buffer {buffer_segs} segments, window {cwnd}: {n_fit} of"
                           f" {len(flights)} first flights fit; the pilot:"
                           f" {'fits' if is_fit else 'loses'}")
    return agreed


def draw(evaluation, cells):
    with evaluation.picture("pilot", width=9, height=4.5) as (_, axes):
        for i, arm in enumerate(ARMS):
            figures = [judge.figures_of(cell.samples[arm.name]) for cell in cells]
            axes.bar([cell.scene + 0.2 * i - 0.3 for cell in cells],
                     [one.mean_ms.value for one in figures], 0.18, label=arm.name)
        axes.set_xlabel("path, in the order of the table")
        axes.set_ylabel("mean time, ms")
        axes.legend()


def evaluate(evaluation):
    rows, repetitions = (ROWS[:1], 2) if evaluation.quick else (ROWS, REPETITIONS)
    cells, n_late, n_all = compare_rows(evaluation, rows, repetitions)
    if not cells:
        evaluation.nothing_on_time()
        return
    n_windows = sum(len(windows) for _, windows in FLIGHTS)
    agreed = None if evaluation.quick else compare_flights(evaluation, repetitions)
    draw(evaluation, cells)
    faster = sum(judge.time_ratio(cell, "careful", "static 24").value < 1 for cell in cells)
    fewer = sum(judge.retrans_difference(cell, "careful", "paper").value <= 0 for cell in cells)
    flights = "not asked" if agreed is None else f"as in the pilot for {agreed} of {n_windows}"
    evaluation.verdict(
        f"careful is faster than a static 24 on {faster} of {len(cells)} paths, and retransmits no"
        f" more than paper on {fewer}; first flights fit: {flights}.",
        f"{n_late} of {n_all} repetitions were left out as late.")
