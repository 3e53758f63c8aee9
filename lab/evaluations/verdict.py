# SPDX-License-Identifier: MIT
"""does it help? verdicts of riptided where the truth is known: no effect, gains and harm

Eight paths with cross traffic; on each a sender whose riptided holds connections out. The same plan is sent in three
worlds: `none`, a window of ten for all; `mixed`, 24 but for a fifth; `all`, 24 for all. What a verdict compares is
known by the arms of all other mixed runs of its path; what windows do, by `all` and `none`. Then harmful windows and
the connections of an operator's first hour. --cells with a regular expression for harm, hour or worlds
plays these alone.
"""

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from string import ascii_lowercase

import figures
import worlds
from contest.play import Lateness
from testbed import Testbed
from traffic import Transfer
from worlds import KERNEL_CWND, PATHS, Path

NICE = -15  # as in the duel
ROUNDS = 25
BEGIN_S, RUN_S, SETTLE_S = 4, 14, 30
HELD_OUT, CWND = 20, 24
# Window, share held out, pacing (an effect even with a window of ten).
WORLDS = {"none": (KERNEL_CWND, HELD_OUT, "no"), "mixed": (CWND, HELD_OUT, "yes"), "all": (CWND, 0, "yes")}
MOST_CLAIMS, LEAST_HELD = 0.05, 0.93
LEAST_CONNECTIONS = 20  # of each arm, for a verdict

HARM_PATH, HARM_CWND, HARM_BYTES, HARM_PER_S = Path(50, 50, 0.096, "cubic", "cubic"), 80, 60_000, 50
HARM_HELD_OUT, HARM_BEGIN_S, HARM_RUN_S, HARM_LIMIT_S = (20, 5), 15, 75, 60
HARM_RECEIVERS = 8  # groups of sources: two are left out of what decides
HARM_LATE_MS = 5  # a tenth of the round trip: more would be a burst of its own

HOUR_PATH, HOUR_CWNDS = Path(60, 50, 1, "cubic", "cubic"), (10, 16, 24, 36)
HOUR_HELD_OUT, HOUR_PER_S, HOUR_CONNECTIONS, HOUR_TICKS = 5, 5, 18_000, (1, 2, 5, 10, 20, 40, 60)
ARMS, BOUNDS = ("kernel", "window"), ("estimate", "low", "high")


def receivers(number, n_receivers=1):
    """Hosts behind one path, each with a /24 of its own."""
    return [f"receiver{number}{letter}" for letter in ["", *ascii_lowercase][:n_receivers]]


def network(evaluation, paths, n_receivers=1):
    hosts = {f"{name}{number}": f"10.9.{number}.{place}"
             for number in range(len(paths)) for place, name in enumerate(("sender", "other"), 1)}
    hosts |= {name: f"10.{10 + place}.{number}.3"
              for number in range(len(paths)) for place, name in enumerate(receivers(number, n_receivers))}
    back = [f"to=sender{number},to=other{number},delay={path.rtt_ms / 2:g}ms" for number, path in enumerate(paths)]
    return Testbed(evaluation, hosts, [path.words(receivers(number, n_receivers))
                                        for number, path in enumerate(paths)] + back)


def forced(cwnd, held_out, pacing, interval="200ms"):
    """Options of a riptided that always gives this window, except to those held out."""
    return ("--apply", "program", "--policy", "paper", "--max-share", "0",
            "--interval", interval, "--cwnd-min", cwnd, "--cwnd-max", cwnd, "--holdout-percent", held_out,
            "--pacing", pacing)


def figures_of(effect):
    """The effect that riptided says, as worlds.py has it: in percent and points."""
    def scaled(change):
        return change and {"estimate": 100 * change["change"], "low": 100 * change["low"], "high": 100 * change["high"]}
    time = effect and effect["time"]
    return effect and {**effect, "time_percent": scaled(time), "retrans_points": scaled(effect["retransmitted"]),
                       "rounds_saved": time and time["held_out"] - time["with_window"]}


