# SPDX-License-Identifier: MIT
"""The programs, as used by a newcomer."""

import os
import re
import subprocess

import pytest
from control import one_line
from netns import BUILD, RIPTIDE, RIPTIDED, wait_window

COMMANDS = ("status", "show", "verdict", "verify", "doctor", "observe", "hint", "pause", "resume", "flush", "metrics")
VERSION = "1.0.0"


def test_help_names_every_command_on_one_screen(host):
    for argument in ("help", "--help", "-h"):
        said = host.run(RIPTIDE, argument).stdout
        assert tuple(re.findall(r"^  ([a-z]+)", said, re.MULTILINE)) == COMMANDS
        assert len(said.splitlines()) <= 24 and max(map(len, said.splitlines())) <= 80


def test_options_may_precede_the_command_and_none_is_status(host, tmp_path):
    path = str(tmp_path / "control")
    option = ["--control", path]
    for words in (option, [f"--control={path}"], [*option, "status"], ["status", *option]):
        done = host.run(RIPTIDE, *words, check=False)
        assert (done.returncode, path in done.stdout) == (3, True)
    assert "not running" in host.run(RIPTIDE, "--json", check=False).stdout
    assert host.run(RIPTIDE, "show", "--help").stdout == host.run(RIPTIDE, "help").stdout
    assert host.run(RIPTIDE, *option, "observe").returncode == 0
    said = one_line(host.run(RIPTIDE, *option, "bogus", check=False), 2)
    assert said.startswith("riptide: bogus: unknown command")


def test_each_option_is_one_of_its_command(host):
    listed = host.run(RIPTIDE, "help").stdout.partition("\n\nOf most")[0]
    for text in listed.split("\n  ")[1:]:
        if not text.startswith(" "):
            command = text.split()[0]
        for option in re.findall(r"--[a-z]+", text):
            said = host.run(RIPTIDE, command, f"{option}=\1", check=False).stderr
            assert option in said and "unknown option" not in said and "not an option" not in said


def test_version(host):
    for command in ((RIPTIDE, "version"), (RIPTIDE, "--version"), (RIPTIDE, "--control", "x", "version"),
                    (RIPTIDE, "status", "--version"), (RIPTIDED, "--version")):
        assert host.run(*command).stdout == f"{command[0].name} {VERSION}\n"


WRONG = {
    RIPTIDE: [
        (["observ"], "observ"), (["--jsn"], "--jsn"), (["--control"], "--control"), (["pause", "--max", "5"], "--max"),
        ([""], "unknown command"), (["observe", "--json=1"], "--json"),
        (["observe", "10.0.0.1/8"], "10.0.0.1/8"), (["show", "--top", "x"], "--top x"),
        (["show", "203.0.113.1", "203.0.113.2"], "203.0.113.2"), (["status", "now"], "now"),
        (["flush", "--json"], "--json"), (["show", "1"], "1"),
        (["show", "example.org"], "example.org"),
        (["hint", "203.0.113.1"], "--max"), (["hint", "--max", "20"], "PREFIX"),
        (["hint", "203.0.113.1", "--for", "1s"], "--max"), (["hint", "--remove"], "PREFIX"),
        (["hint", "203.0.113.1", "--remove", "--max", "20"], "--remove"),
        (["pause", "all"], "all"), (["resume", "--now"], "--now"),
        (["hint", "203.0.113.1", "--for", "1s", "--max", "0"], "--max"), (["hint", "--max", "0"], "PREFIX"),
        (["hint", "--for", "2h"], "PREFIX"), (["hint", "203.0.113.1", "--remove", "--for", "2h"], "--remove"),
        (["hint", "10.0.0.1/8", "--max", "5"], "bits zero"), (["verify", "203.0.113.1", "--for", "3s"], "--for"),
        (["--control", "/run/" + "n" * 103], "at most 107 bytes"), (["--control", "n" * 87], "at most 107 bytes"),
        (["doctor", "everything"], "everything"),
        (["verify"], "give an address"), (["verify", "203.0.113.0/24", "80"], "no IPv4 or IPv6 address"),
        *((["verify", "203.0.113.1", port], "no port") for port in ("0", "65536", "http")),
        (["verify", "--accepted", "here"], "here"), (["verify", "--accepted", "--for", "5"], "--for 5"),
    ],
    RIPTIDED: [  # its options and values are those of tests/unit/test_config.c and test_configs.c
        (["--control-group", "nosuchgrp", "--check"], "no group"),
        (["--flush", "--dry-run"], "--flush"), (["--flush", "--check"], "--flush"),
        # They are the program's, and --once leaves routes.
        *(([*way, name, value], f"{name[2:]}: ")
          for way in (["--once"], ["--dry-run", "--apply", "routes"])
          for name, value in (("--cgroup", "/sys/fs/cgroup"), ("--holdout-percent", "1"), ("--pacing", "no"))),
    ],
}


