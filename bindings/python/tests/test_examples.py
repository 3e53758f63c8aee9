# SPDX-License-Identifier: MIT
"""The examples do what they say, run as a user runs them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY
from netns import DEADLINE_S, Host, Network, rules, wait_until, windows
from prometheus_client.parser import text_string_to_metric_families

import riptide

EXAMPLES = REPOSITORY / "bindings" / "python" / "examples"


def command(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-B", str(EXAMPLES / name), *map(str, arguments)]


def test_textfile_has_each_prefix_once(net: Network, tmp_path: Path) -> None:
    for address in "203.0.113.7", "203.0.113.9", "2001:db8::7":
        net.learned(address, 30)
    path = tmp_path / "riptide.prom"
    net.host.run(*command("textfile.py", path, "--prefix-len4", 24, "--prefix-len6", 64))
    connections = {sample.labels["prefix"]: sample.value
                   for family in text_string_to_metric_families(path.read_text())
                   for sample in family.samples if family.name == "tcp_connections"}
    assert connections == {"203.0.113.0/24": 2, "2001:db8::/64": 1}


def test_report_lists_destinations_and_draws_their_windows(net: Network, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    for address, cwnd in ("203.0.113.7", 30), ("203.0.113.7", 40), ("2001:db8::7", 20):
        net.learned(address, cwnd)
    picture = tmp_path / "windows.png"
    said = net.host.run(*command("report.py", picture), timeout=120).stdout
    counts = {words[0]: float(words[1]) for words in map(str.split, said.splitlines()[2:])}
    assert counts == {"203.0.113.7": 2, "2001:db8::7": 1}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_report_of_a_host_without_connections_says_so(host: Host, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    done = host.run(*command("report.py", tmp_path / "windows.png"), check=False, timeout=120)
    assert done.returncode == 1 and done.stderr == "no connections here\n"


def test_embedded_agent_works_beside_the_daemon_and_takes_all_back(net: Network,
                                                                   tmp_path: Path) -> None:
    net.learned("203.0.113.7", 30)
    said = tmp_path / "said"
    with said.open("w") as out:
        daemon = net.host.start(*command("embedded.py", "--interval", 0.05, "--policy", "paper"),
                                stdout=out)
    try:
        wait_until(lambda: windows(net.host).get("203.0.113.7", 0) >= 30, "a route")
        wait_until(lambda: "203.0.113.7/32: applied initcwnd" in said.read_text(), "a line")
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(DEADLINE_S) == 0
    finally:
        daemon.kill()
        daemon.wait()
    assert rules(net.host) == [] and windows(net.host) == {}


def test_embedded_agent_learns_from_connections_that_no_look_shows(net: Network) -> None:
    daemon = net.host.start(*command("embedded.py", "--interval", 0.3), stdout=subprocess.DEVNULL)
    try:
        # Careful begins with 24.
        wait_until(lambda: net.short("203.0.113.7") or windows(net.host).get("203.0.113.7", 0) >= 25,
                   "a window of 25 from short connections")
    finally:
        daemon.kill()
        daemon.wait()


def test_embedded_agent_that_cannot_go_on_ends_the_daemon_with_its_error(net: Network) -> None:
    code = ("import errno, os, riptide, runpy, sys\n"
            "def dispatch(agent): raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))\n"
            "riptide.Agent.dispatch = dispatch\n"
            "sys.argv = sys.argv[1:]\n"
            "runpy.run_path(sys.argv[0], run_name='__main__')\n")
    done = net.host.run(sys.executable, "-B", "-c", code, EXAMPLES / "embedded.py", check=False)
    assert done.returncode == 1 and done.stderr.endswith("No buffer space available\n")
    assert rules(net.host) == []
