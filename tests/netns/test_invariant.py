# SPDX-License-Identifier: MIT
"""The property: whatever happens to a host's routing, TCP uses the same way with us and without.

Events are random, and judged by a twin without Riptide (twins.py). RIPTIDE_SEED=N repeats the
runs from that seed on; a failure prints its lines.
"""

import os

import pytest
from invariant import Figures, run
from twins import Twins, probe_kinds
from waiting import stopped

SEED = int(os.environ.get("RIPTIDE_SEED", 366070156))  # the soak uses others
PARTS = 5  # each can run in its own process
EVENTS_PER_RUN = 100
EVENTS_PER_PART = int(os.environ.get("RIPTIDE_EVENTS", 4 * EVENTS_PER_RUN))
MAX_PARTED = max(1, EVENTS_PER_PART // 2400)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_event_makes_a_difference(part, say):
    """A run whose twins part ends early; other runs make up for its events, within limits."""
    kinds, lacking = probe_kinds()
    seed = SEED + part * (EVENTS_PER_PART // EVENTS_PER_RUN + MAX_PARTED)
    figures = Figures()
    say(f"invariant: seed {seed}; this kernel lacks {', '.join(lacking) or 'nothing'}")
    while figures.counts["events"] < EVENTS_PER_PART and figures.counts["parted"] <= MAX_PARTED:
        run(seed, min(EVENTS_PER_RUN, EVENTS_PER_PART - figures.counts["events"]), kinds, figures)
        seed += 1
    say(f"invariant: {figures}")
    assert figures.counts["parted"] <= MAX_PARTED
    # If we left everything alone, there would be no difference either.
    assert figures.counts["ours"] > 0.1 * figures.counts["asked"]


@pytest.mark.parametrize("apply", ["program", "both"])
def test_no_event_makes_a_difference_with_windows_by_the_program(apply, cgroup, monkeypatch, say):
    """By the program alone TCP takes no route of ours."""
    monkeypatch.setenv("DRIVER_APPLY", apply)
    monkeypatch.setenv("DRIVER_CGROUP", str(cgroup))
    figures = Figures()
    run(SEED, min(EVENTS_PER_RUN, EVENTS_PER_PART), probe_kinds()[0], figures)
    say(f"invariant, {apply}: {figures}")
    assert figures.counts["events"] > 0
    assert (figures.counts["ours"] > 0.1 * figures.counts["asked"]) == (apply == "both")
    assert apply == "both" or figures.counts["ours"] == 0


@pytest.mark.parametrize("line, is_riptides", [
    ("rule add to 198.51.100.7 blackhole", False), ("route add 198.51.100.7 via 10.0.0.3", True),
    ("route add 198.51.100.7 via 10.0.0.3 table 7230 protocol 230", True)])
def test_difference_is_blamed_on_riptide_where_it_ends_with_it_or_is_of_main(line, is_riptides):
    with Twins(["198.51.100.7"]) as twins:
        twins.driver.quiet()
        with stopped(twins.driver.pid):
            twins.with_us.tell(f"ip -4 {line}")
            found = twins.differences(*(twins.ask(side) for side in (twins.with_us, twins.without_us)))
        assert found
        assert twins.is_without_riptide(found) is not is_riptides
