# SPDX-License-Identifier: MIT
"""The program in the kernel gives each connection its window."""

import contextlib
import socket
import time
from pathlib import Path

import cgroups
import pytest
from connection import (NO_LIMIT, SO_MAX_PACING_RATE, TCP_CONGESTION, cookie_of, first_pace, pacing_limit, tcp_info)
from netns import wait_until
from programs import Driver


AT_ONCE = 0xffffffff  # RIPTIDE_AT_ONCE


class Windows(Driver):
    """The program alone, on a host and a cgroup."""

    def __init__(self, host, cgroup, holdout_percent=0, prefix=()):
        super().__init__(host, prefix=("env", "DRIVER_APPLY=program", f"DRIVER_CGROUP={cgroup}",
                                       f"DRIVER_HOLDOUT={holdout_percent}", *prefix))

    def set(self, prefix, cwnd, *words, **members):
        members = [f"{name}={value}" for name, value in members.items()]
        self.follow(" ".join(map(str, ("set", prefix, cwnd, *words, *members))))
        # In user mode newer kernels may not have memory before the next tick.
        wait_until(lambda: " failed " not in self.routes.get(prefix, "") or not self.later(), "memory for it")

    def counts(self):
        return {name: self.quiet()[name] for name in ("given", "paced", "kept", "held_out")}

    def opened(self, socket):
        """What the program noted: `arm`, `initcwnd`, `together`, `is_paced`; None: nothing."""
        self.send([f"opened {cookie_of(socket)}"])
        _, arm, *words = self.answer("opened").split()
        return {"arm": arm} | dict(zip(words[::2], map(int, words[1::2]))) if words else None

    def arm(self, connection):
        return self.call(f"arm {cookie_of(connection.near)}", "arm")

    def wait_reason(self, words):
        """Waits until that is why it gives no windows, as it looks at its cgroup each second."""
        wait_until(lambda: self.later() and self.reason == words, words or "windows")


@pytest.mark.parametrize("address, mapped", [("203.0.113.1", False), ("203.0.113.1", True), ("2001:db8::1", False)])
@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("congestion", ["cubic", "reno"])
def test_a_new_connection_starts_with_the_window(net, cgroup, address, passive, mapped, congestion):
    options = {"passive": passive, "mapped": mapped, "congestion": congestion}
    with Windows(net.host, cgroup) as windows:
        assert net.connect(address, **options).cwnd() == 10
        windows.set(address, 40)
        assert net.connect(address, **options).cwnd() == 40
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
    with Windows(net.host, cgroup) as windows:
        windows.set("::/0", 40)  # not for IPv4
        assert net.connect("2001:db8::1").cwnd() == 40
        for passive, mapped in ((False, False), (True, False), (False, True)):
            assert net.connect("203.0.113.1", passive=passive, mapped=mapped).cwnd() == 10


def test_no_window_is_above_its_bound_nor_below_the_kernels_or_the_owners_unless_it_may_be_lowered(net, cgroup):
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 5)
        windows.set("203.0.113.2", 5, "may_lower")
        windows.set("203.0.113.3", 50, cwnd_max=20)
        assert [windows.routes[f"203.0.113.{i}"].split()[3] for i in (1, 2, 3)] == ["10", "5", "20"]
        assert [net.connect(f"203.0.113.{i}").cwnd() for i in (1, 2, 3)] == [10, 5, 20]
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1", "initcwnd", 30)
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 20)
        windows.set("203.0.113.2", 50)
        windows.set("203.0.113.3", 20, "may_lower")
        assert [net.connect(f"203.0.113.{i}").cwnd() for i in (1, 2, 3)] == [30, 50, 20]
        assert windows.counts() == {"given": 2, "paced": 0, "kept": 1, "held_out": 0}


def test_connections_of_other_namespaces_and_cgroups_are_left_alone(net, cgroup):
    with Windows(net.host, cgroup) as windows:
        windows.set("0.0.0.0/0", 20)
        # The world's sockets are in this cgroup, too, but in another namespace.
        connection = net.connect("203.0.113.1")
        assert (connection.cwnd(), tcp_info(connection.far).cwnd) == (20, 10)
        cgroups.enter(cgroup.parent)
        assert net.connect("203.0.113.1").cwnd() == 10
        cgroups.enter(cgroup)


