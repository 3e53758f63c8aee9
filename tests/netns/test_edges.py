# SPDX-License-Identifier: MIT
"""Edge-triggered loops, as riptide.h describes them: they never stall and never spin."""

import pytest
from netns import MOUNTED
from test_scope import established

CONNECTIONS = 900


@pytest.fixture
def connected(net):
    """A host with as many connections, each to a destination of its own."""
    ends = [established(net.host, ("10.0.0.10", 20000 + i), (f"192.0.{i >> 8}.{i & 255}", 443))
            for i in range(CONNECTIONS)]
    yield net.host
    for end in ends:
        end.close()


@pytest.mark.parametrize("what, n, answer", [
    ("agent", 20, f"shown {CONNECTIONS} beside 1 of our own, cwnd 33"),
    ("observer", 20, f"samples {CONNECTIONS}"),
    ("router", CONNECTIONS, f"applied {CONNECTIONS} withdrawn {CONNECTIONS}")])
def test_a_loop_of_edges(connected, what, n, answer):
    done = connected.run(MOUNTED / "tests" / "netns" / "edges", what, n)
    assert done.stdout.strip() == answer
