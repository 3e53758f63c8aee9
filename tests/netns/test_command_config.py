# SPDX-License-Identifier: MIT
"""The commands read riptided's file, so that they use the running daemon's numbers."""


import pytest
from control import one_line, riptide_json
from netns import AS_NOBODY, BY_ROUTES, RIPTIDE, Daemon, rules, wait_until, windows
from test_verify import listening

NUMBERS = "table = 99\ncontrol = /run/elsewhere/control\n"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "riptided.conf"
    path.write_text(f"[apply]\n{NUMBERS}[compute]\ncwnd-max = 40\n")
    return path


@pytest.fixture
def learned(net, config):
    """A daemon with numbers of its own, which has given 40 segments to 203.0.113.1 by a route."""
    net.learned("203.0.113.1", 60)
    with Daemon(net.host, *BY_ROUTES, "--config", config, table=99) as daemon:
        wait_until(lambda: windows(net.host, 99) == {"203.0.113.1": 40}, "the window")
        yield daemon


# A mount namespace with the file in /etc.
IN_ETC = ('mount -t tmpfs none /etc && mkdir /etc/riptide && printf "%s" "$0" '
          '>/etc/riptide/riptided.conf && exec "$@"')


@pytest.mark.parametrize("place", ["--config", "usual"])
def test_commands_find_the_daemon_and_its_routes(net, config, learned, place):
    def run(*arguments):
        if place == "usual":
            return net.host.run("unshare", "-m", "sh", "-c", IN_ETC, config.read_text(), RIPTIDE,
                                *arguments, check=False)
        return net.host.run(RIPTIDE, *arguments, "--config", config, check=False)

    assert not rules(net.host) and len(rules(net.host, 99)) == 2
    assert net.connect("203.0.113.1").cwnd() == 40
    shown = run("show")
    assert shown.stderr == ""
    assert [line.split()[:2] for line in shown.stdout.splitlines()[1:-1]] == [["203.0.113.1", "40"]]
    assert run("show", "8.8.8.0/24", "--table", "7230", "--control", "none").stderr == (
        "riptide: show: no routes in table 7230 within 8.8.8.0/24\n")  # options prevail over the file
    assert "=>           connections start with 40 segments\n" in run("show", "203.0.113.1").stdout
    doctor = run("doctor").stdout
    assert "ok       daemon " in doctor and ("(cwnd_max 40)" in doctor or "not 40" in doctor)
    assert run("status").stdout.startswith("riptide: working. Routes give 1 destination their window.\n")
    assert run("pause").returncode == run("resume").returncode == 0
    wait_until(lambda: len(rules(net.host, 99)) == 2, "the rules again")
    with listening(net) as port:
        assert run("verify", "203.0.113.1", port).stdout.startswith("applied")
        if place == "--config":  # a mistake invalidates only its line
            config.write_text(f"{config.read_text()}[prefix 203.0.113.0/24]\n\ncwnd-max = 70\ncwnd-min = many\n")
            for command, shown in (("show", " 40 "), ("show 203.0.113.1", " 40 "), ("status", ""),
                                   ("doctor", "ok       daemon "), (f"verify 203.0.113.1 {port}", "applied")):
                done = run(*command.split())
                line = done.stderr.splitlines()[0]
                assert shown in done.stdout and line.startswith(
                    f"riptide: {command.split()[0]}: {config}:9: cwnd-min many: ")
                assert line.endswith("; continuing with the rest and the defaults")
            doctor = run("doctor").stdout
            assert "(cwnd_max 70)" in doctor or "not 70" in doctor or "asks the kernel for 70" in doctor
    learned.kill()
    assert run("flush").stdout == "removed: rules 2, routes 1, table 99\n"


def test_number_that_cannot_be_is_wrong_usage_and_in_a_file_passed_over(host, config):
    config.write_text("[apply]\n\ntable = 254\n")
    done = host.run(RIPTIDE, "flush", "--config", config)
    assert done.stdout == "removed: rules 0, routes 0, table 7230\n"
    assert done.stderr.startswith(f"riptide: flush: {config}: table: 254")
    for command in (["show", "203.0.113.1"], ["doctor"], ["flush"],
                    ["verify", "203.0.113.1", "80"]):
        done = host.run(RIPTIDE, *command, "--table", "254", check=False)
        assert done.returncode == 2
        (line,) = [line for line in done.stderr.splitlines() if "not running" not in line]
        assert line.startswith(f"riptide: {command[0]}: table: 254 is the kernel's own")


@pytest.mark.parametrize("text, told", [
    ("cwnd-max = 0\n", "cwnd-max: 0; "), ("max-destinations = 0\n", "max-destinations: 0; "),
    ("cwnd-max = 40\n[prefix 203.0.113.0/24]\ncwnd-max = 9999999\n", "[prefix 203.0.113.0/24] cwnd-max: 9999999; "),
    ("cwnd-max = 0\n[prefix 203.0.113.0/24]\ncwnd-max = 9999999\n", "cwnd-max: 0; "),
], ids=["cwnd-max", "max-destinations", "section", "several"])
def test_window_or_table_out_of_range_in_the_file_is_passed_over(net, config, text, told):
    config.write_text(f"[compute]\n{text}")
    with listening(net) as port:
        for command in ("show", "show 203.0.113.1", "doctor", f"verify 203.0.113.1 {port}"):
            done = net.host.run(RIPTIDE, *command.split(), "--config", config, check=False)
            assert done.returncode not in (1, 2) and done.stdout, done
            first = done.stderr.splitlines()[0]
            assert first.startswith(f"riptide: {command.split()[0]}: {config}: {told}")
            assert first.endswith("; continuing with the rest and the defaults")
        doctor = net.host.run(RIPTIDE, "doctor", "--config", config, check=False).stdout
        cwnd_max = 40 if "40" in text else 100
        assert f"(cwnd_max {cwnd_max})" in doctor or f"not {cwnd_max}" in doctor


def test_file_that_cannot_be_read_is_one_line(net, config):
    with Daemon.learned(net, {"203.0.113.1": 60}):
        script = ('users=$(cat /etc/passwd) groups=$(cat /etc/group); mount -t tmpfs none /etc && '
                  'mkdir /etc/riptide && echo "$users" >/etc/passwd && echo "$groups" >/etc/group && '
                  '(umask 777 && >/etc/riptide/riptided.conf) && exec "$@"')
        done = net.host.run("unshare", "-m", "sh", "-c", script, "sh", *AS_NOBODY, RIPTIDE, "show")
        assert done.stderr == ("riptide: show: /etc/riptide/riptided.conf: Permission denied; "
                               "continuing with the rest and the defaults\n")
        assert "203.0.113.1" in done.stdout


def test_without_daemon_explain_goes_by_the_configuration(net, tmp_path):
    path = tmp_path / "riptided.conf"
    for command in ("show", "status", "doctor", "flush"):
        assert one_line(net.host.run(RIPTIDE, command, "--config", path, check=False), 2) == (
            f"riptide: {command}: {path}: No such file or directory\n")
    path.write_text("[compute]\nprefix-len4 = 24\n[observe]\nexclude = 203.0.113.1\n")
    net.learned("203.0.113.1", 60)
    said = riptide_json(net.host, "show", "203.0.113.1", "--config", path)
    assert not said["in_scope"] and "outside of --scope" in said["verdict"]
    said = riptide_json(net.host, "show", "203.0.113.2", "--config", path)
    assert said["destination"] == "203.0.113.0/24"
