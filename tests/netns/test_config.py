# SPDX-License-Identifier: MIT
"""riptided.conf: checked, and in force."""

import pytest
from control import derived, one_line, riptide_json
from netns import RIPTIDE, RIPTIDED, Daemon, wait_until, windows


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


@pytest.mark.parametrize("option", ["--check", "--dry-run"])
@pytest.mark.parametrize("text, told", [
    ("[compute]\n\ntll = 1s\ncwnd-min = many\n[apply]\ntable = 0\n", "FILE:3: tll: unknown key"),
    ("[observe]\ninterval = 2min\n[compute]\nhistory-weight = 3\n", "history-weight: 3"),
], ids=["key", "range"])
def test_first_mistake_is_named(host, config, text, told, option):
    path = config(text)
    done = host.run(RIPTIDED, "--config", path, option, check=False)
    assert one_line(done, 2).startswith("riptided: " + told.replace("FILE", str(path)))


def test_check_looks_for_the_group(host, config):
    path = config("[apply]\n\ncontrol-group = nosuchgrp\n")
    for words in (("--config", path), ("--control-group", "nosuchgrp")):
        line = one_line(host.run(RIPTIDED, *words, "--check", check=False), 2)
        assert line.startswith("riptided: control-group: ") and "no group" in line
    config("[apply]\ncontrol-group = daemon\n")
    host.run(RIPTIDED, "--config", path, "--check")


def test_file_that_cannot_be_read(host, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"#" * (5 << 20))
    for path, words in ((tmp_path / "none", "No such file"), (tmp_path, "is a directory"),
                        ("/dev/zero", "no regular file"), (large, "larger than")):
        line = one_line(host.run(RIPTIDED, "--config", path, "--check", check=False), 2)
        assert str(path) in line and words in line


def test_prefix_has_bounds_of_its_own(net, config):
    path = config("[prefix 203.0.113.0/24]\ncwnd-max = 25\n"
                  "[prefix 203.0.113.9/32]\ncwnd-max = 500\n"
                  "[prefix 203.0.113.200/32]\noff = yes\n"
                  "[prefix 2001:db8::/32]\ncwnd-min = 90\ncwnd-max = 90\n")
    for peer in ("203.0.113.1", "2001:db8::1", "198.51.100.1"):
        net.learned(peer, 120)
    expected = {"203.0.113.1": 25, "203.0.113.9": net.learned("203.0.113.9", 120).cwnd(),
                "2001:db8::1": 90, "198.51.100.1": 100}
    assert expected["203.0.113.9"] > 100
    with net.learned("203.0.113.200", 60).busy(), Daemon(net.host, "--config", path):
        wait_until(lambda: windows(net.host) == expected, "a window of its own for each prefix")
        assert net.connect("203.0.113.1").cwnd() == 25
        assert net.connect("203.0.113.200").cwnd() == 10
        assert "windows are off for 203.0.113.200" in derived(net.host, "203.0.113.200")
        window = riptide_json(net.host, "show", "203.0.113.1")["window"]
        assert (window["hint"], window["off"]) == ("203.0.113.0/24", None)
        assert (window["cwnd_max"], window["cwnd"]) == (25, 25)
        assert window["limited_by"] == "max"
        assert "by the hint or section for 203.0.113.0/24" in derived(net.host, "203.0.113.1")
