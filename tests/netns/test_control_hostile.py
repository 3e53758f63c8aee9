# SPDX-License-Identifier: MIT
"""Hostile and broken clients: rounds are on time, and the daemon's memory does not grow."""

import contextlib
import json
import os
import socket
import statistics
import threading
import time

import pytest
from control import PATH, ask, connect, count_fds, many, processor_s, read_line, resident_kb, status, write_state
from netns import AS_NOBODY, DEADLINE_S, IS_SANITIZED, RIPTIDE, RIPTIDED, Daemon, wait_until, windows

# How late a round may be here: more than a shared machine makes it, less than a daemon
# that waits for a client. The figures are printed.
LATE_MS = 5000
MIN_ROUNDS = 3
GROWTH_KB = 2048
NOBODY = 65534


class Watched(Daemon):
    """A daemon whose rounds and memory are measured during a test."""

    def __enter__(self):
        super().__enter__()
        wait_until(lambda: status()["round"], "a round")
        ask({"request": "show"})
        return self

    @contextlib.contextmanager
    def unharmed(self, what, seconds=1.0):
        """During the block, and `seconds` after it, rounds continue and memory does not grow."""
        late, is_over = {}, threading.Event()
        before, fds = resident_kb(self.pid), count_fds(self.pid)
        begin = time.monotonic()
        asking = threading.Thread(target=self.note_rounds, args=(late, is_over))
        asking.start()
        try:
            yield
            is_over.wait(seconds)  # effects may show late
            wait_until(lambda: len(late) > MIN_ROUNDS, f"{MIN_ROUNDS} rounds")
        finally:
            is_over.set()
            asking.join()
        elapsed = time.monotonic() - begin
        grown = resident_kb(self.pid) - before
        n_rounds = max(late) - min(late)
        print(f"{what}: {n_rounds} rounds in {elapsed:.1f} s, the latest {max(late.values()):.2f} "
              f"ms late, {grown} kB more resident")
        assert count_fds(self.pid) <= fds + 65
        if IS_SANITIZED:  # a sanitizer is slow, and keeps freed memory
            return
        assert max(late.values()) < LATE_MS
        assert grown < GROWTH_KB

    @staticmethod
    def note_rounds(late, is_over):
        """How late each round was: {number: ms}. While the other thread is another user, this one
        may be turned away."""
        while True:
            with contextlib.suppress(ValueError, KeyError, OSError):
                found = ask({"request": "status"})["round"]
                late[found["number"]] = found["late_ms"]
            if is_over.wait(0.02):
                break


@pytest.fixture
def watched(net):
    with Watched(net.host, "--log-level", "warning") as daemon:
        yield daemon


@pytest.fixture
def full(net):
    """A function that starts one with 16,384 destinations, all in the kernel."""
    @contextlib.contextmanager
    def start(*words, **options):
        write_state("/run/state", many(16384))
        with Watched(net.host, "--log-level", "warning", "--state", "/run/state", *words, **options) as daemon:
            wait_until(lambda: status()["routes"] == 16384, "all routes")
            yield daemon
    return start


def connect_as(uid):
    os.seteuid(uid)
    try:
        return connect()
    finally:
        os.seteuid(0)


