# SPDX-License-Identifier: MIT
"""The backend per connection: a program of the kernel gives each connection its window."""

import contextlib
import ctypes
import json
import os
import platform
import signal
import socket
import struct
import sys

import cgroups
import pytest
from connection import Connection, tcp_info
from control import status
from netns import REPOSITORY, RIPTIDE, RIPTIDED, Daemon, Host, rules, snapshot, wait_until, wait_window
from programs import Program

sys.path.insert(0, str(REPOSITORY / "lab" / "wan"))
import wanbox  # noqa: E402

SO_MAX_PACING_RATE = 47
NO_LIMIT = (1 << 64) - 1


class Windows:
    """The program on a host and a cgroup: see program.c."""

    def __init__(self, host, *arguments, prefix=()):
        self.program = Program(host, "program", *arguments, prefix=prefix)
        self.number, _, self.words = self.program.line().partition(" ")

    def __enter__(self):
        assert self.number == "0", self.words
        return self

    def __exit__(self, *_):
        self.program.end()

    def say(self, *words):
        """What the line is answered with, as (number, words)."""
        number, _, answer = self.program.ask(" ".join(map(str, words))).partition(" ")
        return int(number), answer

    def set(self, prefix, cwnd, *words, **members):
        members = (f"{name}={value}" for name, value in members.items())
        assert self.say("set", prefix, cwnd, *words, *members) == (0, "")

    def counts(self):
        _, words = self.say("counts")
        return dict(zip(("given", "paced", "kept", "syn_lost", "refused"), map(int, words.split())))


OPENINGS = [pytest.param(address, passive, mapped,
                         id=f"{'passive' if passive else 'active'}-{address}{'-mapped' * mapped}")
            for address in ("203.0.113.1", "2001:db8::1") for passive in (False, True)
            for mapped in (False, True)[:1 + (":" not in address)]]


@pytest.mark.parametrize("address, passive, mapped", OPENINGS)
@pytest.mark.parametrize("congestion", ["cubic", "reno"])
def test_a_new_connection_starts_with_the_window(net, cgroup, address, passive, mapped, congestion):
    options = {"passive": passive, "mapped": mapped, "congestion": congestion}
    with Windows(net.host, cgroup) as windows:
        assert net.connect(address, **options).cwnd() == 10
        windows.set(address, 40)
        connection = net.connect(address, **options)
        assert connection.cwnd() == 40
        connection.near.send(bytes(60 * 1448))
        # The first flight, before anything is read at the far end.
        wait_until(lambda: tcp_info(connection.near).data_segs_out >= 1, "a first flight")
        windows.set(address, 0)
        assert net.connect(address, **options).cwnd() == 10
    assert net.connect(address, **options).cwnd() == 10


def test_the_longest_prefix_decides(net, cgroup):
    with Windows(net.host, cgroup) as windows:
        windows.set("0.0.0.0/0", 12)
        windows.set("203.0.113.0/24", 20)
        windows.set("203.0.113.8/32", 30)
        windows.set("2001:db8::/32", 25)
        asked = ("198.51.100.1", "203.0.113.1", "203.0.113.8", "203.0.113.9", "2001:db8::7")
        assert [net.connect(address).cwnd() for address in asked] == [12, 20, 30, 20, 25]
        windows.set("203.0.113.8/32", 0)
        assert net.connect("203.0.113.8").cwnd() == 20


def test_the_owners_initcwnd_is_the_least_unless_it_may_be_lowered(net, cgroup):
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1", "initcwnd", 30)
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 20)
        windows.set("203.0.113.2", 50)
        windows.set("203.0.113.3", 20, "may_lower")
        windows.set("203.0.113.4", 50, cwnd_max=44)
        assert [net.connect(f"203.0.113.{i}").cwnd() for i in (1, 2, 3, 4)] == [30, 50, 20, 44]
        assert windows.counts() == {"given": 3, "paced": 0, "kept": 1, "syn_lost": 0, "refused": 0}


def test_a_pause_is_at_once_and_keeps_the_windows(net, cgroup):
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 20)
        assert windows.say("pause") == (0, "")
        assert net.connect("203.0.113.1").cwnd() == 10
        windows.set("203.0.113.1", 25)
        assert windows.say("resume") == (0, "")
        assert net.connect("203.0.113.1").cwnd() == 25


@pytest.mark.parametrize("ending", ["stop", "SIGKILL"])
def test_nothing_is_left_of_it(net, cgroup, ending):
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 20)
        assert net.connect("203.0.113.1").cwnd() == 20
        if ending == "stop":
            assert windows.say("stop") == (0, "")
        else:
            windows.program.process.kill()
            windows.program.process.wait()
        assert net.connect("203.0.113.1").cwnd() == 10