@pytest.mark.parametrize("program", WRONG, ids=lambda path: path.name)
def test_wrong_command_line_is_refused_with_one_line(host, program):
    for arguments, named in WRONG[program]:
        assert named in one_line(host.run(program, *arguments, check=False), status=2), arguments


def test_configuration_that_is_refused(host, tmp_path):
    path = tmp_path / "riptided.conf"
    for text, words in (
        ("\ncontrol-group = nosuchgrp\n", f"riptided: cannot start: {path}: control-group: "),
        ("prefix-len6 = 64\n[prefix 2001:db8::1]\noff = yes\n",
         "riptided: cannot start: 2001:db8::1: is part of a destination, whose prefix has 64 bits (prefix-len4"),
        ("cwnd-max = 5\n", f"riptided: cannot start: {path}: cwnd-max: 5; below the smallest window, 10\n"),
        ("cwnd-min = 200\n", f"riptided: cannot start: {path}: cwnd-min: 200; must be 1 to the largest window, 100\n"),
        ("ttl = 1s\n\0", f"{path}: is no regular file with text"),
    ):
        path.write_text(text)
        assert words in one_line(host.run(RIPTIDED, "--config", path, "--check", check=False), 2)
    for file, words in (
        (tmp_path / "none", "No such file"), (tmp_path, "no regular file"), ("/dev/zero", "no regular file"),
        ("/sys/class/net/lo/speed", "Invalid argument"),  # a regular file whose read fails
    ):
        line = one_line(host.run(RIPTIDED, "--config", file, "--check", check=False), 2)
        assert str(file) in line and words in line
    path.write_text("control-group = daemon\n")
    assert host.run(RIPTIDED, "--config", path, "--check").stderr == ""


def test_check_warns_of_what_a_start_goes_on_without(host):
    done = host.run(RIPTIDED, "--check", "--cgroup", "/sys/fs/cgroup/none", "--state", "/nosuch/state", "--metrics",
                    "/nosuch/riptide.prom")
    assert done.stdout == "options, without a file: valid\n"
    assert done.stderr.splitlines() == [
        "riptided: warning: cgroup: /sys/fs/cgroup/none is not there: make it first; a start now gives windows by "
        "routes alone",
        "riptided: warning: state: /nosuch is not there: nothing is saved until it is",
        "riptided: warning: metrics: /nosuch is not there: nothing is saved until it is"]


@pytest.mark.parametrize("command", [
    ("observe",), ("observe", "--json"), ("version",), ("help",)], ids=" ".join)
def test_output_that_cannot_be_written_is_a_failure(host, command):
    for shell in ('exec "$@" >/dev/full', 'exec "$@" >&-'):
        assert "standard output" in one_line(host.run("sh", "-c", shell, "sh", RIPTIDE, *command, check=False))


def test_reader_that_has_gone_is_no_failure(host):
    reading, writing = os.pipe()
    os.close(reading)
    process = host.start(RIPTIDE, "help", stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (process.communicate()[1], process.returncode) == (b"", 0)


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_no_harm(net, closed):
    net.learned("203.0.113.1", 30)
    net.host.run("sh", "-c", f'exec "$@" {closed}', "sh", RIPTIDED, "--once",
                 "--policy", "paper")
    assert wait_window(net.host, "203.0.113.1")


# What an operator types in the first ten minutes, and at three at night: operator/ has the scripts.

PEER = "203.0.113.1"


@pytest.mark.parametrize("script", ["first_ten_minutes.sh", "three_at_night.sh"])
def test_commands_in_the_scripts_of_an_operator_succeed(net, port, tmp_path, script):
    with net.learned(PEER, 40).busy():
        done = net.host.run("env", f"BUILD={BUILD}", f"PEER={PEER}", f"PORT={port}",
                            f"PATH={RIPTIDE.parent}:{os.environ['PATH']}",
                            os.path.join(os.path.dirname(__file__), "operator", script), tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + (tmp_path / "log").read_text()