def test_more_windows_are_written_than_a_dispatch_writes(net, cgroup):
    with Windows(net.host, cgroup) as windows:
        windows.follow(*(f"set 203.0.113.{last} {10 + last}" for last in range(1, 151)))
        applied = [f"route 203.0.113.{last} applied {10 + last} " for last in range(1, 151)]
        wait_until(lambda: list(windows.routes.values()) == applied or not windows.later(),
                   "memory for them, as in set()")
        for last in (1, 64, 65, 128, 129, 150):
            assert net.connect(f"203.0.113.{last}").cwnd() == 10 + last


def wait_acknowledged(end):
    wait_until(lambda: tcp_info(end).unacked == 0, "the acknowledgement of all")


def finish(connection):
    """Waits until all data has arrived."""
    wait_acknowledged(connection.near)
    connection.far.recv(1 << 20)


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("address", ["10.9.2.1", "fd09:2::1"])
@pytest.mark.parametrize("congestion", ["cubic", "bbr"])
def test_the_pace_is_that_of_the_first_round_trip_alone(path, cgroup, address, passive, congestion):
    connect, near, _ = path
    with Windows(near, cgroup) as windows:
        for members, least, most in (({"pacing_percent": 100}, 0.9, 1.05), ({"pacing_percent": 70}, 1.15, 1.5),
                                     ({"pacing_percent": 50}, 1.15, 3)):
            windows.set(address, 100, **members)
            connection = connect(address, congestion=congestion, passive=passive)
            connection.far.send(b"asks")  # acknowledged without data
            wait_acknowledged(connection.far)
            assert least < first_pace(near, connection.near, 200_000) < most, members
            assert pacing_limit(connection.near) == NO_LIMIT
            finish(connection)
            info = tcp_info(connection.near)
            # That of bbr depends on the rate at which the host sends.
            assert congestion == "bbr" or info.pace(info.rtt_us) > 1.15, "its own again"
            connection.close()


PACES = pytest.mark.parametrize("percent, least, most", [(50, 1.15, 2.1), (100, 0.9, 1.05)], ids=["50", "100"])


def listen_drops(host):
    """Without a program: a second after a SYN the next one follows."""
    with host.entered():
        names, values = Path("/proc/thread-self/net/netstat").read_text().splitlines()[:2]
    return int(dict(zip(names.split(), values.split()))["ListenDrops"])


@PACES
@pytest.mark.parametrize("timestamps", [0, 1])
def test_a_window_whose_syn_was_sent_again_is_paced_as_others_are(path, cgroup, percent, least, most, timestamps):
    """The listener has no room for the first SYN."""
    connect, near, far = path
    near.sysctl("ipv4/tcp_timestamps", timestamps)
    with Windows(near, cgroup) as windows, far.server(backlog=0) as server, \
            near.socket(socket.AF_INET) as first, near.socket(socket.AF_INET) as client:
        windows.set("10.9.2.1", 100, pacing_percent=percent, rtt_us=100_000)
        first.connect(("10.9.2.1", server.getsockname()[1]))
        client.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")
        client.setblocking(False)
        before = listen_drops(far)
        client.connect_ex(("10.9.2.1", server.getsockname()[1]))
        wait_until(lambda: listen_drops(far) > before, "its SYN to be dropped")
        server.accept()[0].close()
        wait_until(lambda: tcp_info(client).state == 1, "it to be established")
        assert tcp_info(client).cwnd == 100
        assert least < first_pace(near, client, 200_000) < most
        assert windows.counts()["paced"] == 2


@contextlib.contextmanager
def accepted_without_rtt(near, far, opening="fast open"):
    """A server's connection that has no round trip time of its own."""
    near.sysctl("ipv4/tcp_fastopen", 0x602)  # as a server, without a cookie, of any listener
    far.sysctl("ipv4/tcp_fastopen", 0x5)  # as a client, without a cookie
    with near.server() as server, far.socket(socket.AF_INET) as client:
        server.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")
        client.bind(("10.9.2.1", 0))
        address = ("10.9.1.1", server.getsockname()[1])
        if opening == "fast open":
            client.sendto(b"asks", socket.MSG_FASTOPEN, address)
        else:
            near.sysctl("ipv4/tcp_timestamps", 0)
            near.sysctl("ipv4/tcp_syncookies", 2)
            client.connect(address)
        with server.accept()[0] as accepted:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
            yield accepted


