# SPDX-License-Identifier: MIT
"""Output for people: tables that fit the terminal, and colour only on a terminal."""

import fcntl
import os
import pty
import re
import struct
import termios

import pytest
from control import ask, status, write_state
from netns import BY_ROUTES, DEADLINE_S, RIPTIDE, Daemon, wait_until, wait_window, windows


class Terminal:
    """A command on its own terminal, in the foreground."""

    def __init__(self, host, columns, *command, **environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def take_terminal():
            os.setsid()
            fcntl.ioctl(1, termios.TIOCSCTTY, 0)

        self.process = host.start(*command, stdout=slave, stderr=slave, preexec_fn=take_terminal,
                                  env={"TERM": "xterm", **environment})
        os.close(slave)
        self.text = ""

    def read(self):
        """Reads a piece of its output; False at the end."""
        try:
            chunk = os.read(self.master, 4096)
        except OSError:  # EIO: the other end is closed
            chunk = b""
        self.text += chunk.decode().replace("\r\n", "\n")
        return bool(chunk)

    def end(self):
        while self.read():
            pass
        os.close(self.master)
        return self.process.wait(DEADLINE_S)


def on_terminal(host, columns, *command, exits=0, **environment):
    """The output of a command on a terminal of that width."""
    terminal = Terminal(host, columns, *command, **environment)
    assert terminal.end() == exits
    return terminal.text


def test_tables_fit_a_terminal_and_have_colour_there_alone(net):
    net.host.ip("route", "add", "blackhole", "203.0.113.2")
    net.host.ip("route", "add", "203.0.113.1", "via", "10.0.0.1")
    write_state("/run/state", {"203.0.113.2": 33})
    with Daemon.learned(net, "203.0.113.1", "--state", "/run/state"):
        wait_until(lambda: status()["left_alone"] == 1, "a destination that is left alone")
        plain = net.host.run(RIPTIDE, "show").stdout
        assert "\033" not in plain and "left alone: " in plain
        wide = on_terminal(net.host, 200, RIPTIDE, "show")
        assert "\033[33m" in wide
        assert re.sub("\033\\[[0-9]*m", "", wide) == plain
        assert "\033" not in on_terminal(net.host, 200, RIPTIDE, "show", NO_COLOR="1")
        assert "\033" not in on_terminal(net.host, 200, RIPTIDE, "show", TERM="dumb")
        for columns in (72, 40):
            narrow = on_terminal(net.host, columns, RIPTIDE, "show", NO_COLOR="1")
            assert narrow.split() == plain.split()  # no text is missing
            assert max(len(line) for line in narrow.splitlines() if "left alone" not in line) <= columns


def test_tables_fit_eighty_columns_and_addresses_and_messages_are_whole_on_sixty(net):
    """With the longest possible addresses."""
    longest = "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff"
    net.world.ip("-6", "addr", "add", f"{longest}/128", "dev", "lo")
    with Daemon.learned(net, {"2001:db8::1": 60, "198.51.100.100": 60}, *BY_ROUTES):
        for command in ("observe", "show"):
            lines = on_terminal(net.host, 80, RIPTIDE, command, NO_COLOR="1").splitlines()
            assert len(lines) >= 3
            assert max(map(len, lines)) <= 80, command
            assert not [line for line in lines if line.startswith(" ")], command  # no broken ones
        net.learned(longest, 60)
        wait_window(net.host, longest)
        for command, columns in (("show", ("GATEWAY", "DEV", "STATE", "fd00::1", "eth0", "applied")),
                                 ("observe", ("RATE",))):
            text = on_terminal(net.host, 60, RIPTIDE, command, NO_COLOR="1")
            assert {longest, *columns} <= set(text.split()), text
            assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize("interval, state", [("50ms", "(step)"), ("1h", "(pending)")])
def test_window_within_the_step_is_no_fault_and_beyond_it_pending(net, interval, state):
    def hint(cwnd_max):
        ask({"request": "hint", "dst": "203.0.113.1", "for_ms": 600000, "cwnd_max": cwnd_max})

    def wanted():
        return int(ask({"request": "show"})["routes"][0].split("\t")[3])

    with Daemon.learned(net, "203.0.113.1", interval=interval):
        cwnd = windows(net.host)["203.0.113.1"]
        if state == "(step)":
            hint(cwnd - 1)
            wait_until(lambda: windows(net.host)["203.0.113.1"] == cwnd - 1, "a bound without a step")
            hint(cwnd)
        else:
            hint(20)
        wait_until(lambda: wanted() == (cwnd if state == "(step)" else 20), "another window")
        done = net.host.run(RIPTIDE, "show")
        assert done.stderr == ""
        row = done.stdout.splitlines()[1].split()
        assert (row[1], row[2]) == ((str(cwnd - 1), str(cwnd)) if state == "(step)" else (str(cwnd), "20"))
        assert row[-2:] == ["applied", state]
        assert "\033" not in on_terminal(net.host, 100, RIPTIDE, "show")
