# SPDX-License-Identifier: MIT
"""Common parts of the hazards: the compared arms, and pairs of hosts side by side."""

POLICIES = ("paper", "careful", "bdp")
STATICS = (10, 24, 50, 100)


def set_arms(testbed, arms, *options):
    """Sets the nth arm on the nth sender: a fixed window, or a policy of riptided, by routes."""
    for n, arm in enumerate(arms):
        if arm in STATICS:
            testbed.set_route(f"sender{n}", "initcwnd", arm)
        else:
            testbed.start_riptided([f"sender{n}"], "--apply", "routes", "--policy", arm, *options)


def pairs(arms, *more):
    """{name: address}: a sender and a receiver for each arm, and further hosts of a pair."""
    names = ("sender", "receiver", *more)
    return {f"{name}{n}": f"10.9.{n}.{host + 1}" for n in range(len(arms))
            for host, name in enumerate(names)}


def arm_of(arms, result):
    """The arm of a sender: both have the same number."""
    return arms[int(result.receiver.replace("receiver", ""))]
