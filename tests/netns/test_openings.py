# SPDX-License-Identifier: MIT
"""What riptided makes of how a connection opened: only those that opened with its window count."""

import pytest
from connection import transfer
from control import riptide_json, wait_rounds
from netns import RIPTIDE, Daemon, wait_until
from test_metrics import figures_of

FAR, START_CWND, OBJECT_BYTES = "10.9.2.1", 24, 150_000
OPTIONS = "--apply", "program", "--policy", "careful", "--holdout-percent", 0


def window(near):
    shown = riptide_json(near, "show", FAR)["window"]
    return shown and shown["cwnd"]


@pytest.fixture
def empty_cgroup(cgroup_root, cgroup):
    """One that none of the test's connections are in."""
    empty = cgroup_root / "riptide-empty"
    empty.mkdir()
    yield empty
    empty.rmdir()


def test_connections_outside_cgroup_raise_no_window(path, empty_cgroup):
    connect, near, _ = path
    with Daemon(near, *OPTIONS, "--cgroup", empty_cgroup, interval="100ms"):
        def closed_without():
            transfer(connect, OBJECT_BYTES)
            figures = figures_of(near.run(RIPTIDE, "metrics").stdout)
            assert figures["riptide_closed_connections_total{opened=with_window}"] == 0
            return figures["riptide_closed_connections_total{opened=without}"] > 10
        wait_until(closed_without, "connections that were counted")
        assert window(near) == START_CWND


def test_connection_that_talks_first_counts(path, cgroup):
    """As ssh does: dumps show it long before it sends what fills a window."""
    connect, near, _ = path
    with Daemon(near, *OPTIONS, "--cgroup", cgroup, interval="100ms"):
        wait_until(lambda: transfer(connect, 1) or window(near), "a first window")

        def talk():
            connection = connect(congestion="cubic")
            connection.send(1)
            wait_rounds(3)
            connection.send(OBJECT_BYTES)
            connection.finish()
            return window(near) > START_CWND
        wait_until(talk, "a larger window")
