# SPDX-License-Identifier: MIT
"""Waiting for a condition, with a deadline; and how long things lasted."""

import os
import time

# The command under which programs run: valgrind in a lane of its own.
WRAPPER = os.environ.get("RIPTIDE_WRAPPER", "").split()
IS_SANITIZED = "ASAN_OPTIONS" in os.environ  # as ./dev sets it for its lane
PATIENCE = int(os.environ.get("RIPTIDE_PATIENCE", 10 if WRAPPER or IS_SANITIZED else 1))
DEADLINE_S = 30  # longer than any waited-for event takes on a busy machine


def wait_until(condition, what, deadline_s=DEADLINE_S):
    """Returns the first true value of condition(); fails after the deadline."""
    end = time.monotonic() + deadline_s * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s} s: {what}; last seen: {value!r}")
        time.sleep(0.01)


def percentile(values, share):
    """The smallest is that of 0, the largest that of 1; 0 of none."""
    values = sorted(values) or [0]
    return values[min(int(share * len(values)), len(values) - 1)]