@PACES
@pytest.mark.parametrize("opening", ["fast open", "cookie"])
def test_a_server_without_a_round_trip_time_paces_by_the_paths(path, cgroup, opening, percent, least, most):
    _, near, far = path
    with Windows(near, cgroup) as windows:
        windows.set("10.9.2.1", 100, pacing_percent=percent, rtt_us=100_000)
        with accepted_without_rtt(near, far, opening) as accepted:
            assert tcp_info(accepted).cwnd == 100
            accepted.setblocking(False)
            assert least < first_pace(near, accepted, 200_000) < most
            assert windows.counts()["paced"] == 1


@pytest.mark.parametrize("is_first", [False, True])
def test_two_programs_of_one_cgroup_pace_each_its_own_namespace(path, cgroup, is_first):
    connect, near, far = path
    hosts = (near, far) if is_first else (far, near)
    with Windows(hosts[0], cgroup) as one, Windows(hosts[1], cgroup) as other:
        for windows in (one, other):
            windows.set("10.9.0.0/16", 100, pacing_percent=100)
        connection = connect("10.9.2.1", congestion="cubic")
        assert 0.9 < first_pace(near, connection.near, 200_000) < 1.05


@pytest.mark.parametrize("ending", ["stop", "SIGKILL"])
def test_an_end_before_data_or_in_the_first_flight_leaves_no_limit(path, cgroup, ending):
    connect, near, _ = path
    with Windows(near, cgroup) as windows:
        windows.set("10.9.2.1", 20, pacing_percent=100)
        windows.set("fd09:2::1", 20, pacing_percent=100)
        idle, busy = ([connect(address, congestion="cubic", passive=passive)
                       for address in ("10.9.2.1", "fd09:2::1") for passive in (False, True)] for _ in range(2))
        assert max(paces := [first_pace(near, each.near, 40_000) for each in busy]) < 1.05, paces
        if ending == "stop":
            assert windows.call("stop", "stop") == "0"
        else:
            windows.kill()
        assert {pacing_limit(each.near) for each in idle + busy} == {NO_LIMIT}
        assert min(paces := [first_pace(near, each.near) for each in idle]) > 1.15, paces
        for each in busy:
            finish(each)
            assert first_pace(near, each.near) > 1.15


@pytest.mark.parametrize("is_open", [False, True], ids=["before", "once open"])
def test_an_applications_own_limit_stays(path, cgroup, is_open):
    _, near, far = path
    with Windows(near, cgroup) as windows, near.socket(socket.AF_INET) as client, far.server() as server:
        windows.set("10.9.2.1", 40, pacing_percent=100)
        if not is_open:
            client.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 100_000)
        client.connect(("10.9.2.1", server.getsockname()[1]))
        if is_open:
            client.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 100_000)
        client.sendall(bytes(10_000))
        assert (tcp_info(client).cwnd >= 40, pacing_limit(client)) == (True, 100_000)
        assert tcp_info(client).pacing_rate == (100_000 if is_open else tcp_info(client).pacing_rate)
        assert windows.counts() == {"given": 1, "paced": int(is_open), "kept": 0, "held_out": 0}


@pytest.mark.usefixtures("large_first_windows")
def test_the_first_receive_window_is_opened_for_what_this_host_opens(net, cgroup):
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 20, cwnd_max=206)
        # The scaled window comes at the end of the handshake, which may not have arrived yet.
        for passive in (False, True):
            connection = net.connect("203.0.113.1", passive=passive)
            wait_until(lambda: tcp_info(connection.far).snd_wnd_bytes != 65535, "its window")
            opened = tcp_info(connection.far).snd_wnd_bytes
            # Rounded to whole segments.
            assert (opened > 205 * 1460) == (not passive), opened
        with net.host.socket(socket.AF_INET) as client, net.world.server() as server:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1000)
            client.connect(("203.0.113.1", server.getsockname()[1]))
            assert client.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 1000


def test_an_applications_own_bound_of_the_receive_window_stays(net, cgroup):
    with Windows(net.host, cgroup) as windows, net.host.socket(socket.AF_INET) as client, net.world.server() as server:
        windows.set("203.0.113.1", 20, cwnd_max=206)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, 20_000)
        client.connect(("203.0.113.1", server.getsockname()[1]))
        assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP) == 20_000
        with server.accept()[0] as far:
            wait_until(lambda: tcp_info(far).snd_wnd_bytes <= 20_000, "its window")


