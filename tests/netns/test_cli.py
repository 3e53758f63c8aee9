# SPDX-License-Identifier: MIT
"""The programs as somebody meets them who has never seen them."""

import json
import os
import re
import subprocess

import pytest
from control import riptide_json
from netns import AS_NOBODY, RIPTIDE, RIPTIDED, Daemon, wait_window

COMMANDS = ("observe", "status", "show", "explain", "hint", "pause", "resume", "save", "load",
            "merge", "flush", "metrics", "doctor", "verify", "version", "help")
VERSION = "0.1.0"


def one_line(done):
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("argument", ["help", "--help", "-h"])
def test_help_names_every_command(host, argument):
    done = host.run(RIPTIDE, argument)
    assert done.stderr == ""
    for command in COMMANDS:
        assert f"riptide {command}" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_is_its_own(host, command):
    done = host.run(RIPTIDE, command, "--help")
    assert done.stderr == ""
    assert done.stdout.startswith(f"Usage: riptide {command}")
    assert re.findall(r"riptide ([a-z]+)\b", done.stdout)[0] == command
    assert "Exit status: " in done.stdout
    assert host.run(RIPTIDE, "help", command).stdout == done.stdout
    for option in re.findall(r"^  (--[-a-z0-9]+)", done.stdout, re.MULTILINE):
        said = host.run(RIPTIDE, command, f"{option}=\1", check=False).stderr
        assert "unknown option" not in said
    others = set(COMMANDS) - {command, "help", "version"}
    assert not [other for other in others if f"riptide {other} [" in done.stdout]


def test_help_has_no_default_that_is_none(host):
    """What must be given, or is off until it is, has none."""
    said = host.run(RIPTIDE, "help").stdout
    for option in ("--max", "--scale", "--for"):
        (line,) = re.findall(rf"^  {option} .*$", said, re.MULTILINE)
        assert "default" not in line
    assert "default" not in re.search(r"^  --mark N +set this.*$", said, re.MULTILINE).group()


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_version(host, argument):
    assert host.run(RIPTIDE, argument).stdout == f"riptide {VERSION}\n"


def test_daemon_version(host):
    assert host.run(RIPTIDED, "--version").stdout == f"riptided {VERSION}\n"


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_daemon_help_names_every_option_with_its_default(host, option):
    done = host.run(RIPTIDED, option)
    assert done.stderr == ""
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if "  --" in line}
    for name, default in {
            "--interval": "1s", "--ttl": "90s", "--policy": "careful", "--destroy-events": "auto",
            "--max-share": "0.05", "--history-weight": "0.5",
            "--cwnd-min": "10", "--cwnd-max": "100", "--prefix-len4": "32", "--prefix-len6": "128",
            "--table": "7230", "--protocol": "230", "--mark": "0x72697074",
            "--rule-priority": "0", "--log-level": "info"}.items():
        assert f"default {default})" in lines[name]
    assert lines.keys() >= {"--scope", "--exclude", "--aggregate", "--max-destinations",
                            "--dry-run", "--once"}


WRONG = [
    ("--interval", "soon"), ("--interval", "1"), ("--interval", "-1s"), ("--interval", "1 s"),
    ("--interval", ""), ("--interval", "1s2"), ("--interval", "99999999999999999999s"),
    ("--ttl", "1w"), ("--policy", "magic"), ("--history-weight", "half"),
    ("--history-weight", "nan"), ("--history-weight", "-0.5"), ("--cwnd-min", "ten"),
    ("--cwnd-max", "4294967296"), ("--cwnd-max", "1e2"), ("--prefix-len4", "256"),
    ("--scope", "203.0.113.0/33"), ("--scope", "203.0.113.1/24"), ("--scope", "example.org"),
    ("--exclude", "2001:db8::/129"), ("--exclude", "2001:db8::1/64"), ("--aggregate", "/24"),
    ("--max-destinations", "many"), ("--table", "main"), ("--protocol", "300"),
    ("--rule-priority", "first"), ("--mark", "0xfffffffff"), ("--log-level", "loud"),
    ("--local-port", "80-79"), ("--remote-port", "http"),
    ("--paced", "yes"), ("--slices", "4"), ("--metrics-prefix", "10.0.0.0/8"),
]


