# SPDX-License-Identifier: MIT
"""riptided.conf: checked, printed, in force, and read again while connections go on."""

import re
import signal
import tempfile
from pathlib import Path

import pytest
from control import one_line, riptide_json, status
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
    """SIGHUP, until the daemon says what is expected."""
    n = daemon.said().count("SIGHUP")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.said().count("SIGHUP") > n, "a line about SIGHUP")
    line = [line for line in daemon.said().splitlines() if "SIGHUP" in line][-1]
    assert expected in line
    assert daemon.is_running()
    return line


def wait_rounds(daemon, n):
    """Waits for n whole rounds; the daemon must have --log-level debug."""
    before = daemon.said().count("tick:")
    wait_until(lambda: daemon.said().count("tick:") > before + n, "rounds")


@pytest.mark.parametrize("option", ["--check", "--dry-run"])
@pytest.mark.parametrize("text, told", [
    ("[compute]\n\ntll = 1s\ncwnd-min = many\n[apply]\ntable = 0\n", "3: tll: unknown key"),
    ("[compute]\ncwnd-min = many\n", "2: cwnd-min many: "),
    ("[observe]\nslices = 0\n", "2: slices: is gone: "),
    ("[observe]\ninterval = 2min\n[compute]\nhistory-weight = 3\n", "4: history-weight: 3"),
    ("[compute]\nstate = /a\0b\n", "2: "),
], ids=["key", "value", "gone", "range", "NUL"])
def test_first_mistake_is_named_with_its_line(host, config, text, told, option):
    path = config(text)
    done = host.run(RIPTIDED, "--config", path, option, check=False)
    assert done.stdout == ""
    assert one_line(done, 2).startswith(f"riptided: {path}:{told}")