OF = cgroups.CountingProgram
ASKED = {"round trips": (OF.RTT, OF.RTT_CB), "headers": (OF.WRITE_HDR_OPT, OF.HDR_OPT_LEN_CB),
         "headers and losses": (OF.WRITE_HDR_OPT | OF.LOSSES, OF.HDR_OPT_LEN_CB),
         "losses": (OF.WRITE_HDR_OPT | OF.LOSSES, OF.RTO_CB),
         "headers both ways": (OF.WRITE_HDR_OPT | OF.PARSE_UNKNOWN_HDR_OPT, OF.HDR_OPT_LEN_CB)}


# A program behind ours that asks for round trips alone takes the callbacks of headers from it.
@pytest.mark.parametrize("state, is_first, asked", [
    *((state, True, asked) for state in ("no window", "paused", "paced") for asked in ASKED),
    *(("paced", False, asked) for asked in ASKED if asked != "round trips")])
def test_other_programs_keep_their_callbacks(path, cgroup, state, is_first, asked):
    connect, near, far = path
    with contextlib.ExitStack() as stack:
        made = [lambda: OF(cgroup, *ASKED[asked]), lambda: Windows(near, cgroup)]
        entered = [stack.enter_context(make()) for make in (made if is_first else reversed(made))]
        other, windows = entered if is_first else reversed(entered)
        if state != "no window":
            windows.set("10.9.2.1", 40, pacing_percent=100)
        if state == "paused":
            windows.follow("pause")
        connection = connect(congestion="cubic")
        assert (first_pace(near, connection.near) < 1.05) == (state == "paced")
        finish(connection)
        before = other.count()
        if asked == "losses":
            assert before == 0
            far.ip("addr", "del", "10.9.2.1", "dev", "wan0")
            connection.near.send(b"lost")
            wait_until(lambda: other.count() > 0, "its timeout")
        else:
            for _ in range(5):
                connection.send(2000)
            assert other.count() >= before + 5
        assert pacing_limit(connection.near) == NO_LIMIT
        assert windows.counts()["paced"] == (state == "paced")


def test_where_another_takes_all_callbacks_half_a_round_trip_is_left(path, cgroup):
    connect, near, _ = path
    with Windows(near, cgroup) as windows, cgroups.OtherProgram(cgroup, takes_callbacks=True):
        windows.set("10.9.2.1", 100, pacing_percent=100)
        connection = connect(congestion="cubic")
        assert connection.cwnd() == 100
        assert (first_pace(near, connection.near) > 1.15, pacing_limit(connection.near)) == (True, NO_LIMIT)
        assert windows.counts()["paced"] == 1


@pytest.mark.parametrize("rtt_us, arms", [(0, ["none"]), (100_000, ["window", "holdout"])])
def test_what_cannot_be_paced_is_noted_in_no_arm(path, cgroup, rtt_us, arms):
    _, near, far = path
    with Windows(near, cgroup, 50) as windows:
        windows.set("10.9.2.1", 100, pacing_percent=100, rtt_us=rtt_us)
        with accepted_without_rtt(near, far) as accepted:
            noted = windows.opened(accepted)
            assert (noted["arm"] if noted else "none") in arms


@pytest.mark.parametrize("congestion, is_idle", [("cubic", False), ("cubic", True), ("bbr", False)])
def test_a_flight_behind_a_greeting_is_paced_as_the_first(path, cgroup, congestion, is_idle):
    connect, near, _ = path
    with Windows(near, cgroup) as windows:
        windows.set("10.9.2.1", 60, pacing_percent=100)
        connection = connect(congestion=congestion)
        for n_bytes in (3000, 700):  # before an object, as a TLS handshake
            connection.near.send(bytes(n_bytes))
            wait_acknowledged(connection.near)
        wait_until(lambda: not is_idle or (info := tcp_info(connection.near)).idle_us > 2 * info.rto_us, "a pause")
        assert 0.9 < first_pace(near, connection.near, idle_reduces=int(is_idle)) < 1.05


@pytest.mark.parametrize("saved", [1, 2])
def test_a_listeners_own_option_is_no_note_of_ours(path, cgroup, saved):
    connect, near, _ = path
    with Windows(near, cgroup) as windows, OF(cgroup, *ASKED["headers"]):
        windows.set("10.9.2.1", 40, pacing_percent=100)
        near.ip("route", "add", "10.9.2.1", "dev", "wan0", "initcwnd", 50)
        connection = connect(congestion="cubic", passive=True, save_syn=saved)
        near.ip("route", "del", "10.9.2.1")
        assert windows.counts()["kept"] == 1 and first_pace(near, connection.near) > 1.15


