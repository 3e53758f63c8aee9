# SPDX-License-Identifier: MIT
"""What the hazards have in common: which arms they compare, and pairs of hosts side by side."""

POLICIES = ("paper", "careful", "bdp")
STATICS = (10, 24, 50, 100)
OPTIONS = {"careful": ("--destroy-events",)}  # without them it sees few first flights


def set_arms(testbed, arms, *options):
    """The Nth arm is what the Nth sender does: a window that stays, or a policy of riptided."""
    for n, arm in enumerate(arms):
        if arm in STATICS:
            testbed.set_route(f"sender{n}", "initcwnd", arm)
        else:
            testbed.start_riptided([f"sender{n}"], "--policy", arm, *OPTIONS.get(arm, ()), *options)


def pairs(arms, *more):
    """{name: address}: a sender and a receiver for each arm, and what else a pair needs."""
    names = ("sender", "receiver", *more)
    return {f"{name}{n}": f"10.9.{n}.{host + 1}" for n in range(len(arms))
            for host, name in enumerate(names)}


def arm_of(arms, result):
    """A sender's number is its arm's."""
    return arms[int(result.receiver.replace("receiver", ""))]
