# SPDX-License-Identifier: MIT
"""Queries of the route of TCP, with ours and without: ours serve no UDP."""

import pytest
from netns import TABLE, wait_until
from rtnetlink import Ways

PEER = {4: "203.0.113.1", 6: "2001:db8::1"}
OTHER = {4: "198.51.100.1", 6: "2001:db8:1::1"}
FIRST = {4: "10.0.0.1", 6: "fd00::1"}
SECOND = {4: "10.0.0.2", 6: "fd00::2"}

families = pytest.mark.parametrize("family", [4, 6], ids=["IPv4", "IPv6"])


def ask(host, dst, protocol="tcp", *query):
    """The kernel's answer to a query for a route, as text."""
    done = host.run("ip", "-d", "route", "get", dst, "ipproto", protocol, *query, check=False)
    return done.stderr if done.returncode else done.stdout


def is_ours(host, dst):
    return f"table {TABLE} " in ask(host, dst)


def is_as_without_us(host, dst):
    with Ways(host, [dst]) as ways:
        return not ways.differences()


def wait_ours(host, dst):
    """Waits until TCP to dst uses a route of ours that leads the same way."""
    wait_until(lambda: is_ours(host, dst) and is_as_without_us(host, dst), "our route, the same way")
