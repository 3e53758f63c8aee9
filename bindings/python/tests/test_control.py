# SPDX-License-Identifier: MIT
"""The control socket of a real riptided."""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import riptide
from netns import DEADLINE_S, Daemon, Network, wait_until, wait_window, windows
from riptide import Hint


@pytest.fixture
def daemon(net: Network, tmp_path: Path) -> Any:
    """A daemon that has learned one destination, and the path of its socket."""
    path = tmp_path / "control"
    net.learned("203.0.113.7", 30)
    with net.host.entered(), Daemon(net.host, "--control", path):
        wait_window(net.host, "203.0.113.7")
        yield path


def test_status_show_and_explain(net: Network, daemon: Path) -> None:
    with riptide.Control(daemon) as control:
        assert control.status()["health"] == "ok"
        (shown,) = control.show()
        assert shown["dst"] == "203.0.113.7" and shown["state"] == "applied"
        assert {"203.0.113.7": shown["initcwnd"]} == windows(net.host)
        assert control.show("2001:db8::/32") == []
        explained = control.explain("203.0.113.7")
        assert explained["window"]["cwnd"] == shown["cwnd"] and explained["in_scope"]
        verdict = control.verdict()
        assert verdict["pooled"] is None and "no connection is held out" in verdict["reason"]
        assert control.fileno() > 0


def test_pause_and_hint_change_the_daemon(net: Network, daemon: Path) -> None:
    with riptide.Control(str(daemon)) as control:
        control.pause()
        assert control.status()["paused"]
        control.resume()
        assert not control.status()["paused"]
        control.hint("203.0.113.0/24", 60, cwnd_max=12)
        wait_until(lambda: windows(net.host) == {"203.0.113.7": 12}, "the hint")
        (hint,) = control.hints()
        assert (hint["dst"], hint["cwnd_max"], hint["off"]) == ("203.0.113.0/24", 12, False)
        control.remove_hint("203.0.113.0/24")
        assert control.hints() == []
        wait_until(lambda: windows(net.host) != {"203.0.113.7": 12}, "the end of the hint")


def test_refusals_have_the_daemons_words(daemon: Path) -> None:
    with riptide.Control(daemon) as control:
        requests: list[Callable[[], Any]] = [
            lambda: control.request("dance"), lambda: control.explain("nowhere"),
            lambda: control.show("10.0.0.1/8"),
            lambda: control.hint("203.0.113.7", 0, off=True), lambda: control.explain("ü\0"),
            lambda: control.request("explain", dst="x" * (4096 - 35)),
        ]
        for request in requests:
            with pytest.raises(riptide.RefusedError, match="."):
                request()
        assert control.status()["health"] == "ok"  # the connection goes on


def refused_hints() -> Iterator[tuple[str, dict[str, Any], Exception]]:
    """What a hint may not be, and what an estimator says of it."""
    bad: list[tuple[str, dict[str, Any]]] = [
        ("dst", {"dst": "10.0.0.1/8"}), ("dst", {"dst": "x" * 5000}), ("cwnd_max", {}),
        ("cwnd_max", {"cwnd_max": 70000}), ("cwnd_max", {"cwnd_max": -1}),
        ("cwnd_max", {"cwnd_max": 1 << 32}), ("cwnd_max", {"cwnd_max": 1.5}),
        ("off", {"off": "x"})]
    with riptide.Estimator() as estimator:
        for name, given in bad:
            arguments: dict[str, Any] = {"dst": "10.0.0.1", **given}
            with pytest.raises((OSError, TypeError, ValueError, OverflowError), match=name) as told:
                estimator.set_hint(Hint(until_ns=1, **arguments))
            yield name, arguments, told.value


def test_bad_values_are_told_before_anything_is_asked(daemon: Path) -> None:
    with riptide.Control(daemon) as control:
        bad: list[tuple[str, Any, Callable[[], Any]]] = [
            ("prefix", TypeError, lambda: control.show(7)),  # type: ignore[arg-type]
            ("dst", TypeError, lambda: control.explain(None)),  # type: ignore[arg-type]
            ("dst", TypeError, lambda: control.hint(b"x", 1)),  # type: ignore[arg-type]
            ("duration", ValueError, lambda: control.hint("10.0.0.1", -1)),
            ("duration", OverflowError, lambda: control.hint("10.0.0.1", 1e300, off=True)),
            ("cwnd_max", TypeError,
             lambda: control.hint("10.0.0.1", 1, cwnd_max="20")),  # type: ignore[arg-type]
            *((name, type(told), partial(control.hint, duration=1, **arguments))
              for name, arguments, told in refused_hints()),
            ("request: 4097 bytes", ValueError,
             lambda: control.request("explain", dst="x" * (4097 - 34))),
            ("request", TypeError, lambda: control.request("status", request="pause")),
            ("JSON", ValueError, lambda: control.request("show", prefix=float("nan"))),
            ("name", TypeError, lambda: control.request(7)),  # type: ignore[arg-type]
            ("JSON", TypeError, lambda: control.request("status", at=object())),
            ("path", ValueError, lambda: riptide.Control("/run/a\0b")),
            ("path", TypeError, lambda: riptide.Control(7)),  # type: ignore[arg-type]
            ("timeout", ValueError, lambda: riptide.Control(daemon, timeout=0)),
            ("timeout", TypeError, lambda: riptide.Control(daemon, None)),  # type: ignore[arg-type]
        ]
        for name, error, call in bad:
            with pytest.raises(error, match=name):
                call()
        assert control.show(prefix="203.0.113.0/24") == control.show() != []
        with pytest.raises(riptide.RefusedError):
            control.show("")  # no prefix, and not all of them
        assert control.status()["health"] == "ok"
    with riptide.Control(daemon, timeout=1e9) as patient:
        assert patient.status()["paused"] is False