@pytest.mark.parametrize("how", ["{} {}", "{}={}"])
@pytest.mark.parametrize("option, value", WRONG)
def test_wrong_value_is_named_with_its_option(host, option, value, how):
    words = [f"{option}={value}"] if "=" in how else [option, value]
    done = host.run(RIPTIDED, *words, check=False)
    assert done.returncode == 2
    assert f"{option} {value}:" in one_line(done)


IMPOSSIBLE = [
    ("interval", ["--interval", "1ms"]), ("interval", ["--interval", "2h"]),
    ("ttl", ["--ttl", "0s"]), ("history", ["--history-weight", "1"]),
    ("cwnd", ["--cwnd-min", "0"]), ("cwnd", ["--cwnd-min", "50", "--cwnd-max", "40"]),
    ("cwnd", ["--cwnd-max", "65536"]), ("prefix", ["--prefix-len4", "33"]),
    ("prefix", ["--prefix-len6", "129"]), ("max", ["--max-destinations", "0"]),
    ("table", ["--table", "0"]), ("table", ["--table", "254"]), ("table", ["--table", "255"]),
    ("protocol", ["--protocol", "0"]), ("mark", ["--mark", "0"]),
]


@pytest.mark.parametrize("name, options", IMPOSSIBLE, ids=[" ".join(o) for _, o in IMPOSSIBLE])
def test_value_that_makes_no_sense_is_refused_with_one_line(host, name, options):
    done = host.run(RIPTIDED, "--dry-run", "--once", *options, check=False)
    assert done.returncode == 2
    assert name in one_line(done)