@pytest.mark.parametrize("key, value, words", [
    ("user", "nosuchuser", "not in /etc/passwd"),
    ("control-group", "nosuchgrp", "no group"),
])
def test_check_looks_for_user_and_group(host, config, key, value, words):
    path = config(f"[apply]\n\n{key} = {value}\n")
    done = host.run(RIPTIDED, "--config", path, "--check", check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith(f"riptided: {path}:3: {key}: ")
    assert value in done.stderr and words in done.stderr
    done = host.run(RIPTIDED, f"--{key}", value, "--check", check=False)
    assert done.returncode == 2
    assert f"--{key}: " in done.stderr and value in done.stderr
    config(f"[apply]\nuser = nobody\ncontrol-group = daemon\n")
    assert host.run(RIPTIDED, "--config", path, "--check").returncode == 0


def test_file_that_cannot_be_read(host, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"#" * (5 << 20))
    for path, words in ((tmp_path / "none", "No such file"), (tmp_path, "is a directory"),
                        ("/dev/zero", "no regular file"), (large, "larger than")):
        done = host.run(RIPTIDED, "--config", path, "--check", check=False)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert str(path) in done.stderr and words in done.stderr


def test_options_go_before_the_file_and_that_is_printed(host, config):
    path = config("[compute]\nttl = 10min\ncwnd-max = 80\n[prefix 203.0.113.0/24]\nscale = 50%\n")
    said = host.run(RIPTIDED, "--config", path, "--print-config", "--cwnd-max", "70").stdout
    assert f"({path}:2)\nttl = 10min\n" in said
    assert "(command line)\ncwnd-max = 70\n" in said
    assert "(default)\ncwnd-min = 10\n" in said
    assert f"[prefix 203.0.113.0/24]\n" in said
    assert f"({path}:5)\nscale = 0.5\n" in said


def test_prefix_has_bounds_of_its_own(net, config):
    path = config("[prefix 203.0.113.0/24]\ncwnd-max = 25\n"
                  "[prefix 203.0.113.9/32]\ncwnd-max = 500\n"
                  "[prefix 2001:db8::/32]\ncwnd-min = 90\ncwnd-max = 90\n")
    connections = {peer: net.learned(peer, 120)
                   for peer in ("203.0.113.1", "203.0.113.9", "2001:db8::1", "198.51.100.1")}
    expected = {"203.0.113.1": 25, "203.0.113.9": connections["203.0.113.9"].cwnd(),
                "2001:db8::1": 90, "198.51.100.1": 100}
    assert expected["203.0.113.9"] > 100
    with Daemon(net.host, "--config", path):
        wait_until(lambda: windows(net.host) == expected, "a window of its own for each prefix")
        assert net.connect("203.0.113.1").cwnd() == 25


def test_prefix_has_a_policy_of_its_own(net, config):
    path = config("[compute]\ncwnd-max = 1000\n[prefix 203.0.113.0/24]\npolicy = careful\n")
    used = net.learned("203.0.113.1", 60)
    sizes = [net.learned("198.51.100.1", n).cwnd() for n in (60, 20)]
    mean = sum(sizes) / 2
    with Daemon(net.host, "--config", path), used.busy():
        assert wait_window(net.host, "203.0.113.1") == 24  # careful's first one
        assert wait_window(net.host, "198.51.100.1") in (int(mean), int(mean + 0.5))


class Monitor:
    """What `ip monitor` tells of routes and rules while it runs."""

    def __init__(self, host):
        self.host = host
        self.log = tempfile.NamedTemporaryFile("w+")
        self.n_fences = self.n_read = 0
        host.start("stdbuf", "-oL", "ip", "monitor", "route", "rule", stdout=self.log)
        self.fence()

    def fence(self):
        """All lines since the last one, up to a route that is made and taken away for it, and that
        concerns no destination: rules of others make the daemon lift its own."""
        self.n_fences += 1
        dst = f"192.0.2.{self.n_fences}"

        def lines():
            return Path(self.log.name).read_text().splitlines()

        def is_told():  # again where the monitor was not listening yet
            self.host.ip("route", "add", dst, "dev", "lo", "table", "51")
            self.host.ip("route", "del", dst, "table", "51")
            return any(line.startswith(f"Deleted {dst} ") for line in lines())

        wait_until(is_told, "the monitor's line about a route")
        told = lines()[self.n_read:]
        self.n_read += len(told)
        return [line for line in told if not re.match(r"(Deleted )?192\.0\.2\.", line)]


def test_reload_takes_effect_and_no_route_goes(net, config):
    path = config("[compute]\nttl = 2h\n")
    peers = [f"203.0.113.{n}" for n in range(1, 6)] + ["2001:db8::1", "198.51.100.1"]
    with Daemon.learned(net, dict.fromkeys(peers, 60), "--config", path) as daemon:
        before = windows(net.host)
        monitor = Monitor(net.host)
        path = config("[prefix 203.0.113.0/24]\ncwnd-max = 30\n")
        reload(daemon, "sections for prefixes: 1")
        wait_until(lambda: windows(net.host) == {
            peer: 30 if "203" in peer else cwnd for peer, cwnd in before.items()}, "new bounds")
        told = monitor.fence()
        assert not [line for line in told if line.startswith("Deleted")]
        # The five that moved, and nothing else.
        assert len([line for line in told if "table 7230" in line]) == 5
        assert len(rules(net.host)) == 2


def test_reload_of_the_same_writes_nothing(net, config):
    path = config("[compute]\nttl = 2h\n")
    net.learned("203.0.113.1", 60)
    with Daemon(net.host, "--config", path, "--log-level", "debug") as daemon:
        wait_window(net.host, "203.0.113.1")
        monitor = Monitor(net.host)
        for _ in range(20):
            reload(daemon, "nothing has changed")
        wait_rounds(daemon, 2)
        assert monitor.fence() == []


def test_bad_file_changes_nothing_and_says_so(net, config):
    path = config("[compute]\ncwnd-max = 40\n")
    net.learned("203.0.113.1", 60)
    with Daemon(net.host, "--config", path) as daemon:
        assert wait_window(net.host, "203.0.113.1") == 40
        monitor = Monitor(net.host)
        for text, words in (("[compute]\ncwnd-max = 30\nttl = soon\n", f"{path}:3: ttl soon: not a"),
                            ("[compute]\ncwnd-max = 30\ncwnd-min = 31\n", f"{path}:3: cwnd-min: 31;"),
                            ("[compute]\ncwnd-max = 30\n[apply]\n\nprotocol = 99\n",
                             f"{path}:5: protocol: 99; it cannot change"),
                            ("[compute]\ncwnd-max = 30\n[apply]\nmark = 9\n", "mark: 0x9; it"),
                            ("[apply]\ncontrol = /run/two\n", "control: /run/two; it cannot change"),
                            ("\0", f"{path}:1: ")):
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


IN_ETC = ('mount -t tmpfs none /etc && mkdir /etc/riptide && '
          r'printf "[compute]\ncwnd-max = 40\n" >/etc/riptide/riptided.conf && exec "$@"')


def test_usual_file_is_read_where_it_is_and_missed_where_it_is_gone(net):
    """In a mount namespace with an /etc of its own."""
    net.learned("203.0.113.1", 60)
    with Daemon(net.host, command=("unshare", "-m", "sh", "-c", IN_ETC, "sh", RIPTIDED)) as daemon:
        assert wait_window(net.host, "203.0.113.1") == 40
        Path(f"/proc/{daemon.pid}/root/etc/riptide/riptided.conf").unlink()
        line = reload(daemon, "/etc/riptide/riptided.conf: No such file or directory")
        assert "error: SIGHUP: nothing is changed" in line
        assert windows(net.host) == {"203.0.113.1": 40}


def test_scope_that_shrinks_withdraws_at_once(net, config):
    path = config("[observe]\n")
    peers = {"203.0.113.1": 30, "203.0.113.2": 30}
    with Daemon.learned(net, peers, "--config", path, "--log-level", "debug") as daemon:
        config("[observe]\nexclude = 203.0.113.2\n")
        reload(daemon, "exclude nothing -> 203.0.113.2")
        wait_until(lambda: windows(net.host).keys() == {"203.0.113.1"}, "the excluded one withdrawn")
        wait_until(lambda: "203.0.113.2: withdrawn, not in scope any more\n" in daemon.said(), "a line")
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
    """Often, at any moment of a round that never ends: no window is lost or wrong."""
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


def test_explain_names_the_section_that_holds(net, config):
    path = config("[prefix 203.0.113.0/24]\ncwnd-max = 20\nscale = 90%\n")
    with Daemon.learned(net, {"203.0.113.1": 60}, "--config", path):
        window = riptide_json(net.host, "explain", "203.0.113.1")["window"]
        assert (window["override"], window["override_scale"]) == ("203.0.113.0/24", 0.9)
        assert (window["cwnd_max"], window["cwnd"]) == (20, 18)
        assert "override_max" in window["bounds"] and "max" not in window["bounds"]
        assert "[prefix 203.0.113.0/24]" in net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout


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