@contextlib.contextmanager
def swarm(n, send, of_one=8):
    """n clients of many users that send something and read nothing; the daemon may refuse some."""
    with contextlib.ExitStack() as clients:
        for i in range(n):
            client = clients.enter_context(connect_as(NOBODY - i // of_one))
            client.setblocking(False)
            with contextlib.suppress(OSError):
                client.sendall(send)
        yield


def test_status_of_many_routes_that_are_not_as_they_should_be_costs_no_walk_each_time(net):
    """A walk over 16,384 destinations takes milliseconds, a status without one a tenth of one."""
    net.host.ip("route", "add", "default", "via", "10.0.0.1", "table", 99)
    net.host.ip("rule", "add", "lookup", 99, "pref", 100)
    write_state("/run/state", many(16384))
    options = ("--apply", "routes", "--log-level", "warning", "--state", "/run/state")
    with Daemon(net.host, *options, interval="1s") as daemon:
        wait_until(lambda: status()["left_alone"] == 16384, "all left alone")
        before_s = processor_s(daemon.pid)
        for _ in range(300):
            assert "does not copy 16384 of 16384 routes" in status()["reason"]
        assert (processor_s(daemon.pid) - before_s) / 300 < 0.002


def test_200_clients_that_never_read(net, full):
    with full() as daemon:
        before = count_fds(daemon.pid)
        for send in (b"", b'{"request":"show"}\n', b'{"request":"show"}\n' * 200, b'{"request":"status"}\n' * 200,
                     b'{"request":', b"garbage\n" * 500, b"\0" * 4096, b"[" * 4095 + b"\n", bytes(range(256)) * 100):
            with swarm(200, send):  # once before measuring, as memory is kept for reuse
                pass
            with contextlib.ExitStack() as clients, daemon.unharmed(f"200 clients, {send[:20]!r}"):
                clients.enter_context(swarm(200, send))
                assert ask({"request": "pause"})["ok"] and ask({"request": "resume"})["ok"]  # root is served at once
            wait_until(lambda: count_fds(daemon.pid) <= before, "they are gone")
        assert len(windows(net.host)) == 16384


@pytest.mark.parametrize("uid", [NOBODY, 0], ids=["nobody", "root"])
def test_a_gigabyte_without_a_newline_is_not_kept(watched, uid):
    block = b"x" * (1 << 20)
    with watched.unharmed("1,024 MiB without a newline"):
        for _ in range(1024):
            with connect_as(uid) as client, pytest.raises((BrokenPipeError, ConnectionResetError)):
                client.sendall(block)


def test_one_line_is_answered_and_then_is_the_end(watched):
    with connect_as(NOBODY) as client:
        client.sendall(b"x" * 4096)
        assert json.loads(read_line(client)) == {
            "ok": False, "error": "a request is one line of at most 4096 bytes, sent at once"}
        assert client.recv(1) == b""
    longest = json.dumps({"request": "status"}).encode().ljust(4095)
    assert ask(longest)["ok"]
    with connect() as client:
        client.sendall(b'{"request":"show"}\n')
        client.shutdown(socket.SHUT_WR)
        assert json.loads(read_line(client))["routes"] == []
        assert client.recv(1) == b""
    with connect() as client:
        client.sendall(b'{"request":"status"}')
        assert not json.loads(read_line(client))["ok"]


def as_user(uid, script):
    """A process of that user; `path` and `ask` are its own."""
    head = f"""
import json, os, socket
os.setgroups([]); os.setgid(65534); os.setuid({uid})
path = {PATH!r}
def ask(name):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout({DEADLINE_S})
        client.connect(path)
        client.sendall(json.dumps({{"request": name}}).encode() + bytes([10]))
        return json.loads(client.makefile().readline() or "{{}}")
"""
    return ("/usr/bin/python3", "-c", head + script)


def test_the_places_of_one_user_do_not_shut_out_another(net, watched):
    def ask_as_nobody():
        return net.host.run(*AS_NOBODY, RIPTIDE, "status", check=False)

    with swarm(48, b"", of_one=48):
        done = wait_until(lambda: (done := ask_as_nobody()).returncode and done, "all places of that user")
        assert (done.returncode, done.stderr) == (1, "riptide: status: too many clients; try again\n")
        net.host.run(*as_user(65533, 'assert ask("status")["ok"]'))
        net.host.run(RIPTIDE, "pause")
        net.host.run(RIPTIDE, "resume")
    wait_until(lambda: ask_as_nobody().returncode == 0, "they are gone")


@contextlib.contextmanager
def four(net, *names):
    """Four processes of one user that make these requests without end, for the time of a `with`."""
    script = f"""
while True:
    for name in {names}:
        try:
            ask(name)
        except (OSError, ValueError):
            pass
"""
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(net.host.running(*as_user(NOBODY, script)))
        yield


@pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer is slow")
def test_four_that_ask_without_end_take_a_twentieth_of_a_core(net, full):
    with full(interval="10s") as daemon, contextlib.ExitStack() as stack:
        before = count_fds(daemon.pid)
        stack.enter_context(four(net, "show", "metrics", "verdict", "status", "history"))
        wait_until(lambda: count_fds(daemon.pid) > before + 2, "the flood")  # rounds themselves take next to nothing
        for n in range(60):
            if n == 20:  # what they may take in advance is spent
                begin = processor_s(daemon.pid), time.monotonic()
            net.host.run(*as_user(65533, 'assert ask("verdict")["ok"]'))
            assert ask({"request": "hints"})["ok"]
        share = (processor_s(daemon.pid) - begin[0]) / (time.monotonic() - begin[1])
    print(f"processor {share:.3f}")
    assert share < 0.05


@pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer is slow")
def test_a_member_of_the_group_delays_no_round(net, full):
    first = ("nice", "-n", "-20", RIPTIDED)  # what else this machine does delays no round either
    requests = "show", "pause", "resume", "status"
    with full("--control-group", str(NOBODY), interval="1s", command=first) as daemon, four(net, *requests):
        before = resident_kb(daemon.pid)
        late_ms = {}

        def is_on_time():
            """They ask all the time: what delays one round delays all; what else the machine does passes."""
            found = status()["round"]
            late_ms[found["number"]] = found["late_ms"]
            return len(late_ms) > 7 and statistics.median([*late_ms.values()][-7:]) < 50
        wait_until(is_on_time, "rounds on time")
        assert resident_kb(daemon.pid) - before < 1024


def test_fds_that_come_along_are_closed(watched):
    before = count_fds(watched.pid)
    with open("/dev/null") as null:
        for _ in range(50):
            with connect() as client:
                socket.send_fds(client, [b'{"request":"status"}\n'], [null.fileno()] * 5)
                assert json.loads(read_line(client))["ok"]
        assert count_fds(watched.pid) <= before + 2
    wait_until(lambda: count_fds(watched.pid) <= before, "all closed")  # fewer if an early client had stayed