def test_no_daemon(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        riptide.Control(tmp_path / "none")
    with pytest.raises(OSError):
        riptide.Control("x" * 200)
    with pytest.raises(ValueError):
        riptide.Control(tmp_path, timeout=-1)


def serve(path: Any, answer: Any) -> Any:
    """A daemon that says one thing to one client."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def run() -> Any:
        with listener, listener.accept()[0] as client:
            client.recv(1 << 16)
            client.sendall(answer)
            if not answer:
                client.recv(1)

    threading.Thread(target=run, daemon=True).start()


def test_daemon_that_ends_or_says_nothing(tmp_path: Path) -> None:
    serve(tmp_path / "ends", b'{"ok":tr')
    with riptide.Control(tmp_path / "ends") as control, pytest.raises(ConnectionError):
        control.status()
    serve(tmp_path / "silent", b"")
    with riptide.Control(tmp_path / "silent", timeout=0.05) as late:
        with pytest.raises(TimeoutError):
            late.status()
        with pytest.raises(ValueError, match="closed"):  # the answer would be the one of before
            late.status()
    for name, answer in (("text", b"hello\n"), ("list", b"[]\n"), ("nothing", b"{}\n")):
        serve(tmp_path / name, answer)
        with riptide.Control(tmp_path / name) as control, pytest.raises(riptide.RefusedError):
            control.status()


def closes(client: socket.socket) -> None:
    """Ends an idle connection, as riptided does after 30 s."""


def closes_unread(client: socket.socket) -> None:
    """Ends it while a request arrives, which is not read."""
    client.recv(1, socket.MSG_PEEK)


def closes_within(client: socket.socket) -> None:
    """Ends it in the middle of a request."""
    client.recv(9)
    client.recv(1, socket.MSG_PEEK)


@pytest.mark.parametrize("ends, n", [(closes, 1), (closes_unread, 1), (closes_within, 4000)])
def test_a_request_that_was_not_read_is_sent_again(tmp_path: Path, ends: Any, n: int) -> None:
    asked, is_closed = [], threading.Event()
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as daemon:
        listener.bind(str(tmp_path / "control"))
        listener.listen()

        def run() -> None:
            with listener.accept()[0] as client:
                ends(client)
            is_closed.set()
            with listener.accept()[0] as client, client.makefile("rwb") as lines:
                for line in lines:
                    asked.append(json.loads(line)["dst"])
                    lines.write(b'{"ok":true}\n')
                    lines.flush()

        listener.settimeout(DEADLINE_S)
        served = daemon.submit(run)
        with riptide.Control(tmp_path / "control") as control:
            fd = control.fileno()
            assert ends is not closes or is_closed.wait(DEADLINE_S)
            for dst in "a" * n, "b":
                control.request("explain", dst=dst)
            assert control.fileno() == fd
        served.result()
        assert asked == ["a" * n, "b"]


def test_a_request_that_was_read_is_not_sent_again(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as daemon:
        listener.bind(str(tmp_path / "control"))
        listener.listen()

        def run() -> None:
            with listener.accept()[0] as client:
                client.recv(1 << 16)

        served = daemon.submit(run)
        with riptide.Control(tmp_path / "control") as control:
            with pytest.raises(ConnectionResetError, match="before the end of its answer"):
                control.pause()
        served.result()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has connected again
            listener.accept()


def test_timeout_is_that_of_the_whole_answer(tmp_path: Path) -> None:
    """A daemon that sends a little again and again does not delay a caller for longer."""
    listener, is_over = socket.socket(socket.AF_UNIX), threading.Event()
    listener.bind(str(tmp_path / "control"))
    listener.listen()

    def drip() -> None:
        with listener, listener.accept()[0] as client:
            end = time.monotonic() + 2 * DEADLINE_S
            while not is_over.wait(0.05) and time.monotonic() < end:
                client.sendall(b" ")

    daemon = threading.Thread(target=drip)
    daemon.start()
    with riptide.Control(tmp_path / "control", timeout=0.3) as control:
        began = time.monotonic()
        with pytest.raises(TimeoutError, match="in time"):
            control.status()
        assert 0.3 <= time.monotonic() - began < DEADLINE_S
        is_over.set()
    daemon.join()