def play(testbed, plan, options, every_s=1, start_s=0):
    """Sends the plan; riptided with options[n] runs on sender n from start_s. Returns results, each
    sender's `apply` of status, [(seconds, apply)], when its riptided started, and how late
    packets were between two times."""
    names = [f"sender{number}" for number in range(len(options))]
    reads, starts, end_s = [[] for _ in names], [], max(one.at_s for one in plan)
    with ThreadPoolExecutor(len(names) + 1) as threads, Lateness(testbed.wan) as lateness:
        sending = threads.submit(testbed.transfer, plan, end_s + SETTLE_S)
        time.sleep(start_s)
        for name, words in zip(names, options):
            starts.append(time.monotonic())
            testbed.start_riptided([name], *words)
        next_s, is_last = time.monotonic(), False
        while not is_last:
            next_s += every_s
            is_last = sending.done()  # and riptided has read all a moment later
            time.sleep(max(0, next_s - time.monotonic()))
            said = threads.map(lambda name: testbed.ask_riptide(name, "status")["apply"], names)
            for of_sender, apply in zip(reads, said):
                of_sender.append((time.monotonic(), {**apply, "effect": figures_of(apply["effect"])}))
        testbed.end_riptided()
        go_s = testbed.traffic.go_s
        return (sending.result(), [[(at_s - go_s, apply) for at_s, apply in of_sender] for of_sender in reads],
                [at_s - go_s for at_s in starts],
                lambda begin_s, end_s: lateness.between(go_s + begin_s, go_s + end_s))


class Run:
    """One run of a path in a world; late: riptided's window was not in force at BEGIN_S."""

    def __init__(self, world, number, results, reads, end_s):
        self.verdicts = [apply["effect"] for _, apply in reads if apply["effect"]]
        self.last = self.verdicts[-1] if self.verdicts else None
        counted_s = next((at_s for at_s, apply in reads if apply["effect"] and apply["effect"]["connections"]), 0)
        self.arms = worlds.arms_of(results, f"sender{number}", max(BEGIN_S, counted_s - 1), end_s)
        before = worlds.arms_of(results, f"sender{number}", 0, BEGIN_S)
        self.is_late = world != "none" and not (before[1] and self.arms[1])

    def has_interval(self):
        return self.last and self.last["time_percent"]


def play_worlds(evaluation):
    """Plays all: {world: [path][round]} of Runs."""
    paths, rounds, end_s = (PATHS[:2], 2, 6) if evaluation.quick else (PATHS, ROUNDS, RUN_S)
    runs = {world: [[] for _ in paths] for world in WORLDS}
    intervals = ("time_percent", "retrans_points")
    table = evaluation.table("runs", "world", "path", "round", "late_ms", "verdict", "connections", "held_out",
                             "rounds_saved", *(f"{name}_{bound}" for name in intervals for bound in BOUNDS),
                             *(f"{name}_{arm}" for arm in ARMS for name in ("n", "log_time", "retrans")))
    steps = [(turn, world) for turn in range(rounds) for world in WORLDS]
    with network(evaluation, paths) as testbed:
        for turn, world in evaluation.steps(steps, lambda step: f"round {step[0] + 1}, {step[1]}"):
            plan = [one for number, path in enumerate(paths)
                    for one in worlds.plan(path, number, evaluation.drawn(turn, number), end_s)]
            results, reads, _, late_ms = play(testbed, plan, [forced(*WORLDS[world])] * len(paths))
            for number, path in enumerate(paths):
                run = Run(world, number, results, reads[number], end_s)
                runs[world][number].append(run)
                last = run.last or {}
                table.add(world, path.label(), turn, late_ms(BEGIN_S, end_s),
                          *(last.get(key) for key in ("verdict", "connections", "held_out", "rounds_saved")),
                          *((last.get(name) or {}).get(bound) for name in intervals for bound in BOUNDS),
                          *(value for arm in run.arms for value in (arm[:3] if arm else (0, None, None))))
    return paths, runs


def say_share(evaluation, words, count, of, is_met=None):
    share = figures.estimate_exact(count, of)
    evaluation.say(f"  {words}: {count} of {of}, {100 * share.value:.1f} % ({100 * share.low:.1f} to"
                   f" {100 * share.high:.1f})" + {None: "", True: ", met", False: ", MISSED"}[is_met])


def judge_none(evaluation, runs):
    """How many verdicts claim an effect, at any read, although there is none; and of how many."""
    runs = [run.verdicts for of_path in runs for run in of_path if run.last]
    claims = [worlds.ever_misses(rows, 0, 0) for rows in runs]
    n_either = sum(any(one) for one in claims)
    n_reads = sum(row["time_percent"] is not None for rows in runs for row in rows)
    evaluation.say(f"no effect: runs that claim one at any of {n_reads} reads with intervals")
    say_share(evaluation, "of time", sum(time for time, _ in claims), len(runs))
    say_share(evaluation, "of what is retransmitted", sum(retrans for _, retrans in claims), len(runs))
    say_share(evaluation, "of either", n_either, len(runs), n_either <= MOST_CLAIMS * len(runs))
    n_void = sum(any(row["verdict"] == "unknown" and min(row["connections"], row["held_out"]) >= LEAST_CONNECTIONS
                     for row in rows) for rows in runs)
    say_share(evaluation, "no verdict, though there are enough connections", n_void, len(runs))
    return n_either, len(runs)