def test_connections_of_other_namespaces_and_cgroups_are_left_alone(net, cgroup):
    with Windows(net.host, cgroup) as windows:
        windows.set("0.0.0.0/0", 20)
        # The world's sockets are of this cgroup, too: what it accepts is in another namespace.
        connection = net.connect("203.0.113.1")
        assert (connection.cwnd(), tcp_info(connection.far).cwnd) == (20, 10)
        cgroups.enter(cgroup.parent)
        assert net.connect("203.0.113.1").cwnd() == 10
        cgroups.enter(cgroup)


def test_a_full_map_is_an_outcome(net, cgroup):
    with Windows(net.host, cgroup, 2) as windows:
        windows.set("203.0.113.1", 20)
        windows.set("203.0.113.2", 20)
        windows.set("203.0.113.2", 30)  # is no more than there was
        assert windows.say("pop") == (0, "203.0.113.1 applied 20 ")


def pacing_limit(connection):
    data = connection.near.getsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 8)
    return int.from_bytes(data, "little")


@pytest.fixture
def path():
    """Two hosts, 100 ms and 20 Mbit/s apart; the buffer at the bottleneck holds a quarter of that."""
    near, far = Host("near"), Host("far")
    addresses = {near.name: ["10.9.1.1"], far.name: ["10.9.2.1"]}
    ports = [f"name={name},netns={name},net={address}/32" for name, (address,) in addresses.items()]
    far.sysctl("ipv4/tcp_rmem", "4096 1000000 6291456")
    with wanbox.Wan(ports, ["delay=50ms,rate=20mbit,buffer=62500b"], addresses):
        yield lambda **options: Connection(near, far, "10.9.2.1", source="10.9.1.1", **options), near
    near.close()
    far.close()


def first_flight(connection, n_bytes):
    """Sends so much; segments that were sent again."""
    connection.near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * n_bytes)
    connection.send(n_bytes)
    return tcp_info(connection.near).retrans_segs


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("members", [{"pacing_percent": 50}, {"pacing_percent": 100},
                                     {"pacing_rate": 2_500_000}], ids=str)
def test_a_paced_first_flight_fits_where_a_burst_does_not(path, cgroup, members, passive):
    connect, near = path
    with Windows(near, cgroup) as windows:
        windows.set("10.9.2.1", 100)
        burst = connect(congestion="cubic", passive=passive)
        assert burst.cwnd() == 100
        sent_again = first_flight(burst, 100_000)
        assert sent_again >= 3
        windows.set("10.9.2.1", 100, **members)
        paced = connect(congestion="cubic", passive=passive)
        assert (pacing_limit(paced) == NO_LIMIT) == (members == {"pacing_percent": 50})
        assert first_flight(paced, 100_000) < sent_again / 3
        assert pacing_limit(paced) == NO_LIMIT, "nothing is left of the limit"
        assert windows.counts()["paced"] == 1
        burst.close()
        paced.close()


def test_no_pacing_on_short_paths_and_against_an_applications_limit(net, cgroup):
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 40, pacing_percent=100)
        connection = net.connect("203.0.113.1")
        assert (connection.cwnd(), pacing_limit(connection)) == (40, NO_LIMIT)
        assert windows.counts()["paced"] == 0


class OtherProgram:
    """Somebody else's program on a cgroup, which runs `callbacks`: what it sets them to, or None."""

    SYSCALL = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    PROG_LOAD, PROG_ATTACH, PROG_DETACH = 5, 8, 9
    SOCK_OPS, CGROUP_SOCK_OPS, ALLOW_MULTI = 13, 3, 2
    RETURN_1 = struct.pack("<BBhi", 0xb7, 0, 0, 1) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    # r2 = 0; call bpf_sock_ops_cb_flags_set
    NO_CALLBACKS = struct.pack("<BBhi", 0xb7, 2, 0, 0) + struct.pack("<BBhi", 0x85, 0, 0, 59)

    def __init__(self, cgroup, is_alone=False, takes_callbacks=False):
        self.cgroup_fd = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
        code = self.NO_CALLBACKS * takes_callbacks + self.RETURN_1
        insns, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
        self.fd = self._bpf(self.PROG_LOAD, "=IIQQIIQII16sII", self.SOCK_OPS, len(code) // 8,
                            ctypes.addressof(insns), ctypes.addressof(licence), 0, 0, 0, 0, 0,
                            b"other", 0, self.CGROUP_SOCK_OPS)
        self._bpf(self.PROG_ATTACH, "=IIII", self.cgroup_fd, self.fd, self.CGROUP_SOCK_OPS,
                  0 if is_alone else self.ALLOW_MULTI)

    def _bpf(self, command, layout, *members):
        attr = ctypes.create_string_buffer(struct.pack(layout, *members), 128)
        libc = ctypes.CDLL(None, use_errno=True)
        r = libc.syscall(self.SYSCALL, command, attr, 128)
        if r < 0:
            raise OSError(ctypes.get_errno(), "bpf")
        return r

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._bpf(self.PROG_DETACH, "=IIII", self.cgroup_fd, self.fd, self.CGROUP_SOCK_OPS, 0)
        os.close(self.fd)
        os.close(self.cgroup_fd)