@pytest.mark.parametrize("arguments, named", [
    ([], "which command"), (["observ"], "observ"), (["--json"], "--json"),
    ([""], "unknown command"),
    (["observe", "--jsn"], "--jsn"), (["observe", "-j"], "-j"), (["observe", "--json=1"], "--json"),
    (["observe", "203.0.113.300"], "203.0.113.300"), (["observe", "10.0.0.1/8"], "10.0.0.1/8"),
    (["show", "203.0.113.1/24"], "203.0.113.1/24"), (["show", "--table", "x"], "--table x"),
    (["show", "--table"], "--table"), (["flush", "everything"], "everything"),
    (["flush", "--json"], "--json"), (["version", "2"], "2"),
    (["show", "203.0.113.1", "203.0.113.2"], "203.0.113.2"), (["status", "now"], "now"),
    (["explain"], "which destination"), (["explain", "example.org"], "example.org"),
    (["explain", "203.0.113.1", "203.0.113.2"], "which destination"),
    (["hint", "203.0.113.1", "--max", "20"], "--for"), (["hint", "--max", "20"], "PREFIX"),
    (["hint", "203.0.113.1", "--for", "1s"], "--max"), (["hint", "--remove"], "PREFIX"),
    (["hint", "203.0.113.1", "--remove", "--max", "20"], "--remove"),
    (["hint", "203.0.113.1/24", "--for", "1s", "--max", "20"], "203.0.113.1/24"),
    (["hint", "203.0.113.1", "--for", "1s", "--scale", "half"], "--scale half"),
    (["pause", "all"], "all"), (["resume", "--now"], "--now"), (["save"], "FILE"),
    (["load", ""], "FILE"), (["merge", "a", "b"], "FILE"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_wrong_command_line_is_refused_with_one_line(host, arguments, named):
    done = host.run(RIPTIDE, *arguments, check=False)
    assert done.returncode == 2
    assert named in one_line(done)


@pytest.mark.parametrize("arguments, named", [
    (["--intervall", "1s"], "--intervall"), (["--int", "1s"], "--int"), (["-i", "1s"], "-i"),
    (["--interval"], "--interval"), (["--dry-run=yes"], "--dry-run"), (["start"], "start"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_wrong_daemon_command_line_is_refused_with_one_line(host, arguments, named):
    done = host.run(RIPTIDED, *arguments, check=False)
    assert done.returncode == 2
    assert named in one_line(done)


def test_equals_sign_and_space_say_the_same(net):
    net.learned("203.0.113.1", 30)
    for options in (["--cwnd-max=22"], ["--cwnd-max", "22"]):
        done = net.host.run(RIPTIDED, "--dry-run", "--once", "--policy", "paper", *options)
        assert "initcwnd 22" in done.stderr


def test_observe_of_nothing_is_an_empty_list(host):
    assert riptide_json(host, "observe")["destinations"] == []
    assert host.run(RIPTIDE, "observe").stdout.split()[0] == "DESTINATION"


def test_observe_prints_what_its_schema_says(net):
    net.learned("203.0.113.1", 30)
    net.learned("2001:db8::7", 20)
    dsts = [row["dst"] for row in riptide_json(net.host, "observe")["destinations"]]
    assert dsts == ["203.0.113.1", "2001:db8::7"]


def test_show_of_nothing_is_an_empty_list(host):
    assert json.loads(host.run(RIPTIDE, "show", "--json").stdout)["routes"] == []
    done = host.run(RIPTIDE, "show")
    assert "no routes" in done.stderr


def test_tables_say_the_same_as_json(net):
    net.learned("203.0.113.1", 30)
    net.learned("2001:db8::1", 60)
    with Daemon(net.host):
        for address in ("203.0.113.1", "2001:db8::1"):
            wait_window(net.host, address)
        for command, key, figure in (("observe", "destinations", "connections"),
                                     ("show", "routes", "initcwnd")):
            header, *rows = net.host.run(RIPTIDE, command).stdout.splitlines()
            assert header.startswith("DESTINATION")
            found = json.loads(net.host.run(RIPTIDE, command, "--json").stdout)[key]
            assert [row.split()[:2] for row in rows] == \
                [[item["dst"], str(item[figure])] for item in found]


@pytest.mark.parametrize("command", [
    ("observe",), ("observe", "--json"), ("show", "--json"), ("version",), ("help",)], ids=" ".join)
def test_output_that_cannot_be_written_is_a_failure(host, command):
    for stdout in ("/dev/full", None):
        shell = f'exec "$@" >{stdout}' if stdout else 'exec "$@" >&-'
        done = host.run("sh", "-c", shell, "sh", RIPTIDE, *command, check=False)
        assert done.returncode == 1
        assert "standard output" in done.stderr


def test_reader_that_has_gone_is_a_failure_and_no_signal(host):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with host.entered():
            done = subprocess.run([RIPTIDE, "help"], stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert b"standard output" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_no_harm(net, closed):
    net.learned("203.0.113.1", 30)
    net.host.run("sh", "-c", f'exec "$@" {closed}', "sh", RIPTIDED, "--once",
                 "--policy", "paper")
    assert wait_window(net.host, "203.0.113.1")


def test_log_levels_choose_what_is_said(net):
    net.learned("203.0.113.1", 30)
    said = {level: net.host.run(RIPTIDED, "--dry-run", "--once", "--policy", "paper",
                                "--log-level", level).stderr
            for level in ("error", "warning", "info", "debug")}
    assert said["error"] == ""
    assert "would" in said["info"] and "tick" not in said["info"]
    assert "tick" in said["debug"]
    assert len(said["warning"]) < len(said["info"]) < len(said["debug"])


def test_observe_works_as_nobody(net):
    net.learned("203.0.113.1", 30)
    assert "203.0.113.1" in net.host.run(*AS_NOBODY, RIPTIDE, "observe").stdout
