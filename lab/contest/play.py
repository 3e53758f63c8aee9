# SPDX-License-Identifier: MIT
"""Plays scenes on real TCP: every arm sends the same transfers over a path of its own.

Each arm of each scene is a host with its own path to the scene's receiver: nothing is shared but the
processor. Arms are paired: they see the same sizes and pauses at about the same time.
"""

import math
import os
import threading
import time
from pathlib import Path

from contest.scenes import (BLOCK_S, BUSY_CELL_KB, BY_ROUTES, BUSY_CONNECTIONS, BUSY_KB, SLOW_BUFFER_BYTES, SLOW_KB,
                            SLOW_MBIT, SLOW_SHARE)
from testbed import Testbed
from traffic import Traffic, Transfer

BUSY_S = 4
# Openings in this time do not count: policies still have evidence from the start.
LEARN_S, QUICK_LEARN_S = 60, 6
PAUSE_S = 0.5
STAGGER_S = 0.04  # between arms, so that they do not burst at the same moment
OPEN_S = 3600
# Cross traffic: objects over keep-alive connections, evenly by the logarithm, and small ones over
# new connections. Openings that do not count, and mean seconds between openings.
CROSS_BYTES, SMALL_BYTES, SMALL_PER_S = (150e3, 3e6), 20_000, 1
CROSS_ROUND_S, CROSS_LIMIT_S = 1.2, 60
POLL_S = 0.1
NICE = -15
OTHER_BUILD = os.environ.get("RIPTIDE_OTHER_BUILD")
COLUMNS = ("scene", "rtt_ms", "rate_mbit", "buffer_bdp", "loss_percent", "congestion", "openers",
           "object_kb", "arm", "repetition", "time_ms", "cwnd_first", "first_segs",
           "retrans_first", "retrans_segs", "data_segs", "late_ms")


class Lateness:
    """How late the WAN was, and when; read by its own thread."""

    def __init__(self, wan):
        self._wan = wan
        self._seen = []  # of (begin_s, end_s, latest packet in ms)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _read(self):
        begin_s = time.monotonic()
        while not self._ended.wait(POLL_S):
            late_ms = self._wan.counters()["late_us"]["recent_max"] / 1e3
            end_s = time.monotonic()
            self._seen.append((begin_s, end_s, late_ms))
            begin_s = end_s

    def between(self, begin_s, end_s):
        return max((late_ms for begin, end, late_ms in self._seen
                    if begin <= end_s and end >= begin_s), default=0)


# The state of a riptided after its first verdict: 0.2 % are held out.
SETTLED = """riptide state 2 saved_ns=0
riptide agent 2
experiment=5 phase=1 until_ns=0 wait_ns=0 given_ns=0 shown_ns=0
"""


def set_arm(testbed, name, arm, *more):
    """Sets up an arm on a host; `more` are further options of its riptided."""
    if arm.is_settled:
        state = Path(f"/run/riptide-{name}.state")
        state.write_text(SETTLED, encoding="ascii")
        more = ("--holdout-percent", 5, "--state", state, *more)
    if arm.pacing_percent:
        testbed.set_window(name, arm.initcwnd, arm.pacing_percent)
    elif arm.initcwnd:
        testbed.set_route(name, "initcwnd", arm.initcwnd)
    if arm.riptided:
        build = OTHER_BUILD if arm.is_other_build else None
        testbed.start_riptided([name], *arm.riptided, *more, build=build)


