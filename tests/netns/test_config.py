# SPDX-License-Identifier: MIT
"""riptided.conf: checked, printed, in force, and reloaded while connections continue."""

import re
import signal
import tempfile
from pathlib import Path

import pytest
from control import one_line, riptide_json, status, wait_rounds
from netns import RIPTIDE, RIPTIDED, Daemon, rules, wait_until, wait_window, windows


@pytest.fixture
def config(tmp_path):
    """Writes a configuration file, whole: returns its path."""
    path = tmp_path / "riptided.conf"

    def write(text):
        beside = tmp_path / "new"
        beside.write_text(text)
        beside.rename(path)
        return path

    return write


def reload(daemon, expected):
    """Sends SIGHUP, and waits until the daemon reports the expected result."""
    n = daemon.said().count("SIGHUP")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.said().count("SIGHUP") > n, "a line about SIGHUP")
    line = [line for line in daemon.said().splitlines() if "SIGHUP" in line][-1]
    assert expected in line
    assert daemon.is_running()
    return line


@pytest.mark.parametrize("option", ["--check", "--dry-run"])
@pytest.mark.parametrize("text, told", [
    ("[compute]\n\ntll = 1s\ncwnd-min = many\n[apply]\ntable = 0\n", "3: tll: unknown key"),
    ("[observe]\ninterval = 2min\n[compute]\nhistory-weight = 3\n", "4: history-weight: 3"),
    ("[apply]\nuser = nosuchuser\n", "2: user: nosuchuser: not in /etc/passwd"),
], ids=["key", "range", "user"])
def test_first_mistake_is_named_with_its_line(host, config, text, told, option):
    path = config(text)
    done = host.run(RIPTIDED, "--config", path, option, check=False)
    assert one_line(done, 2).startswith(f"riptided: {path}:{told}")


def test_check_looks_for_the_group(host, config):
    path = config("[apply]\n\ncontrol-group = nosuchgrp\n")
    for words, said in ((("--config", path), f"{path}:3: control-group: "),
                        (("--control-group", "nosuchgrp"), "--control-group: ")):
        line = one_line(host.run(RIPTIDED, *words, "--check", check=False), 2)
        assert line.startswith(f"riptided: {said}") and "no group" in line
    config("[apply]\nuser = nobody\ncontrol-group = daemon\n")
    host.run(RIPTIDED, "--config", path, "--check")


def test_file_that_cannot_be_read(host, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"#" * (5 << 20))
    for path, words in ((tmp_path / "none", "No such file"), (tmp_path, "is a directory"),
                        ("/dev/zero", "no regular file"), (large, "larger than")):
        line = one_line(host.run(RIPTIDED, "--config", path, "--check", check=False), 2)
        assert str(path) in line and words in line


def test_values_are_printed_with_their_origin(host, config):
    path = config("[compute]\nttl = 10min\ncwnd-max = 80\n[prefix 203.0.113.0/24]\nscale = 50%\n")
    said = host.run(RIPTIDED, "--config", path, "--print-config", "--cwnd-max", "70").stdout
    for text in (f"({path}:2)\nttl = 10min\n", "(command line)\ncwnd-max = 70\n",
                 "(default)\ncwnd-min = 10\n", f"({path}:5)\nscale = 0.5\n"):
        assert text in said


def test_prefix_has_bounds_and_a_policy_of_its_own(net, config):
    path = config("[prefix 203.0.113.0/24]\ncwnd-max = 25\nscale = 80%\n"
                  "[prefix 203.0.113.9/32]\ncwnd-max = 500\n"
                  "[prefix 203.0.113.200/32]\npolicy = careful\n"
                  "[prefix 2001:db8::/32]\ncwnd-min = 90\ncwnd-max = 90\n")
    for peer in ("203.0.113.1", "2001:db8::1", "198.51.100.1"):
        net.learned(peer, 120)
    expected = {"203.0.113.1": 20, "203.0.113.9": net.learned("203.0.113.9", 120).cwnd(),
                "203.0.113.200": 24, "2001:db8::1": 90, "198.51.100.1": 100}  # where careful begins
    assert expected["203.0.113.9"] > 100
    with net.learned("203.0.113.200", 60).busy(), Daemon(net.host, "--config", path):
        wait_until(lambda: windows(net.host) == expected, "a window of its own for each prefix")
        assert net.connect("203.0.113.1").cwnd() == 20
        window = riptide_json(net.host, "explain", "203.0.113.1")["window"]
        assert (window["override"], window["override_scale"]) == ("203.0.113.0/24", 0.8)
        assert (window["cwnd_max"], window["cwnd"]) == (25, 20)
        assert "override_max" in window["bounds"] and "max" not in window["bounds"]
        assert "[prefix 203.0.113.0/24]" in net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout


class Monitor:
    """The output of `ip monitor` on routes and rules while it runs."""

    def __init__(self, host):
        self.host = host
        self.log = tempfile.NamedTemporaryFile("w+")
        self.n_fences = self.n_read = 0
        host.start("stdbuf", "-oL", "ip", "monitor", "route", "rule", stdout=self.log)
        self.fence()

    def fence(self):
        """All lines since the last fence, up to a route that is added and removed for it, and that
        affects no destination: a rule would make the daemon lift its own."""
        self.n_fences += 1
        dst = f"192.0.2.{self.n_fences}"

        def lines():
            return Path(self.log.name).read_text().splitlines()

        def is_told():  # repeated, as the monitor may not have listened yet
            self.host.ip("route", "add", dst, "dev", "lo", "table", "51")
            self.host.ip("route", "del", dst, "table", "51")
            return any(line.startswith(f"Deleted {dst} ") for line in lines())

        wait_until(is_told, "the monitor's line about a route")
        told = lines()[self.n_read:]
        self.n_read += len(told)
        return [line for line in told if not re.match(r"(Deleted )?192\.0\.2\.", line)]


