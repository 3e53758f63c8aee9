# SPDX-License-Identifier: MIT
"""A host program that computes windows itself and applies them by both backends."""

import cgroups
from netns import rules, windows
from programs import Program


def test_a_host_applies_windows_of_its_own_by_routes_and_by_the_program(net, cgroup):
    net.learned("203.0.113.1", 40)
    program = Program(net.host, "own_windows", cgroup)
    assert {program.line(), program.line()} == {
        "203.0.113.1: initcwnd 40 by the program ", "203.0.113.1: initcwnd 24 by a route "}
    assert windows(net.host) == {"203.0.113.1": 24} and len(rules(net.host)) == 2
    assert net.connect("203.0.113.1").cwnd() == 40
    cgroups.enter(cgroup.parent)
    assert net.connect("203.0.113.1").cwnd() == 24
    cgroups.enter(cgroup)
    program.process.terminate()
    assert program.process.wait() == 0 and not rules(net.host) and not windows(net.host)