def test_headers_are_asked_about_for_the_first_ten_segments_alone(path, cgroup):
    connect, near, _ = path
    with Windows(near, cgroup) as windows, OF(cgroup, None, OF.HDR_OPT_LEN_CB) as other:
        windows.set("10.9.2.1", 40, pacing_percent=100)
        connection = connect(congestion="cubic")
        connection.far.send(b"asks")
        wait_acknowledged(connection.far)
        waiting = other.count()
        connection.send(20_000)
        before = other.count()
        assert 0 < waiting < before
        connection.send(100_000)
        assert other.count() == before


def test_a_cgroup_that_goes_is_said_and_taken_up_when_it_is_made_again(net, cgroup):
    below = cgroup / "below"
    below.mkdir()
    with Windows(net.host, below) as windows:
        windows.wait_reason("")
        cgroups.enter(below)
        net.connect("203.0.113.1")  # stays open, and keeps the cgroup alive
        cgroups.enter(cgroup)
        below.rmdir()
        windows.wait_reason(f"{below} is not there: make it first")
        windows.set("203.0.113.1", 20)
        below.mkdir()
        with cgroups.OtherProgram(below, is_alone=True):
            windows.wait_reason(f"{below}: another program is attached to it, or above it, and allows no other; "
                                "detach that program, or name another cgroup")
        windows.wait_reason("")
        cgroups.enter(below)
        assert net.connect("203.0.113.1").cwnd() == 20
        cgroups.enter(cgroup)


def test_windows_outlast_lease(net, cgroup):
    """The owner renews it each second; without that, windows end after 30 s."""
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 20)
        end = time.monotonic() + 32
        while time.monotonic() < end:
            assert net.connect("203.0.113.1").cwnd() == 20
            time.sleep(1)


def test_windows_after_chroot(net, cgroup, tmp_path):
    with Windows(net.host, cgroup) as windows:
        windows.set("203.0.113.1", 20)
        windows.follow(f"chroot {tmp_path}")
        for _ in range(2):  # a program that was detached in the one is attached in the next
            windows.later()
            assert windows.reason == ""
        assert net.connect("203.0.113.1").cwnd() == 20
        windows.set("203.0.113.2", 30)
        assert net.connect("203.0.113.2").cwnd() == 30


@pytest.mark.parametrize("n, is_alone, words", [
    (1, True, "{0}: another program is attached to it"),
    (64, False, "applier.cgroup: {0}: 64 programs are on it, the most that the kernel takes"),
    (0, False, "{0} is no directory of cgroup2")], ids=["alone", "full", "none"])