def test_other_programs_of_the_cgroup_before_and_after(net, cgroup):
    with OtherProgram(cgroup), Windows(net.host, cgroup) as windows, OtherProgram(cgroup):
        windows.set("203.0.113.1", 40)
        assert net.connect("203.0.113.1").cwnd() == 40


def test_a_cgroup_that_somebody_has_to_himself_is_refused(net, cgroup):
    below = cgroup / "below"
    below.mkdir()
    with OtherProgram(cgroup, is_alone=True):
        for where in (cgroup, below):
            windows = Windows(net.host, where)
            assert windows.number == "-1" and f"{where}: somebody else's" in windows.words


def instruction(code, dst=0, src=0, offset=0, value=0):
    return struct.pack("<BBhi", code, dst | src << 4, offset, value)


class CountingProgram(OtherProgram):
    """One that asks for the callback of each round trip, and counts them in a map."""

    def __init__(self, cgroup):
        self.map_fd = self._bpf(0, "=IIIII", 2, 4, 8, 1, 0)  # an array of one u64
        self.RETURN_1 = b"".join((
            instruction(0xbf, 6, 1), instruction(0x61, 1, 6),  # r6 = ctx; r1 = op
            instruction(0x15, 1, offset=1, value=4),  # it is established, opened here
            instruction(0x55, 1, offset=3, value=5),  # or there
            instruction(0xbf, 1, 6), instruction(0xb7, 2, value=8), instruction(0x85, value=59),
            instruction(0x61, 1, 6), instruction(0x55, 1, offset=9, value=12),  # a round trip
            instruction(0x62, 10, offset=-4), instruction(0xbf, 2, 10), instruction(0x07, 2, value=-4),
            instruction(0x18, 1, 1, value=self.map_fd), instruction(0), instruction(0x85, value=1),
            instruction(0x15, 0, offset=2), instruction(0xb7, 1, value=1), instruction(0xdb, 0, 1),
            instruction(0xb7, value=1), instruction(0x95)))
        super().__init__(cgroup)

    def count(self):
        key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(8)
        self._bpf(1, "=IIQQQ", self.map_fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0)
        return int.from_bytes(value.raw, "little")


@pytest.mark.parametrize("state", ["no window", "paused", "paced"])
def test_other_programs_keep_their_callbacks(path, cgroup, state):
    connect, near = path
    with CountingProgram(cgroup) as other, Windows(near, cgroup) as windows:
        if state != "no window":
            windows.set("10.9.2.1", 40, pacing_percent=100)
        if state == "paused":
            windows.say("pause")
        connection = connect(congestion="cubic")
        for _ in range(5):
            connection.send(2000)
        before = other.count()
        for _ in range(5):
            connection.send(2000)
        assert other.count() >= before + 5
        assert pacing_limit(connection) == NO_LIMIT
        assert windows.counts()["paced"] == (state == "paced")
        connection.close()


def test_half_a_round_trip_leaves_no_limit_whatever_others_do(path, cgroup):
    connect, near = path
    with Windows(near, cgroup) as windows, OtherProgram(cgroup, takes_callbacks=True):
        windows.set("10.9.2.1", 100, pacing_percent=50)
        connection = connect(congestion="cubic")
        assert (connection.cwnd(), pacing_limit(connection)) == (100, NO_LIMIT)
        connection.close()


def test_a_cgroup_that_goes_is_said(net, cgroup):
    below = cgroup / "below"
    below.mkdir()
    with Windows(net.host, below) as windows:
        assert windows.say("check") == (0, "")
        below.rmdir()
        number, words = wait_until(lambda: (answer := windows.say("check"))[1] and answer, "words")
        assert (number, words) == (0, "the program was detached from its cgroup, or that is gone")
        windows.set("203.0.113.1", 20)


def test_without_the_capability_it_says_which(net, cgroup):
    prefix = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    windows = Windows(net.host, cgroup, prefix=prefix)
    assert (windows.number, "CAP_BPF" in windows.words) == ("-1", True), windows.words


