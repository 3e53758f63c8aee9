# SPDX-License-Identifier: MIT
"""What a policy computes beyond the mean arrives in the kernel."""

import pytest

from netns import Daemon, routes, wait_until, wait_window

PEER = {4: "203.0.113.1", 6: "2001:db8::1"}
families = pytest.mark.parametrize("family", [4, 6], ids=["IPv4", "IPv6"])


def rto_min(route):
    return next((metric["rto_min"] for metric in route.get("metrics", []) if "rto_min" in metric),
                None)


@families
def test_rto_min_is_applied_where_it_is_switched_on(net, family):
    connection = net.learned(PEER[family], 30)
    with Daemon(net.host, "--policy", "bdp", "--rto-min-floor", "7ms"):
        def applied():
            connection.send(200_000)  # what is idle says nothing about a path
            return PEER[family] in routes(net.host)

        wait_until(applied, "our route")
        route = routes(net.host)[PEER[family]]
        assert 7 <= rto_min(route) <= 8  # in steps; delays here are far below the floor


@families
def test_rto_min_is_left_alone_by_default(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host):
        wait_until(lambda: PEER[family] in routes(net.host), "our route")
        assert rto_min(routes(net.host)[PEER[family]]) is None
