"""The control socket of a real riptided."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any, Callable

import pytest

import riptide
from netns import Daemon, Network, wait_until, wait_window, windows


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
        assert control.fileno() > 0


def test_pause_and_hint_change_the_daemon(net: Network, daemon: Path) -> None:
    with riptide.Control(str(daemon)) as control:
        control.pause()
        assert control.status()["paused"]
        control.resume()
        assert not control.status()["paused"]
        control.hint("203.0.113.0/24", 60, cwnd_max=12)
        wait_until(lambda: windows(net.host) == {"203.0.113.7": 12}, "the hint")


def test_states_travel_both_ways(daemon: Path) -> None:
    with riptide.Control(daemon) as control, riptide.Estimator(ttl=7200) as fleet:
        assert fleet.load_bytes(control.save()).loaded == 1
        fleet.add(riptide.Sample(dst="203.0.113.99", cwnd=44))
        fleet.tick()
        state = fleet.save_bytes()
        assert control.merge(state)["loaded"] >= 1
        wait_until(lambda: {shown["dst"] for shown in control.show()}
                   == {"203.0.113.7", "203.0.113.99"}, "the destination of the state")
        assert control.load(state)["loaded"] >= 1


def test_refusals_have_the_daemons_words(daemon: Path) -> None:
    with riptide.Control(daemon) as control:
        requests: list[Callable[[], Any]] = [
            lambda: control.request("dance"), lambda: control.explain("nowhere"),
            lambda: control.show("10.0.0.1/8"), lambda: control.load(b"no state"),
            lambda: control.hint("203.0.113.7", 60), lambda: control.explain("ü\0"),
        ]
        for request in requests:
            with pytest.raises(riptide.RefusedError, match="."):
                request()
        assert control.status()["health"] == "ok"  # the connection goes on


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