def test_a_cgroup_that_takes_no_program_is_named(net, cgroup, tmp_path, n, is_alone, words):
    where = cgroup if n else tmp_path
    with contextlib.ExitStack() as others:
        for _ in range(n):
            others.enter_context(cgroups.OtherProgram(cgroup, is_alone=is_alone))
        first = Windows(net.host, where)
        assert words.format(where) in first.line()
        first.process.wait()  # until then it has the claim of the namespace
        if is_alone:  # and for all below
            (cgroup / "below").mkdir()
            assert "another program is attached to it" in Windows(net.host, cgroup / "below").line()


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
def test_a_share_of_connections_is_held_out_by_its_cookie(net, cgroup, passive):
    arms = {"window": 40, "holdout": 10}

    def connect(n):
        return [net.connect(address, passive=passive) for address in ("203.0.113.1", "2001:db8::1") * (n // 2)]

    def drawn(connections):
        return [windows.arm(each) for each in connections]
    with Windows(net.host, cgroup, 50) as windows:
        windows.set("0.0.0.0/0", 40, cwnd_max=206)
        windows.set("::/0", 40)
        connections = connect(100)
        assert [each.cwnd() for each in connections] == [arms[arm] for arm in drawn(connections)]
        n_held_out = drawn(connections).count("holdout")
        assert 20 < n_held_out < 80
        assert (windows.counts()["given"], windows.counts()["held_out"]) == (100 - n_held_out, n_held_out)


@pytest.mark.usefixtures("large_first_windows")
def test_what_is_held_out_is_not_paced_and_has_no_receive_window(path, cgroup):
    connect, near, _ = path
    with Windows(near, cgroup, 50) as windows:
        windows.set("10.9.2.1", 40, pacing_percent=100, cwnd_max=617)
        seen = set()
        while len(seen) < 2:
            each = connect(congestion="cubic")
            wait_until(lambda: tcp_info(each.far).snd_wnd_bytes != 65535, "its window")
            arm = windows.arm(each)
            is_given = (each.cwnd() == 40, tcp_info(each.far).snd_wnd_bytes >= 500_000,
                        first_pace(near, each.near) < 1.05)
            assert is_given == (arm == "window",) * 3
            seen.add(arm)


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("holdout_percent", [0, 50])
def test_note_of_window_and_arm(net, cgroup, passive, holdout_percent):
    with Windows(net.host, cgroup, holdout_percent) as windows:
        first = net.connect("203.0.113.1", passive=passive)
        windows.set("0.0.0.0/0", 40)
        connections = [net.connect("203.0.113.1", passive=passive) for _ in range(20)]
        assert windows.opened(first.near) is None
        for connection in connections:
            noted = windows.opened(connection.near)
            assert noted["arm"] == windows.arm(connection)
            assert noted["initcwnd"] == (40 if noted["arm"] == "window" else 0)
        windows.set("0.0.0.0/0", 50)
        assert windows.opened(connections[0].near)["initcwnd"] in (40, 0)


def test_note_of_pace(path, cgroup):
    connect, near, _ = path
    with Windows(near, cgroup) as windows:
        for percent, is_paced in ((100, 1), (50, 1), (AT_ONCE, 0)):
            windows.set("10.9.2.1", 40, pacing_percent=percent)
            assert windows.opened(connect().near)["is_paced"] == is_paced


def connect_each(near, server, n, interval_s=0):
    """Sockets that the host connects, one after the other; returns them once all are established."""
    sockets = [near.socket(socket.AF_INET) for _ in range(n)]
    begin_s = time.monotonic()
    for i, client in enumerate(sockets):
        wait_until(lambda due_s=begin_s + i * interval_s: time.monotonic() >= due_s, "its turn")
        client.setblocking(False)
        client.connect_ex(("10.9.2.1", server.getsockname()[1]))
    wait_until(lambda: {tcp_info(client).state for client in sockets} == {1}, "all to be established")
    return sockets


@pytest.mark.parametrize("holdout_percent", [0, 50])
def test_note_of_connections_together(path, cgroup, holdout_percent):
    """Over a round trip of 100 ms, in a guest of more: those that are held out share the path as well."""
    _, near, far = path
    with Windows(near, cgroup, holdout_percent) as windows, far.server(backlog=300) as server, \
            contextlib.ExitStack() as stack:
        def together(*arguments):
            """What each notes; and how many opened in a round trip, on average."""
            began_s = time.monotonic()
            sockets = [stack.enter_context(each) for each in connect_each(near, server, *arguments)]
            took_s = time.monotonic() - began_s
            rtt_s = sum(tcp_info(each).rtt_us for each in sockets) / len(sockets) / 1e6
            per_round_trip = len(sockets) * rtt_s / (took_s - rtt_s)  # the last one took a round trip
            return [windows.opened(each)["together"] for each in sockets], per_round_trip
        windows.set("10.9.2.1", 40)
        assert sorted(together(6)[0]) == [1, 2, 3, 4, 5, 6]
        time.sleep(0.3)  # two round trips and more
        assert together(3, 0.3)[0] == [1, 1, 1]
        notes, per_round_trip = together(60, 0.01)
        assert 0.7 < sum(notes[-20:]) / 20 / per_round_trip < 1.6, per_round_trip
        notes, per_round_trip = together(150)
        assert max(notes) >= min(63, per_round_trip / 2), per_round_trip


def test_note_without_round_trip_time(path, cgroup):
    _, near, far = path
    with Windows(near, cgroup) as windows:
        windows.set("10.9.2.1", 40, pacing_percent=AT_ONCE)
        with accepted_without_rtt(near, far) as accepted:
            assert windows.opened(accepted)["together"] == 0


def test_note_in_full_table(net, cgroup):
    with Windows(net.host, cgroup) as windows, cgroups.Notes(windows.pid) as notes:
        windows.set("203.0.113.1", 40)
        for age, not_noted in ((0, 1), (240, 2), (300, 2)):
            notes.fill(age)
            connection = net.connect("203.0.113.1")
            assert (windows.opened(connection.near) is None) == (age < 256), age
            assert windows.quiet()["not_noted"] == not_noted