class Stage:
    """One scene with all arms."""

    def __init__(self, number, scene, arms, repetitions, learn_s, rng):
        self.number, self.scene, self.arms = number, scene, arms
        self._repetitions, self._learn_s, self._rng = repetitions, learn_s, rng
        self.receiver, self.slow = f"r{number}", f"r{number}s"
        self.senders = {f"s{number}a{i}": arm for i, arm in enumerate(arms)}
        self.hosts = {self.receiver: f"10.9.{number}.1"}
        if scene.has_slow:
            self.hosts[self.slow] = f"10.9.{number}.2"
        self.hosts.update((name, f"10.9.{number}.{i + 10}") for i, name in enumerate(self.senders))
        self.rows = []
        self.error = None

    def paths(self, seed):
        scene, delay = self.scene, f"delay={self.scene.rtt_ms / 2:g}ms"
        loss = f"loss={scene.loss_percent:g}%,seed={seed * 1000 + self.number}"
        for name in self.senders:
            yield (f"from={name},to={self.receiver},{delay},rate={scene.rate_mbit:g}mbit,"
                   f"buffer={scene.buffer_bytes}b,{loss}")
            yield f"from={self.receiver},to={name},{delay}"
            if scene.has_slow:
                yield (f"from={name},to={self.slow},{delay},rate={SLOW_MBIT}mbit,"
                       f"buffer={SLOW_BUFFER_BYTES}b,{loss}")
                yield f"from={self.slow},to={name},{delay}"

    def set_up(self, testbed):
        for name, arm in self.senders.items():
            # Routes serve single addresses: their arms learn of each client alone.
            is_shared = self.scene.has_slow and not set(BY_ROUTES) <= set(arm.riptided)
            set_arm(testbed, name, arm, *(("--prefix-len4", "30") if is_shared else ()))

    def _each_arm(self, n, n_bytes, pause_s, counted=(), receiver=None, **options):
        """n transfers for each arm; the arms are first in turn."""
        names = list(self.senders)
        first = self._rng.randrange(len(names))
        return [Transfer(name, receiver or self.receiver, n_bytes, at_s=pause_s + turn * STAGGER_S,
                         tag=(name, *counted),
                         congestion=self.scene.congestion, **options)
                for turn, name in enumerate(names[first:] + names[:first]) for _ in range(n)]

    def play(self):
        try:
            self._traffic = Traffic(self.hosts)
            try:
                self._play()
            finally:
                self._traffic.close()
        except Exception as error:  # in a thread: the caller raises it
            self.error = error

    def _be_busy(self):
        for _ in self._traffic.run(self._each_arm(BUSY_CONNECTIONS, self.scene.busy_bytes, 0,
                                                  reuse=True, idle_s=OPEN_S)):
            pass

    def _play(self):
        if self.scene.per_s:
            self._play_busy()
            return
        if self.scene.cross_share:
            self._play_amid_cross_traffic()
            return
        began_s = time.monotonic()
        while not self.scene.is_quiet and time.monotonic() < began_s + BUSY_S:
            self._be_busy()
        for repetition, object_kb in self._openings(lambda: time.monotonic() - began_s):
            if not self.scene.is_quiet:
                self._be_busy()
            self._open_at_once(repetition, object_kb)

    def _openings(self, passed_s):
        """(repetition, or None if it does not count; object)."""
        while passed_s() < self._learn_s:
            yield None, self._rng.choice(self.scene.objects_kb)
        for repetition in range(self._repetitions):
            objects_kb = list(self.scene.objects_kb)
            self._rng.shuffle(objects_kb)
            for object_kb in objects_kb:
                yield repetition, object_kb

    def _play_amid_cross_traffic(self):
        """Plays one plan of objects and cross traffic."""
        plan, end_s = [], 0
        for repetition, object_kb in self._openings(lambda: end_s):
            end_s += CROSS_ROUND_S * (0.5 + self._rng.random())
            counted = () if repetition is None else (repetition, object_kb)
            plan += self._each_arm(self.scene.openers, object_kb * 1000, end_s, counted)
        low, high = CROSS_BYTES
        mean_bytes = (high - low) / math.log(high / low)
        bytes_per_s = self.scene.cross_share * self.scene.rate_mbit * 1e6 / 8
        for at_s in self._moments(bytes_per_s / mean_bytes, end_s):
            n_bytes = round(low * (high / low) ** self._rng.random())
            plan += self._each_arm(1, n_bytes, at_s, reuse=True, idle_s=OPEN_S)
        for at_s in self._moments(SMALL_PER_S, end_s):
            plan += self._each_arm(1, SMALL_BYTES, at_s)
        self._run(plan, end_s)

    def _play_busy(self):
        """Plays connections at random moments; as many as arrive in BLOCK_S make a repetition."""
        plan, low_kb, high_kb = [], *BUSY_KB
        counts = dict.fromkeys(self.scene.objects_kb, 0)
        end_s = self._learn_s + self._repetitions * BLOCK_S
        for at_s in self._moments(self.scene.per_s, end_s):
            is_slow = self.scene.has_slow and self._rng.random() < SLOW_SHARE
            object_kb, counted = SLOW_KB if is_slow else BUSY_CELL_KB, ()
            n_bytes = round(1000 * low_kb * (high_kb / low_kb) ** self._rng.random())
            if at_s >= self._learn_s:
                counted = counts[object_kb] // self.scene.openers, object_kb
                counts[object_kb] += 1
            plan += self._each_arm(1, 1000 * SLOW_KB if is_slow else n_bytes, at_s, counted,
                                   self.slow if is_slow else self.receiver)
        self._run(plan, end_s)

    def _run(self, plan, end_s):
        """Runs a plan; results whose tag has a repetition count."""
        began_s = time.monotonic()
        for result in self._traffic.run(plan, end_s + CROSS_LIMIT_S):
            _, *counted = result.tag
            if counted and result.complete:
                begin_s = began_s + result.start_us / 1e6
                self.rows.append((begin_s, begin_s + result.done_us / 1e6, *counted, result))

    def _moments(self, rate_per_s, end_s):
        at_s = self._rng.expovariate(rate_per_s)
        while at_s < end_s:
            yield at_s
            at_s += self._rng.expovariate(rate_per_s)

    def _open_at_once(self, repetition, object_kb):
        pause_s = 2 * self.scene.rtt_ms / 1e3 + PAUSE_S * self._rng.random()
        transfers = self._each_arm(self.scene.openers, object_kb * 1000, pause_s)
        begin_s = time.monotonic() + pause_s
        results = list(self._traffic.run(transfers))
        if repetition is None:
            return
        self.rows += [(begin_s, time.monotonic(), repetition, object_kb, result)
                      for result in results if result.complete]

    def table_rows(self, lateness):
        scene = self.scene
        for begin_s, end_s, repetition, object_kb, result in self.rows:
            yield (self.number, *scene[:6], object_kb, self.senders[result.sender].name, repetition,
                   result.done_us / 1e3, result.cwnd_first,
                   min(result.cwnd_first, -(-result.n_bytes // result.mss_bytes)),
                   result.retrans_first, result.retrans_segs, result.data_segs,
                   lateness.between(begin_s, end_s))


def play(evaluation, numbered, arms, repetitions, table):
    """Plays scenes side by side and adds their transfers to the table (COLUMNS)."""
    # Priority, so that policies are compared, not waiting times on a busy machine.
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    learn_s = evaluation.learn_s or (QUICK_LEARN_S if evaluation.quick else LEARN_S)
    stages = [Stage(number, scene, arms, repetitions, learn_s, evaluation.drawn(number, scene))
              for number, scene in numbered]
    hosts = {name: address for stage in stages for name, address in stage.hosts.items()}
    paths = [path for stage in stages for path in stage.paths(evaluation.seed)]
    with Testbed(evaluation, hosts, paths) as testbed:
        for stage in stages:
            stage.set_up(testbed)
        threads = [threading.Thread(target=stage.play) for stage in stages]
        with Lateness(testbed.wan) as lateness:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    for stage in stages:
        if stage.error:
            raise stage.error
        for row in stage.table_rows(lateness):
            table.add(*row)