def judge_gain(evaluation, paths, runs):
    """How many final intervals of time contain the truth, and of how many."""
    table = evaluation.table("truths", "path", "of", *worlds.Difference._fields)
    held, n_late = [], 0
    for number, path in enumerate(paths):
        kept = [of for of in zip(*(runs[world][number] for world in ("none", "mixed", "all")))
                if not any(run.is_late for run in of)]
        n_late += len(runs["mixed"][number]) - len(kept)
        if len(kept) < 2:
            table.add(path.label(), "late", *[None] * len(worlds.Difference._fields))
            continue
        none, mixed, all_24 = ([run.arms for run in of_world] for of_world in zip(*kept))
        truths = {"compared": worlds.difference(mixed),
                  "all": worlds.difference([(one[0], two[1]) for one, two in zip(none, all_24)]),
                  "held out": worlds.difference([(one[0], two[0]) for one, two in zip(none, mixed)])}
        evaluation.say(path.label())
        for words, found in truths.items():
            table.add(path.label(), words, *found)
            evaluation.say("    {}: time {:+.1f} % ({:.1f}), retransmitted {:+.2f} points ({:.2f}); spread {:.2f},"
                           " {:.2f}".format(words, *found))
        for turn, (_, run, _) in enumerate(kept):
            if not run.has_interval():
                continue
            others = mixed[:turn] + mixed[turn + 1:] if len(mixed) > 2 else mixed
            own, whole = worlds.difference(others)[:3:2], truths["all"][:3:2]
            missed = (*worlds.misses(run.last, *own), any(worlds.ever_misses(run.verdicts, *own)),
                      *worlds.misses(run.last, *whole))
            held.append([not one for one in missed])
    evaluation.say(f"gain: intervals that hold the truth; {n_late} rounds of paths are left out as late")
    counts = [sum(one) for one in zip(*held)] or [0] * 5
    for i, words in enumerate(("of time", "of what is retransmitted", "both at all reads", "of time, all against none",
                               "of what is retransmitted, all against none")):
        say_share(evaluation, words, counts[i], len(held), counts[i] >= LEAST_HELD * len(held) if i < 2 else None)
    return counts[0], len(held)


def judge_harm(evaluation):
    """When windows are suspended; retransmissions of both arms, per second."""
    shares = HARM_HELD_OUT if evaluation.quick else HARM_HELD_OUT * 4
    begin_s, end_s = (3, 24) if evaluation.quick else (HARM_BEGIN_S, HARM_RUN_S)
    plan = [Transfer(f"sender{number}", evaluation.random.choice(receivers(number, HARM_RECEIVERS)), HARM_BYTES,
                     (n + evaluation.random.random()) / HARM_PER_S)
            for number in range(len(shares)) for n in range(HARM_PER_S * end_s)]
    with network(evaluation, [HARM_PATH] * len(shares), HARM_RECEIVERS) as testbed:
        options = [forced(HARM_CWND, held_out, "no", "1s") for held_out in shares]
        results, reads, starts, late_ms = play(testbed, plan, options, every_s=0.5, start_s=begin_s)
    backs = [next((at_s for at_s, apply in of_sender if apply["suspended_s"] > 0),
                  end_s) for of_sender in reads]
    seconds = set(range(end_s))
    on_time = {second for second in seconds if late_ms(second, second + 1) <= HARM_LATE_MS} or seconds
    evaluation.say(f"harm: {end_s - len(on_time)} of {end_s} seconds left out as late")
    results = [one for one in results if int(one.start_us / 1e6) in on_time]
    table = evaluation.table("harm", "sender", "held_out", "second",
                             *(f"{name}_{arm}" for arm in ARMS for name in ("n", "retrans")))
    for number, (held_out, began_s, back_s) in enumerate(zip(shares, starts, backs)):
        def arms(*span, sender=f"sender{number}"):
            return worlds.arms_of(results, sender, *span)
        parts = (arms(0, began_s - 1)[0], *arms(began_s + 2, back_s), arms(back_s + 1, end_s)[0])
        evaluation.say(f"harm, {held_out} % held out: suspended after {back_s - began_s:.1f} s; retransmitted"
                       " before, by those held out, with the window, after: "
                       + ", ".join(f"{100 * arm.retrans:.1f} %" if arm else "-" for arm in parts))
        rows = [(second, *arms(second, second + 1)) for second in sorted(on_time)]
        for second, *both in rows:
            table.add(number, held_out, second, *(value for arm in both for value in (
                (arm.n, 100 * arm.retrans) if arm else (0, None))))
        if number == len(HARM_HELD_OUT) - 1:
            draw_harm(evaluation, rows, began_s, back_s)
    n_back = sum(back_s < min(end_s, began_s + HARM_LIMIT_S) for began_s, back_s in zip(starts, backs))
    return f"Harm: {n_back} of {len(shares)} hosts suspended within {HARM_LIMIT_S} s."


