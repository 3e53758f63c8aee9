# SPDX-License-Identifier: MIT
"""Waits for conditions, with a deadline; what is closed or stopped for a while; and percentiles of durations."""

import contextlib
import os
import signal
import time

# The command that runs programs: valgrind, in its own lane.
WRAPPER = os.environ.get("RIPTIDE_WRAPPER", "").split()
IS_SANITIZED = "ASAN_OPTIONS" in os.environ  # as ./dev sets it for its lane
SLOWNESS = int(os.environ.get("RIPTIDE_PATIENCE", 1))  # of a guest
PATIENCE = 10 if WRAPPER or IS_SANITIZED else SLOWNESS
DEADLINE_S = 60 * PATIENCE  # longer than any awaited event takes on a busy machine


class Closing:
    """What is closed at the end of a `with`."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def wait_until(condition, what, deadline_s=DEADLINE_S):
    """Returns the first true value of condition(); fails after the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s} s: {what}; last seen: {value!r}")
        time.sleep(0.01)


@contextlib.contextmanager
def stopped(pid):
    """Stops a child of this process during the `with`: to it, all that happens meanwhile happens at once."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG), "its stop")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def percentile(values, share):
    """The percentile of values; share 0: the smallest, 1: the largest. No values: 0."""
    values = sorted(values) or [0]
    return values[min(int(share * len(values)), len(values) - 1)]