def test_a_cgroup_that_is_none_is_named(net, tmp_path):
    windows = Windows(net.host, tmp_path)
    assert windows.number == "-22" and f"{tmp_path} is no directory of cgroup2" in windows.words


@pytest.fixture
def daemon(net, cgroup):
    """A function that starts a riptided on net.host, which gives windows as asked for."""
    @contextlib.contextmanager
    def start(apply, **options):
        with Daemon(net.host, "--apply", apply, "--cgroup", cgroup, **options) as one:
            yield one
    return start


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("apply, by, n_rules", [("connections", "connections", 0), ("both", "both", 2),
                                                ("auto", "connections", 0), ("routes", "routes", 2)])
def test_a_daemon_gives_what_it_has_learned(net, daemon, apply, by, n_rules, passive):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    before = snapshot(net.host)
    with daemon(apply, has_rules=n_rules > 0):
        wait_until(lambda: status()["round"] and status()["destinations"], "a round")
        assert (snapshot(net.host) == before) == (n_rules == 0)
        wait_until(lambda: net.connect("203.0.113.1", passive=passive).cwnd() == cwnd, "the window")
        assert status()["apply"]["by"] == by
        assert len(rules(net.host)) == n_rules
        assert (status()["apply"]["given"] > 0) == (by != "routes")
    assert net.connect("203.0.113.1").cwnd() == 10
    assert snapshot(net.host) == before


def test_show_and_explain_say_that_no_route_gives_it(net, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with daemon("connections", has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        shown = json.loads(net.host.run(RIPTIDE, "show", "--json").stdout)
        assert shown["differences"] == 0
        (row,) = shown["routes"]
        assert (row["daemon"]["state"], row["starts_with"]) == ("per connection", cwnd)
        assert f" {cwnd} " in net.host.run(RIPTIDE, "show").stdout
        explained = json.loads(net.host.run(RIPTIDE, "explain", "203.0.113.1", "--json").stdout)
        assert explained["route"]["state"] == "per connection"
        assert "per connection" in net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
        assert "program " in net.host.run(RIPTIDE, "status").stdout
        metrics = net.host.run(RIPTIDE, "metrics").stdout
        assert "\nriptide_program_in_place 1\n" in metrics
        assert 'riptide_rules_in_place{family="ipv4"} 0\n' in metrics
        net.host.run(RIPTIDE, "pause")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 10, "the pause")
        net.host.run(RIPTIDE, "resume")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "the end of it")


def test_verify_proves_it(net, cgroup, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with net.world.socket(socket.AF_INET) as server, daemon("connections", has_rules=False):
        server.bind(("", 0))
        server.listen()
        words = (RIPTIDE, "verify", "203.0.113.1", server.getsockname()[1])
        wait_until(lambda: status()["destinations"], "a destination")
        assert net.host.run(*words).stdout.startswith(
            f"applied: 203.0.113.1 port {words[-1]} starts with {cwnd} segments")
        cgroups.enter(cgroup.parent)
        done = net.host.run(*words, check=False)
        cgroups.enter(cgroup)
        assert done.returncode == 4
        assert f"riptided gives {cwnd} per connection, and it started with 10: this" in done.stdout


def test_flush_pauses_a_daemon_that_has_no_routes(net, daemon):
    net.learned("203.0.113.1", 30)
    with daemon("connections", has_rules=False):
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "a window")
        net.host.run(RIPTIDE, "flush")
        assert net.connect("203.0.113.1").cwnd() == 10


def test_once_is_for_routes(net, cgroup):
    done = net.host.run(RIPTIDED, "--apply", "connections", "--cgroup", cgroup, "--once", check=False)
    assert done.returncode == 2 and "--once" in done.stderr, done.stderr


def test_what_a_riptided_with_routes_left_goes_first(net, daemon):
    net.learned("203.0.113.1", 30)
    before = snapshot(net.host)
    with daemon("routes") as killed:
        wait_window(net.host, "203.0.113.1")
        killed.kill()
        assert snapshot(net.host) != before
        killed.process.returncode = 0  # it has ended, as asked for
        with daemon("connections", has_rules=False):
            assert snapshot(net.host) == before


