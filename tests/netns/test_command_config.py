# SPDX-License-Identifier: MIT
"""The commands read riptided's file: they ask and judge the daemon that runs, whatever its numbers are."""

import pytest
from control import one_line, riptide_json
from netns import AS_NOBODY, RIPTIDE, Daemon, routes, rules, wait_until, windows
from test_verify import listening

NUMBERS = "table = 99\nprotocol = 222\nmark = 0x99\nrule-priority = 31000\ncontrol = /run/elsewhere/control\n"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "riptided.conf"
    path.write_text(f"[apply]\n{NUMBERS}[compute]\ncwnd-max = 40\n")
    return path


@pytest.fixture
def learned(net, config):
    """A daemon with numbers of its own, which has given 40 segments to 203.0.113.1."""
    net.learned("203.0.113.1", 60)
    with Daemon(net.host, "--config", config, table=99) as daemon:
        wait_until(lambda: windows(net.host, 99) == {"203.0.113.1": 40}, "the window")
        yield daemon


def in_usual_place(host, config, *command):
    """Runs a command in a mount namespace whose /etc has the file where it belongs."""
    script = ('mount -t tmpfs none /etc && mkdir /etc/riptide && printf "%s" "$0" '
              '>/etc/riptide/riptided.conf && exec "$@"')
    return host.run("unshare", "-m", "sh", "-c", script, config.read_text(), *command, check=False)


@pytest.mark.parametrize("place", ["--config", "usual"])
def test_commands_find_the_daemon_and_its_routes(net, config, learned, place):
    def run(*arguments):
        if place == "usual":
            return in_usual_place(net.host, config, RIPTIDE, *arguments)
        return net.host.run(RIPTIDE, *arguments, "--config", config, check=False)

    assert not rules(net.host) and all(rule.startswith("31000:") for rule in rules(net.host, 99))
    assert {route["protocol"] for route in routes(net.host, 99).values()} == {"222"}
    marked = net.host.ip("route", "get", "203.0.113.1", "ipproto", "tcp", "mark", "0x99")
    assert "via 10.0.0.1" in marked and "initcwnd" not in marked
    assert net.connect("203.0.113.1").cwnd() == 40
    shown = run("show")
    assert shown.stderr == ""
    assert [line.split()[:2] for line in shown.stdout.splitlines()[1:]] == [["203.0.113.1", "40"]]
    assert "=> connections start with 40 segments" in run("explain", "203.0.113.1").stdout
    (found,) = [line for line in run("doctor").stdout.splitlines() if " daemon " in line]
    assert found.split()[0] == "ok"
    assert run("status").stdout.startswith("riptided     ok\n")
    assert run("pause").returncode == run("resume").returncode == 0
    wait_until(lambda: len(rules(net.host, 99)) == 2, "the rules again")
    with listening(net) as port:
        assert run("verify", "203.0.113.1", port).stdout.startswith("applied")
    learned.kill()
    assert run("flush").stdout == "removed: rules 4, routes 1\n"


def test_doctor_asks_about_the_configured_window(host, tmp_path):
    path = tmp_path / "riptided.conf"
    for text, cwnd in (("", 40), ("[prefix 203.0.113.0/24]\ncwnd-max = 70\n", 70)):
        path.write_text("[compute]\ncwnd-max = 40\n" + text)
        said = host.run(RIPTIDE, "doctor", "--config", path, check=False).stdout
        assert f"(cwnd_max {cwnd})" in said or f"not {cwnd}" in said


def test_options_go_before_the_file(net, config, learned):
    done = net.host.run(RIPTIDE, "show", "--config", config, "--table", "7230", "--control", "none")
    assert done.stderr == "riptide: show: no routes in table 7230\n"
    done = net.host.run(RIPTIDE, "show", "8.8.8.8", "--control", "none")
    assert done.stderr == "riptide: show: no routes in table 7230 within 8.8.8.8\n"


@pytest.mark.parametrize("text, said", [
    ("cwnd-mx = 3", "9: cwnd-mx: unknown key"),
    ("ttl = soon", "9: ttl soon: "),
    ("[prefix 203.0.113.0/24]\n\nscale = 0.5\ncwnd-min = many", "12: cwnd-min many: "),
    ("[apply]\nstep-percent = 300%", "10: step-percent: is gone"),
], ids=["unknown", "value", "prefix", "apply"])
def test_mistake_costs_its_line_alone(net, config, learned, text, said):
    config.write_text(f"{config.read_text()}{text}\n")
    with listening(net) as port:
        for command, shown in (("show", " 40 "), ("explain 203.0.113.1", " 40 "), ("status", ""),
                               ("doctor", "ok       daemon "), (f"verify 203.0.113.1 {port}", "applied")):
            done = net.host.run(RIPTIDE, *command.split(), "--config", config, check=False)
            assert shown in done.stdout
            line = done.stderr.splitlines()[0]
            assert line.startswith(f"riptide: {command.split()[0]}: {config}:{said}")
            assert line.endswith("; going on by what else is known")


def test_number_on_the_command_line_that_cannot_be_is_wrong_usage(host):
    for command in (["show"], ["explain", "203.0.113.1"], ["doctor"], ["flush"],
                    ["verify", "203.0.113.1", "80"]):
        done = host.run(RIPTIDE, *command, "--table", "254", check=False)
        assert done.returncode == 2
        (line,) = [line for line in done.stderr.splitlines() if "not running" not in line]
        assert line.startswith(f"riptide: {command[0]}: --table: 254 is the kernel's own")


@pytest.mark.parametrize("table", ["254", "abc"])
def test_number_of_the_file_that_cannot_be_is_passed_over(host, config, table):
    config.write_text(f"[apply]\n\ntable = {table}\n")
    done = host.run(RIPTIDE, "flush", "--config", config)
    assert (done.returncode, done.stdout) == (0, "removed: rules 0, routes 0\n")
    assert done.stderr.startswith(f"riptide: flush: {config}:3: table")
    assert done.stderr.endswith("; going on by what else is known\n")


def test_file_that_cannot_be_read_is_one_line(net, config):
    with Daemon.learned(net, {"203.0.113.1": 60}):
        script = ('users=$(cat /etc/passwd) groups=$(cat /etc/group); mount -t tmpfs none /etc && '
                  'mkdir /etc/riptide && echo "$users" >/etc/passwd && echo "$groups" >/etc/group && '
                  '(umask 777 && >/etc/riptide/riptided.conf) && exec "$@"')
        done = net.host.run("unshare", "-m", "sh", "-c", script, "sh", *AS_NOBODY, RIPTIDE, "show")
        assert done.stderr == ("riptide: show: /etc/riptide/riptided.conf: Permission denied; "
                               "going on by what else is known\n")
        assert "203.0.113.1" in done.stdout


def test_named_file_must_be_there(host, tmp_path):
    for command in ("show", "status", "doctor", "flush"):
        done = host.run(RIPTIDE, command, "--config", tmp_path / "none", check=False)
        assert one_line(done, 2) == (f"riptide: {command}: {tmp_path}/none: No such file or "
                                     "directory\n")


def test_without_daemon_explain_goes_by_the_configuration(net, tmp_path):
    path = tmp_path / "riptided.conf"
    net.learned("203.0.113.1", 60)

    def explain(text):
        path.write_text(text)
        return riptide_json(net.host, "explain", "203.0.113.1", "--config", path)

    assert explain("[compute]\nprefix-len4 = 24\n")["destination"] == "203.0.113.0/24"
    said = explain("[observe]\nexclude = 203.0.113.1\n")
    assert not said["in_scope"] and "outside of --scope" in said["verdict"]
