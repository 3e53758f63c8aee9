# SPDX-License-Identifier: MIT
"""Hostile and broken clients: rounds are on time, and the daemon's memory does not grow."""

import contextlib
import json
import os
import socket
import threading
import time

import pytest
from control import (PATH, ask, connect, count_fds, many, read_line, resident_kb, status,
                     write_state)
from netns import AS_NOBODY, IS_SANITIZED, RIPTIDE, Daemon, wait_until, windows

# How late a round may be here: more than a shared machine makes it, less than a daemon
# that waits for a client. The figures are printed.
LATE_MS = 5000
MIN_ROUNDS = 3
GROWTH_KB = 2048


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
        with connect() as client:  # before others occupy all places
            self.ask_round(client)
            before, fds = resident_kb(self.pid), count_fds(self.pid)
            begin = time.monotonic()
            asking = threading.Thread(target=self.note_rounds, args=(client, late, is_over))
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

    def note_rounds(self, client, late, is_over):
        """How late each round was: {number: ms}."""
        while True:
            found = self.ask_round(client)
            late[found["number"]] = found["late_ms"]
            if is_over.wait(0.02):
                break

    @staticmethod
    def ask_round(client):
        client.sendall(b'{"request":"status"}\n')
        return json.loads(read_line(client))["round"]


@pytest.fixture
def watched(net):
    with Watched(net.host, "--log-level", "warning") as daemon:
        yield daemon


@pytest.fixture
def full(net):
    """One with 16,384 destinations, all in the kernel."""
    write_state("/run/state", many(16384))
    with Watched(net.host, "--log-level", "warning", "--state", "/run/state") as daemon:
        wait_until(lambda: status()["routes"] == 16384, "all routes")
        yield daemon


def swarm(n, send):
    """Connects n clients that send something and read nothing; the daemon may refuse some."""
    clients = []
    for _ in range(n):
        client = socket.socket(socket.AF_UNIX)
        client.connect(PATH)
        client.setblocking(False)
        with contextlib.suppress(OSError):
            client.sendall(send)
        clients.append(client)
    return clients


def close(clients):
    for client in clients:
        client.close()


@pytest.mark.parametrize("send", [
    b"", b'{"request":"show"}\n', b'{"request":"show"}\n' * 200, b'{"request":"status"}\n' * 200,
    b'{"request":', b"garbage\n" * 500, b"\0" * 4096, b"[" * 4095 + b"\n", bytes(range(256)) * 100,
], ids=["nothing", "one request", "requests", "status", "half a line", "garbage", "zeros", "depth",
        "bytes"])
def test_200_clients_that_never_read(net, full, send):
    close(swarm(200, send))  # once before measuring, as memory is kept for reuse
    with full.unharmed(f"200 clients, {send[:20]!r}"):
        clients = swarm(200, send)
    assert full.is_running()
    close(clients)
    wait_until(lambda: status()["clients"] == 1, "they are gone")
    assert len(windows(net.host)) == 16384


@contextlib.contextmanager
def connect_as_nobody():
    os.seteuid(65534)
    try:
        client = connect()
    finally:
        os.seteuid(0)
    with client:
        yield client


@pytest.mark.parametrize("as_whom", [connect_as_nobody, connect], ids=["nobody", "root"])
def test_a_gigabyte_without_a_newline_is_not_kept(watched, as_whom):
    block = b"x" * (1 << 20)
    with watched.unharmed("1,024 MiB without a newline"):
        for _ in range(1024):
            with as_whom() as client, pytest.raises((BrokenPipeError, ConnectionResetError)):
                client.sendall(block)


def test_lines_are_answered_in_turn_as_they_are_whole(watched):
    with connect_as_nobody() as client:
        client.sendall(b"x" * 4096)
        assert json.loads(read_line(client)) == {
            "ok": False, "error": "the line is too long: at most 4096 bytes"}
        assert client.recv(1) == b""
    longest = json.dumps({"request": "status"}).encode().ljust(4095)
    assert ask(longest)["ok"]
    with connect() as client:
        client.sendall(b'{"request":"status"}\n{"request":"nothing"}\n{"request":"sho')
        answers = client.makefile("rb")
        first, second = json.loads(answers.readline()), json.loads(answers.readline())
        client.sendall(b'w"}\n')
        client.shutdown(socket.SHUT_WR)
        assert first["ok"] and not second["ok"]
        assert json.loads(answers.readline())["routes"] == []
        assert answers.read() == b""
    with connect() as client:
        client.sendall(b'{"request":"status"}')
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""


def test_connecting_and_leaving_as_fast_as_one_can(watched):
    with watched.unharmed("2,000 clients that come and go"):
        for _ in range(2000):
            client = socket.socket(socket.AF_UNIX)
            client.connect(PATH)
            client.close()
    wait_until(lambda: status()["clients"] == 1, "they are gone")


def test_all_destinations_come_whole_in_pages(net, full):
    found, page = [], {"next": 0}
    with connect() as client:
        while page["next"] is not None:
            client.sendall(json.dumps({"request": "show", "from": page["next"]}).encode() + b"\n")
            page = json.loads(read_line(client))
            assert len(page["routes"]) <= 256
            found += page["routes"]
        assert len({row.split("\t")[0] for row in found}) == len(found) == 16384
        assert {row.split("\t")[1] for row in found} == {"applied"}
        text = json.loads(net.host.run(RIPTIDE, "show", "--json").stdout)
        assert len(text["routes"]) == 16384


def test_others_cannot_take_the_place_of_who_may_change_things(net, watched):
    """Clients without rights occupy all places open to them."""
    holder = net.host.start(*AS_NOBODY, "/usr/bin/python3", "-c", f"""
import socket, time
clients = [socket.socket(socket.AF_UNIX) for _ in range(100)]
for client in clients:
    client.connect({PATH!r})
time.sleep(60)
""")
    wait_until(lambda: status()["clients"] == 49, "all places taken")
    done = net.host.run(*AS_NOBODY, RIPTIDE, "status", check=False)
    assert done.returncode == 1
    assert done.stderr == "riptide: status: too many clients; try again\n"
    net.host.run(RIPTIDE, "pause")
    net.host.run(RIPTIDE, "resume")
    holder.kill()
    holder.wait()
    wait_until(lambda: status()["clients"] == 1, "they are gone")
    net.host.run(*AS_NOBODY, RIPTIDE, "status")


def test_fds_that_come_along_are_closed(watched):
    before = count_fds(watched.pid)
    with connect() as client, open("/dev/null") as null:
        for _ in range(50):
            socket.send_fds(client, [b'{"request":'], [null.fileno()] * 5)
            socket.send_fds(client, [b'"status"}\n'], [null.fileno()])
            assert json.loads(read_line(client))["ok"]
        client.sendall(b"x")
        assert count_fds(watched.pid) <= before + 2
    wait_until(lambda: count_fds(watched.pid) <= before, "all closed")  # fewer if an early client had stayed