def test_reload_takes_effect_no_route_goes_and_the_same_writes_nothing(net, config):
    path = config("[compute]\nttl = 2h\n")
    peers = [f"203.0.113.{n}" for n in range(1, 6)] + ["2001:db8::1", "198.51.100.1"]
    with Daemon.learned(net, dict.fromkeys(peers, 60), "--config", path) as daemon:
        before = windows(net.host)
        monitor = Monitor(net.host)
        for _ in range(20):
            reload(daemon, "nothing has changed")
        wait_rounds(3)
        assert monitor.fence() == []
        path = config("[prefix 203.0.113.0/24]\ncwnd-max = 30\n")
        reload(daemon, "sections for prefixes 0 -> 1")
        wait_until(lambda: windows(net.host) == {
            peer: 30 if "203" in peer else cwnd for peer, cwnd in before.items()}, "new bounds")
        told = monitor.fence()
        assert not [line for line in told if line.startswith("Deleted")]
        # Only the five routes with changes.
        assert len([line for line in told if "table 7230" in line]) == 5
        assert len(rules(net.host)) == 2


def test_bad_file_changes_nothing_and_says_so(net, config):
    path = config("[compute]\ncwnd-max = 40\n")
    net.learned("203.0.113.1", 60)
    with Daemon(net.host, "--config", path) as daemon:
        assert wait_window(net.host, "203.0.113.1") == 40
        monitor = Monitor(net.host)
        for text, words in (("[compute]\ncwnd-max = 30\nttl = soon\n", f"{path}:3: ttl soon: not a"),
                            ("[compute]\ncwnd-max = 30\ncwnd-min = 31\n", f"{path}:3: cwnd-min: 31;"),
                            ("[compute]\ncwnd-max = 30\n[apply]\n\nprotocol = 99\n",
                             f"{path}:5: protocol: 99; it cannot change")):
            config(text)
            assert "nothing is changed" in reload(daemon, words)
        path.unlink()
        reload(daemon, "No such file")
        assert monitor.fence() == []
        assert windows(net.host) == {"203.0.113.1": 40}
        config("[compute]\ncwnd-max = 30\n")
        reload(daemon, "cwnd-max 40 -> 30")
        wait_until(lambda: windows(net.host) == {"203.0.113.1": 30}, "the good file")
        net.host.run(RIPTIDE, "pause")
        config("[compute]\ncwnd-max = 50\n")
        reload(daemon, "cwnd-max 30 -> 50")
        wait_until(lambda: windows(net.host) == {"203.0.113.1": 50}, "the table follows")
        assert rules(net.host) == [] and riptide_json(net.host, "status")["health"] == "paused"


def test_scope_that_shrinks_withdraws_at_once(net, config):
    path = config("[observe]\n")
    peers = {"203.0.113.1": 30, "203.0.113.2": 30}
    with Daemon.learned(net, peers, "--config", path, "--log-level", "debug") as daemon:
        config("[observe]\nexclude = 203.0.113.2\n")
        reload(daemon, "exclude nothing -> 203.0.113.2")
        wait_until(lambda: windows(net.host).keys() == {"203.0.113.1"}, "the excluded one withdrawn")
        wait_until(lambda: "203.0.113.2: withdrawn, no longer in scope\n" in daemon.said(), "a line")
        config("[observe]\n")
        reload(daemon, "exclude 203.0.113.2 -> nothing")
        wait_until(lambda: len(windows(net.host)) == 2, "both again")


def test_interval_and_log_level_follow(net, config):
    path = config("[observe]\ninterval = 10min\n[compute]\nttl = 2h\n")
    command = ("sh", "-c", 'exec "$1" --config "$2"', "sh", RIPTIDED, path)  # no options go before it
    with Daemon(net.host, command=command) as daemon:
        wait_until(lambda: status()["round"], "a round")
        assert "tick:" not in daemon.said()
        config("[observe]\ninterval = 20ms\n[compute]\nttl = 2h\n[log]\nlog-level = debug\n")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: daemon.said().count("tick:") >= 3, "short rounds, and said")


def test_reload_in_the_middle_of_a_round(net, config):
    """Reloads often, at any moment of an endless round: no window is lost or wrong."""
    path = config("[compute]\ncwnd-max = 40\n")
    peers = [f"203.0.113.{n}" for n in range(1, 200)]
    for peer in peers:
        net.connect(peer)
    net.learned("198.51.100.1", 60)
    with Daemon(net.host, "--config", path, interval="10ms") as daemon:
        wait_until(lambda: len(windows(net.host)) == 200, "all routes")
        monitor = Monitor(net.host)
        for n in range(100):
            config(f"[compute]\ncwnd-max = {40 + n % 3 * 10}\n")
            daemon.process.send_signal(signal.SIGHUP)
        config("[compute]\ncwnd-max = 35\n")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: windows(net.host)["198.51.100.1"] == 35, "the last file")
        assert len(windows(net.host)) == 200
        assert not [line for line in monitor.fence()
                    if line.startswith("Deleted") and "table 7230" in line]


def test_metrics_follow(net, config, tmp_path):
    first, second = tmp_path / "first.prom", tmp_path / "second.prom"
    path = config(f"[metrics]\nmetrics = {first}\n")
    with Daemon(net.host, "--config", path) as daemon:
        wait_until(lambda: first.exists(), "the first file")
        config(f"[metrics]\nmetrics = {second}\n")
        reload(daemon, f"metrics {first} -> {second}")
        wait_until(second.exists, "the second file")
        assert not first.exists()
        config("[metrics]\n")
        reload(daemon, f"metrics {second} -> nothing")
        assert not second.exists()
