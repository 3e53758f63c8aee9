# SPDX-License-Identifier: MIT
"""The log of riptided: levels, fields of the journal, the length of lines."""

import os
import re
import socket
import tempfile
from pathlib import Path

import pytest
from control import many, status, write_state
from netns import BY_ROUTES, DEADLINE_S, RIPTIDED, Daemon, wait_until

STORM = 300


def set_lines(said):
    return [line for line in said.splitlines() if " initcwnd " in line]


@pytest.mark.parametrize("policy", ["paper", "bdp", "careful"])
def test_figure_is_named_for_its_policy(net, policy):
    with net.learned("203.0.113.1", 60).busy():
        done = net.host.run(RIPTIDED, *BY_ROUTES, "--dry-run", "--once", "--policy", policy, "--cwnd-min", 12)
    (line,) = set_lines(done.stderr)
    assert re.search(rf"\(1 connection, {policy} [0-9.]+\)", line), line


def said_to(host, journal, *options):
    """riptided's output to a file, which JOURNAL_STREAM names or not."""
    with tempfile.TemporaryFile("a+") as log:
        stat = os.fstat(log.fileno())
        inode = stat.st_ino if journal else stat.st_ino + 1
        host.start("env", f"JOURNAL_STREAM={stat.st_dev}:{inode}", RIPTIDED, "--once", "--policy",
                   "paper", *options, stderr=log).wait(DEADLINE_S)
        log.seek(0)
        return log.read().splitlines()


def test_others_than_the_journal_get_names_of_levels(net):
    """As where a container has inherited the journal's stream, and not its socket."""
    net.learned("203.0.113.1", 30)
    for is_journal in (False, True):
        lines = said_to(net.host, is_journal)
        assert all(line.startswith("riptided: ") for line in lines), lines
        assert any(line.startswith("riptided: warning: ") for line in lines)


def test_routes_are_named_by_debug_and_a_dry_run_alone(net):
    write_state("/run/state", many(STORM))
    options = (*BY_ROUTES, "--state", "/run/state")
    for level, n_lines in (("info", 0), ("debug", STORM)):
        with Daemon(net.host, *options, "--log-level", level) as daemon:
            wait_until(lambda: status()["routes"] == STORM, "all routes")
            daemon.stop()
            assert len(set_lines(daemon.said())) == n_lines
    assert len(set_lines(net.host.run(RIPTIDED, *options, "--dry-run", "--once", "--policy", "paper").stderr)) == STORM


@pytest.fixture
def journal():
    """The journal's socket; an earlier one of this mount namespace is hidden."""
    path = Path("/run/systemd/journal")
    path.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        (path / "socket").unlink(missing_ok=True)
        receiver.bind(str(path / "socket"))
        receiver.settimeout(DEADLINE_S)
        yield receiver
    (path / "socket").unlink()


def test_journal_gets_fields(net, journal):
    net.learned("203.0.113.1", 30)
    assert said_to(net.host, True, "--log-level", "debug") == []
    lines = []
    while not lines or "stay, unmaintained" not in lines[-1]["MESSAGE"]:
        lines.append(dict(line.split("=", 1) for line in journal.recv(4096).decode().splitlines()))
    assert {line["SYSLOG_IDENTIFIER"] for line in lines} == {"riptided"}
    (window,) = [line for line in lines if line.get("RIPTIDE_EVENT") == "applied"]
    assert (window["RIPTIDE_DESTINATION"], window["PRIORITY"]) == ("203.0.113.1", "7")
    assert f": initcwnd {window['RIPTIDE_WINDOW']} " in window["MESSAGE"]
    (start,) = [line for line in lines if line.get("RIPTIDE_EVENT") == "start"]
    assert start["MESSAGE"].endswith(": windows by routes to all destinations, policy paper, 0 % held out")


def test_no_line_is_wider_than_159_columns(net, tmp_path):
    path = tmp_path / ("x" * 60) / "state"
    done = net.host.run(RIPTIDED, "--once", "--policy", "paper", "--state", path, check=False)
    assert max(map(len, done.stderr.splitlines())) <= 159 and "\n  " in done.stderr
