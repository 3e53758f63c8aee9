# SPDX-License-Identifier: MIT
"""The control socket of a real riptided."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import riptide
from netns import DEADLINE_S, Daemon, Network, wait_until, wait_window, windows

DST = ip_network("203.0.113.7")


@pytest.fixture
def daemon(net: Network, tmp_path: Path) -> Iterator[Path]:
    """The socket of a daemon that has learned one destination."""
    path = tmp_path / "control"
    net.learned("203.0.113.7", 30)
    with net.host.entered(), Daemon(net.host, "--control", path):
        wait_window(net.host, "203.0.113.7")
        yield path


def test_status_show_and_explain(net: Network, daemon: Path) -> None:
    control = riptide.Control(daemon)
    assert control.status()["health"] == "ok"
    (shown,) = control.show()
    assert (shown["dst"], shown["reason"]) == (DST, None)
    assert {"203.0.113.7": shown["window"]} == windows(net.host)
    assert control.show("2001:db8::/32") == []
    explained = control.explain(DST)
    assert explained["window"]["cwnd"] == shown["window"] and explained["reason"] is None
    assert "no connection is held out" in control.verdict()["reason"]


def test_pause_and_hint_change_the_daemon(net: Network, daemon: Path) -> None:
    control = riptide.Control(str(daemon), timeout=1e9)
    control.pause()
    assert control.status()["paused"]
    control.resume()
    assert not control.status()["paused"]
    control.hint("203.0.113.0/24", 60, cwnd_max=12)
    wait_until(lambda: windows(net.host) == {"203.0.113.7": 12}, "the hint")
    (hint,) = control.hints()
    assert (hint["dst"], hint["cwnd_max"], hint["off"]) == (ip_network("203.0.113.0/24"), 12, False)
    assert 0 < hint["for_ms"] <= 60_000
    control.remove_hint("203.0.113.0/24")
    assert control.hints() == []
    wait_until(lambda: windows(net.host) != {"203.0.113.7": 12}, "the end of the hint")
    control.hint(DST, 60, off=True)
    assert control.hints()[0]["off"]


def test_refusals_have_the_daemons_words(daemon: Path) -> None:
    control = riptide.Control(daemon)
    requests: list[Callable[[], Any]] = [
        lambda: control.request("dance"), lambda: control.explain("nowhere"),
        lambda: control.show("10.0.0.1/8"), lambda: control.show(""),
        lambda: control.hint("203.0.113.7", 0, off=True), lambda: control.explain("ü\0"),
        lambda: control.hint("203.0.113.7", 1), lambda: control.hint("203.0.113.7", 1, cwnd_max=-1),
        lambda: control.request("explain", dst="x" * (4096 - 35)),
    ]
    for request in requests:
        with pytest.raises(riptide.RefusedError, match="."):
            request()


BAD: list[tuple[str, type[Exception], Callable[[Any], Any]]] = [
    ("prefix", TypeError, lambda control: control.show(7)),
    ("dst", TypeError, lambda control: control.explain(None)),
    ("duration", OverflowError, lambda control: control.hint("10.0.0.1", 1e300, off=True)),
    ("request: 4097 bytes", ValueError,
     lambda control: control.request("explain", dst="x" * (4097 - 34))),
    ("request", TypeError, lambda control: control.request("status", request="pause")),
    ("JSON", ValueError, lambda control: control.request("show", prefix=float("nan"))),
    ("name", TypeError, lambda control: control.request(7)),
    ("path", ValueError, lambda _: riptide.Control("/run/a\0b")),
    ("path", TypeError, lambda _: riptide.Control(7)),  # type: ignore[arg-type]
    ("timeout", ValueError, lambda _: riptide.Control(timeout=0)),
    ("timeout", TypeError, lambda _: riptide.Control(timeout=None)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("name, error, call", BAD)
def test_bad_values_are_told_before_anything_is_asked(
        name: str, error: type[Exception], call: Callable[[Any], Any]) -> None:
    with pytest.raises(error, match=name):
        call(riptide.Control("/nothing/is/here"))


def test_no_daemon(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        riptide.Control(tmp_path / "none").status()


@contextlib.contextmanager
def serving(path: Path, answer: Callable[[socket.socket, bytes], None]) -> Iterator[riptide.Control]:
    """A daemon that answers each request thus, and a client of it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        is_over = threading.Event()

        def run() -> None:
            while not is_over.is_set():
                with listener.accept()[0] as client, contextlib.suppress(OSError):
                    client.settimeout(DEADLINE_S)
                    if line := client.recv(1 << 16):
                        answer(client, line)

        daemon = threading.Thread(target=run)
        daemon.start()
        try:
            yield riptide.Control(path, timeout=0.3)
        finally:
            is_over.set()
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(str(path))
            daemon.join()


@pytest.mark.parametrize("answer, error", [
    (b'{"ok":tr', ConnectionError), (b"", ConnectionError), (b"hello\n", riptide.RefusedError),
    (b"[]\n", riptide.RefusedError), (b"{}\n", riptide.RefusedError)])
def test_an_answer_that_is_none(tmp_path: Path, answer: bytes, error: type[Exception]) -> None:
    with serving(tmp_path / "control", lambda client, _: client.sendall(answer)) as control:
        with pytest.raises(error):
            control.status()


def test_timeout_is_that_of_the_whole_answer(tmp_path: Path) -> None:
    """A daemon that sends a little again and again does not delay a caller for longer."""
    def drip(client: socket.socket, _: bytes) -> None:
        client.settimeout(0.05)
        end = time.monotonic() + 2 * DEADLINE_S
        while time.monotonic() < end:
            client.sendall(b" ")
            with contextlib.suppress(TimeoutError):
                if client.recv(1) == b"":
                    return

    with serving(tmp_path / "control", drip) as control:
        began = time.monotonic()
        with pytest.raises(TimeoutError, match="in time"):
            control.status()
        assert 0.3 <= time.monotonic() - began < DEADLINE_S
