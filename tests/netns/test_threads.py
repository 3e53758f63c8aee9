# SPDX-License-Identifier: MIT
"""Objects of different threads are independent, and one may be handed over."""

from netns import MOUNTED


def test_two_threads_with_an_agent_each(net):
    net.learned("203.0.113.1", 20)
    net.learned("2001:db8::1", 30)
    done = net.host.run(MOUNTED / "tests" / "netns" / "threads")
    # Two of the host, and the sample of its own.
    assert done.stdout.splitlines() == 4 * ["destinations 3, shown 2"]
