# SPDX-License-Identifier: MIT
"""The examples of docs/embedding.md, built against an installation as a host would, and run."""

import os
import shutil
import subprocess

import cgroups
import pytest
from netns import BUILD, DEADLINE_S, IS_SANITIZED, rules, run, windows
from programs import Program
from test_install import needed, tree  # noqa: F401

pytestmark = pytest.mark.xdist_group("tree")

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
LOOPS = {"agent_uv.c": "libuv", "agent_event.c": "libevent", "agent_sd.c": "libsystemd"}


def tool(name):
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def build(tree, tmp_path):
    """A function that builds an example; the command that runs it."""
    if IS_SANITIZED:
        pytest.skip("what links an installation would need the sanitizer, too")

    def build(name, is_static=False, package=None):
        source, program = tree.find(name), tmp_path / "program"
        flags = tree.pkg_config("--cflags", "--libs", *["--static"] * is_static)
        if package:
            found = run("pkg-config", "--cflags", "--libs", package, check=False)
            if found.returncode:
                pytest.skip(f"{package} is not installed")
            flags += found.stdout.split()
        if is_static:
            flags = ["-l:libriptide.a" if flag == "-lriptide" else flag for flag in flags]
        cache = BUILD if os.access(BUILD, os.W_OK) else tmp_path  # Go compiles its own library, too
        environment = {**tree.environment, "GOCACHE": str(cache / "go-cache"),
                       "GOTOOLCHAIN": "local", "GO111MODULE": "off"}
        if source.suffix == ".c":
            run("cc", "-std=gnu11", *WARNINGS, "-o", program, source, *flags)
        elif source.suffix == ".cpp":
            run(tool("c++"), "-std=c++11", *WARNINGS, "-o", program, source, *flags)
        elif source.suffix == ".go":
            run(tool("go"), "build", "-o", program, source, env=environment)
        else:
            run(tool("rustc"), "-D", "warnings", "-L", tree.lib, "-o", program, source)
        assert ("libriptide.so.1" in needed(program)) != is_static
        return ["env", f"LD_LIBRARY_PATH={tree.lib}", program]
    return build


@pytest.mark.parametrize("is_static", [False, True], ids=["shared", "static"])
@pytest.mark.parametrize("name", LOOPS)
def test_an_agent_in_each_loop_prints_the_window_of_one_connection(net, build, name, is_static):
    command = build(name, is_static, LOOPS[name])
    with net.learned("203.0.113.1", 30).busy():
        assert net.host.run(*command).stdout == "203.0.113.1 24\n"  # the first window of careful


@pytest.mark.parametrize("is_static", [False, True], ids=["shared", "static"])
def test_an_agent_gives_windows_until_a_signal_and_takes_them_back(net, build, is_static):
    process = net.host.start(*build("agent.c", is_static), stdout=subprocess.PIPE, universal_newlines=True)
    with net.learned("203.0.113.1", 30).busy():
        while process.stdout.readline() != "203.0.113.1: 24 applied by routes \n":
            assert process.poll() is None
    assert windows(net.host) == {"203.0.113.1": 24} and len(rules(net.host)) == 2
    process.terminate()
    assert process.wait(DEADLINE_S) == 0 and not rules(net.host) and not windows(net.host)


@pytest.mark.parametrize("name, window", [("policy.c", 30), ("estimator.go", 25)])
def test_an_estimator_alone_computes_windows_of_lines(build, name, window):
    """The 75th percentile, and the paper's mean."""
    command = build(name)
    lines = "".join(f"203.0.113.1 {cwnd}\n" for cwnd in (10, 20, 30, 40))
    assert run(*command, input=lines).stdout == f"203.0.113.1 {window}\n"


def test_an_observer_alone_prints_connections(net, build):
    command = build("observer.rs")
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    assert net.host.run(*command).stdout == f"203.0.113.1 {cwnd}\n"


def test_an_applier_alone_gives_a_window_and_takes_it_back(net, build):
    command = build("applier.cpp")
    process = net.host.start(*command, "203.0.113.1", "33", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             universal_newlines=True)
    lines = {process.stdout.readline()}
    if "applied by program: 33 \n" in lines:
        lines.add(process.stdout.readline())
    assert "applied by routes: 33 \n" in lines
    assert windows(net.host) == {"203.0.113.1": 33} and net.connect("203.0.113.1").cwnd() == 33
    process.stdin.close()
    assert process.wait(DEADLINE_S) == 0 and not rules(net.host) and not windows(net.host)


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
    assert program.end() == 0 and not rules(net.host) and not windows(net.host)
