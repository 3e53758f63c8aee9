# SPDX-License-Identifier: MIT
"""The examples do what they say, run as a user runs them."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

from conftest import REPOSITORY
from netns import DEADLINE_S, Network, rules, wait_until, windows
from prometheus_client.parser import text_string_to_metric_families

BINDINGS = REPOSITORY / "bindings" / "python"
EXAMPLES = BINDINGS / "examples"


def command(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-B", str(EXAMPLES / name), *map(str, arguments)]


def test_script_of_the_readme_prints_what_there_is_to_gain(net: Network) -> None:
    """Most first; nothing where the first ten segments were enough."""
    for address in "203.0.113.7", "2001:db8::7":
        net.learned(address, 60)
    net.connect("203.0.113.9")
    text = (BINDINGS / "README.md").read_text()
    (script,) = re.findall(r"^```python\n(.*?\.most_common\(.*?)^```", text, re.M | re.S)
    assert len(script.splitlines()) <= 20
    lines = net.host.run(sys.executable, "-Bc", script).stdout.splitlines()
    found = {row[1]: float(row[2]) for row in (re.fullmatch(r"(\S+) +(\d+\.\d) ms", line) for line in lines) if row}
    assert found.keys() == {"203.0.113.7/32", "2001:db8::7/128"} and len(lines) == 2, lines
    assert [*found.values()] == sorted(found.values(), reverse=True)


def test_textfile_has_each_prefix_once(net: Network, tmp_path: Path) -> None:
    for address in "203.0.113.7", "203.0.113.9", "2001:db8::7":
        net.learned(address, 30)
    path = tmp_path / "riptide.prom"
    (tmp_path / "victim").write_text("kept")
    path.symlink_to("victim")
    net.host.run(*command("textfile.py", path, 24, 64))
    connections = {sample.labels["prefix"]: sample.value
                   for family in text_string_to_metric_families(path.read_text())
                   for sample in family.samples if family.name == "tcp_connections"}
    assert connections == {"203.0.113.0/24": 2, "2001:db8::/64": 1}
    assert (tmp_path / "victim").read_text() == "kept" and not path.is_symlink()
    assert {entry.name for entry in tmp_path.iterdir()} == {"riptide.prom", "victim"}
    assert path.stat().st_mode & 0o777 == 0o644  # node_exporter has a user of its own


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