def draw_harm(evaluation, rows, began_s, back_s):
    """Both arms of one host, second by second."""
    with evaluation.picture("harm", width=9) as (_, axes):
        for place, words in (1, "the kernel's window"), (2, f"a window of {HARM_CWND}"):
            points = [(row[0] + 0.5, 100 * row[place].retrans) for row in rows if row[place]]
            axes.plot(*zip(*points), ".-", label=words)
        for at_s, style, words in (began_s, "-", "riptided starts"), (back_s, ":", "suspended"):
            axes.axvline(at_s, color="black", linestyle=style, label=words)
        axes.set(xlabel="seconds", ylabel="segments retransmitted, percent")
        axes.legend()


def judge_hour(evaluation):
    """When an operator sees a gain: an hour's connections are sent in minutes."""
    cwnds, held_out = (HOUR_CWNDS[::3], HELD_OUT) if evaluation.quick else (HOUR_CWNDS * 2, HOUR_HELD_OUT)
    end_s = 6 if evaluation.quick else HOUR_CONNECTIONS / HOUR_PATH.per_s()
    plan = [one for number in range(len(cwnds))
            for one in worlds.plan(HOUR_PATH, number, evaluation.drawn("hour", number), end_s)]
    with network(evaluation, [HOUR_PATH] * len(cwnds)) as testbed:
        reads = play(testbed, plan, [forced(cwnd, held_out, "yes" if cwnd > KERNEL_CWND else "no")
                                     for cwnd in cwnds], every_s=0.5)[1]
    n_shown = 0
    table = evaluation.table("hour", "sender", "cwnd", "minutes", "connections", "held_out", "verdict", *BOUNDS)
    with evaluation.picture("hour", width=9, height=5.5) as (_, axes):
        for number, (cwnd, of_sender) in enumerate(zip(cwnds, reads)):
            rows = [apply["effect"] for _, apply in of_sender if apply["effect"] and apply["effect"]["time_percent"]]
            minutes = [(row["connections"] + row["held_out"]) / HOUR_PER_S / 60 for row in rows]
            estimates, lows, highs = ([row["time_percent"][bound] for row in rows] for bound in BOUNDS)
            for at, row, *interval in zip(minutes, rows, estimates, lows, highs):
                table.add(number, cwnd, at, row["connections"], row["held_out"], row["verdict"], *interval)
            shown = next((at for at, row in zip(minutes, rows) if worlds.misses(row, 0, 0)[0]), None)
            n_shown += shown is not None
            words = f"window of {cwnd}: " + ("not shown" if shown is None else f"shown after {shown:.1f} min")
            evaluation.say(f"hour, {words}; time at the end: "
                           + (f"{estimates[-1]:+.1f} % ({lows[-1]:+.1f} to {highs[-1]:+.1f})" if rows else "too few"))
            if number < len(HOUR_CWNDS):
                axes.fill_between(minutes, lows, highs, alpha=0.25)
                axes.plot(minutes, estimates, label=words)
        axes.axhline(0, color="black", linewidth=1)
        axes.set(xscale="log", xlim=(HOUR_TICKS[0], HOUR_TICKS[-1]), ylim=(-60, 60),
                 ylabel="time, percent of those held out",
                 xlabel=f"minutes of {HOUR_PER_S} connections a second, {held_out} % held out")
        axes.set_xticks(HOUR_TICKS, map(str, HOUR_TICKS))
        axes.minorticks_off()
        axes.legend()
    return f"Hour: {n_shown} of {len(cwnds)} hosts show an effect."


def judge_worlds(evaluation):
    paths, runs = play_worlds(evaluation)
    n_claims, n_none = judge_none(evaluation, runs["none"])
    n_held, n_mixed = judge_gain(evaluation, paths, runs)
    return (f"No effect: {n_claims} of {n_none} runs claim one at any read. Gain: {n_held} of {n_mixed} intervals of"
            " time hold the truth.")


PARTS = {"harm": judge_harm, "hour": judge_hour, "worlds": judge_worlds}


def evaluate(evaluation):
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    *others, last = [judge(evaluation) for name, judge in PARTS.items() if re.search(evaluation.cells or "", name)]
    evaluation.verdict(last, " ".join(others))
