# SPDX-License-Identifier: MIT
"""Figures of the soak of the daemon, and whether its memory and open files grow."""

import collections
import statistics
import time

from waiting import percentile

WARM_UP_SHARE = 0.25  # of the last run of the daemon, while its tables grow;
WARM_UP_S = 40        # at least; a quarter is longer in runs of four minutes and more
MIN_ROWS = 30         # after the warm-up, for a judgement
GROWTH_KB = 256
CLIENTS = 64 + 4      # open files beyond the daemon's minimum: clients, files being written


class Figures:
    """Figures of a whole run; the text reports those so far."""

    def __init__(self):
        self.start = time.monotonic()
        self.rows = []  # (s, resident kB, files)
        self.lives = []  # when each run of the daemon began
        self.late_ms, self.lasted_ms = [], []
        self.events = collections.Counter()
        self.windows = collections.Counter()  # of new connections, as judged
        self.last = collections.deque(maxlen=8)
        self.load = [0, 0, 0]
        self.n_kills = self.n_rounds = self.rounds_now = 0

    def begin_life(self):
        self.lives.append(time.monotonic() - self.start)
        self.n_rounds += self.rounds_now
        self.rounds_now = 0

    def sample(self, resident_kb, fds, rounds, late_ms):
        self.rows.append((time.monotonic() - self.start, resident_kb, fds))
        self.rounds_now = rounds
        self.late_ms.append(late_ms)

    def add_event(self, name, lasted_ms):
        self.events[name] += 1
        self.last.append(name)
        self.lasted_ms.append(lasted_ms)

    def of_last_life(self):
        """The rows after the warm-up of the daemon's last run."""
        begin = self.lives[-1]
        rows = [row for row in self.rows if row[0] >= begin]
        n_early = sum(row[0] < begin + WARM_UP_S for row in rows)
        return rows[max(int(WARM_UP_SHARE * len(rows)), n_early):]

    def growth_kb(self):
        """Growth of the median from the first third to the last; None: too short to judge."""
        resident = [row[1] for row in self.of_last_life()]
        if len(resident) < MIN_ROWS:
            return None
        third = len(resident) // 3
        return statistics.median(resident[-third:]) - statistics.median(resident[:third])

    def judge(self):
        """A line if memory or files grow; None: they do not."""
        files = [row[2] for row in self.rows] or [0]
        growth_kb = self.growth_kb()
        if growth_kb is not None and growth_kb > GROWTH_KB:
            return f"memory grew by {growth_kb:.0f} kB after the warm-up"
        if max(files) - min(files) > CLIENTS:
            return f"files went from {min(files)} to {max(files)}"
        return None

    def __str__(self):
        lasted, late = ([percentile(values, share) for share in (0.5, 0.99, 1)]
                        for values in (self.lasted_ms, self.late_ms))
        growth_kb = self.growth_kb()
        rows = (self.rows if growth_kb is None else self.of_last_life()) or [(0,) * 3]
        when, growth = (("too short to judge memory;", "") if growth_kb is None else
                        ("after the warm-up", f", growth {growth_kb:.0f}"))
        seconds = time.monotonic() - self.start

        kinds = ", ".join(f"{name} {n}" for name, n in self.events.most_common())
        resident, files = [row[1] for row in rows], [row[2] for row in rows]
        return (f"{sum(self.events.values())} events ({kinds}), {self.n_kills} kills, "
                f"{self.n_rounds + self.rounds_now} rounds; connections: {self.load[0]} opened "
                f"({self.load[0] / seconds:.0f} a second), {self.load[1]} failed, {self.load[2]} "
                f"open; windows: {dict(self.windows)}; from an event to the right answers ms: median {lasted[0]:.1f}, p99 "
                f"{lasted[1]:.1f}, max {lasted[2]:.1f}; rounds late ms: median {late[0]:.1f}, p99 "
                f"{late[1]:.1f}, max {late[2]:.1f}; {when} "
                f"resident kB {min(resident)} to {max(resident)}{growth}, "
                f"files {min(files)} to {max(files)}")