def test_another_pacing_is_in_force_at_once(path, cgroup, tmp_path):
    connect, near = path
    config = tmp_path / "riptided.conf"
    config.write_text("[apply]\npacing-percent = 100\n")
    learned = connect(congestion="cubic")
    learned.grow(30)
    with Daemon(near, "--apply", "connections", "--cgroup", cgroup, "--config", config,
                has_rules=False) as riptided:
        def limit():
            connection = connect(congestion="cubic")
            found = connection.cwnd(), pacing_limit(connection)
            connection.close()
            return found

        wait_until(lambda: limit()[0] > 10 and limit()[1] != NO_LIMIT, "pacing over a round trip")
        config.write_text("[apply]\npacing-percent = 50\n")
        riptided.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "100 -> 50" in riptided.said(), "the reload")
        cwnd, rate = limit()
        assert cwnd > 10 and rate == NO_LIMIT
    learned.close()


def test_auto_takes_routes_where_the_program_cannot_load(net, daemon):
    without = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    with daemon("auto", command=(*without, RIPTIDED)) as started:
        wait_until(lambda: status()["round"], "a round")
        assert status()["apply"]["by"] == "routes"
        assert "CAP_BPF" in status()["apply"]["reason"]
        assert len(rules(net.host)) == 2
        assert "not per connection: a program per connection needs CAP_BPF" in started.said()


def test_connections_alone_are_refused_where_the_program_cannot_load(net, cgroup):
    with OtherProgram(cgroup, is_alone=True):
        done = net.host.run(RIPTIDED, "--apply", "connections", "--cgroup", cgroup, check=False)
    assert done.returncode == 1 and f"--cgroup: {cgroup}: somebody else's program" in done.stderr


def test_explain_says_that_it_is_given_per_connection_and_when_not(net, cgroup, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()

    def explain():
        return net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
    with daemon("connections", has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        assert f"=> connections start with {cwnd} segments, given per connection\n" in explain()
        assert f"route        203.0.113.1 initcwnd {cwnd} per connection\n" in explain()
        net.host.run(RIPTIDE, "pause")
        wait_until(lambda: "per connection, not at present: paused\n" in explain(), "the pause")
        assert ("=> nothing at present, per connection: paused; connections start with 10 segments\n"
                in explain())
    below = cgroup / "below"
    below.mkdir()
    with Daemon(net.host, "--apply", "connections", "--cgroup", below, has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        below.rmdir()
        wait_until(lambda: "per connection: the program was detached" in explain(), "the end of it")


def test_connections_alone_name_the_capability_that_they_lack(net, cgroup):
    prefix = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    done = net.host.run(*prefix, RIPTIDED, "--apply", "connections", "--cgroup", cgroup, check=False)
    assert done.returncode == 1
    assert "cannot start: a program per connection needs CAP_BPF and CAP_NET_ADMIN" in done.stderr


@pytest.mark.parametrize("apply", ["connections", "auto"])
def test_a_dry_run_says_what_it_would_give_per_connection(net, cgroup, apply):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with Daemon(net.host, "--apply", apply, "--cgroup", cgroup, "--dry-run", has_rules=False) as one:
        wait_until(lambda: "would set" in one.said(), "a window")
        assert f"would set 203.0.113.1 initcwnd {cwnd} " in one.said()
        assert ") per connection\n" in one.said()
        assert "next hops" not in one.said()


def test_one_of_both_that_is_off_is_a_reason_two_are_off(net, cgroup):
    below = cgroup / "below"
    below.mkdir()
    gone = "the program was detached from its cgroup, or that is gone"
    with Daemon(net.host, "--apply", "both", "--cgroup", below):
        wait_until(lambda: status()["health"] == "ok", "a round")
        below.rmdir()
        wait_until(lambda: status()["reason"], "the end of it")
        assert status()["health"] == "ok"
        assert status()["reason"] == f"windows are given by routes alone: {gone}"
        net.host.ip("rule", "add", "pref", 0, "lookup", "main")
        wait_until(lambda: status()["health"] == "off", "both off")
        net.host.ip("rule", "del", "pref", 0, "lookup", "main")
    below.mkdir()
    with Daemon(net.host, "--apply", "both", "--cgroup", below):
        net.host.ip("rule", "add", "pref", 0, "lookup", "main")
        wait_until(lambda: status()["reason"], "rules without a place")
        assert status()["health"] == "ok"
        assert status()["reason"].startswith("windows are given per connection alone: ")


def test_status_of_connections_alone_has_no_rules_or_routes(net, daemon):
    with daemon("connections", has_rules=False):
        wait_until(lambda: status()["round"], "a round")
        said = net.host.run(RIPTIDE, "status").stdout
        assert "\n  rules " not in said and "\n  routes " not in said
        assert "\n  program " in said and "\n  learned " in said
    with daemon("both"):
        said = net.host.run(RIPTIDE, "status").stdout
        assert "\n  rules " in said and "\n  routes " in said
