# SPDX-License-Identifier: MIT
"""Queries of the route of TCP, with ours and without: queries with our mark skip our rule."""

import re

import pytest
from netns import TABLE, wait_until

PEER = {4: "203.0.113.1", 6: "2001:db8::1"}
OTHER = {4: "198.51.100.1", 6: "2001:db8:1::1"}
FIRST = {4: "10.0.0.1", 6: "fd00::1"}
SECOND = {4: "10.0.0.2", 6: "fd00::2"}
WITHOUT_US = ("ipproto", "udp")

families = pytest.mark.parametrize("family", [4, 6], ids=["IPv4", "IPv6"])


def ask(host, dst, *query, fibmatch=False):
    """The kernel's answer to a query for a route, as text."""
    words = ["fibmatch"] if fibmatch else []
    done = host.run("ip", "-d", "route", "get", *words, dst, *query, check=False)
    return done.stderr if done.returncode else done.stdout


def way(host, dst, *query):
    """The way of packets: the answer without its table and protocol, its initial windows, and the
    MTU of links, which our routes set."""
    found = []
    for fibmatch in (False, True):
        text = re.sub(r"\s*nh_info .*", "", ask(host, dst, *query, fibmatch=fibmatch))
        text = re.sub(r"\b(unicast|table|proto|nhid|metric|uid|mark|expires|initcwnd|initrwnd) \S+"
                      r"|\bmtu 1500\b", "", text)
        found.append(sorted(" ".join(line.split()) for line in text.splitlines()))
    return found


def is_ours(host, dst):
    return f"table {TABLE} " in ask(host, dst, "ipproto", "tcp")


def is_as_without_us(host, dst):
    return way(host, dst, "ipproto", "tcp") == way(host, dst, *WITHOUT_US)


def wait_ours(host, dst):
    """Waits until TCP to dst uses a route of ours that leads the same way."""
    try:
        wait_until(lambda: is_ours(host, dst) and is_as_without_us(host, dst),
                   "our route, the same way")
    except AssertionError:
        assert way(host, dst, "ipproto", "tcp") == way(host, dst, *WITHOUT_US)
        assert is_ours(host, dst), ask(host, dst, "ipproto", "tcp")
        raise
