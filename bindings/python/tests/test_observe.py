# SPDX-License-Identifier: MIT
"""Observing from Python; the kernel's own account of the same connections is the judge."""

from __future__ import annotations

import errno
import gc
import select
import socket
import sys
import time
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import pytest

import riptide
from netns import DEADLINE_S, Host, Network, ss, wait_until
from riptide import Scope


@pytest.fixture
def busy(net: Network) -> Any:
    """Connections of both families, an IPv4-mapped one among them."""
    net.learned("203.0.113.7", 30)
    net.connect("203.0.113.9", mapped=True)
    net.learned("2001:db8::7", 25)
    return net


def peers(samples: Any) -> Any:
    return sorted(str(sample.dst) for sample in samples)


def test_samples_are_what_ss_says(busy: Network) -> None:
    with busy.host.entered():
        samples = riptide.observe()
    found = sorted((str(s.dst), s.cwnd) for s in samples)
    assert found == sorted(ss(busy.host))
    for sample in samples:
        assert isinstance(sample.dst, (IPv4Address, IPv6Address))
        assert sample.rtt.microseconds == sample.rtt_us > 0
        assert not sample.closed and sample.local_port and sample.remote_port
        assert sample.data_segs_out > 0 or str(sample.dst) == "203.0.113.9"


def test_columns_are_the_samples(busy: Network) -> None:
    numpy = pytest.importorskip("numpy")
    with busy.host.entered(), riptide.Observer() as observer:
        columns, samples = observer.dump_columns(), observer.dump()
    by_cookie = {sample.cookie: sample for sample in samples}
    assert len(columns["cookie"]) == len(samples) == 3
    for i, cookie in enumerate(columns["cookie"]):
        sample = by_cookie[cookie]
        number = int(columns["dst_high"][i]) << 64 | int(columns["dst_low"][i])
        is_ipv4 = columns["family"][i] == socket.AF_INET
        assert (IPv4Address if is_ipv4 else IPv6Address)(number) == sample.dst
        assert (columns["shown"][i], sample.shown) == (False, True)  # by the first one
        for name in set(columns) - {"cookie", "last_data_sent_ms", "shown"}:
            if hasattr(sample, name):
                assert columns[name][i] == getattr(sample, name), name
        assert columns.address(i) == sample.dst
    assert columns["cwnd"].dtype == numpy.uint32 and columns["closed"].dtype == numpy.bool_
    copy = columns.copy()
    assert isinstance(copy, riptide.Columns) and copy["cwnd"] is columns["cwnd"]


def test_columns_hold_every_figure_of_a_sample() -> None:
    from riptide._native import ffi

    numbers = {name for name, field in ffi.typeof("struct riptide_sample").fields
               if field.type.kind == "primitive"}
    assert {name for name, *_ in riptide._observer.COLUMNS} == {
        *numbers, "family", "dst_high", "dst_low"}


def test_columns_without_numpy_are_memoryviews(busy: Network) -> None:
    code = ("import sys; sys.modules['numpy'] = None\n"
            "import riptide; c = riptide.observe_columns()\n"
            "assert isinstance(c['cwnd'], memoryview) and c['cwnd'].format == 'I';"
            "print(sorted(c['cwnd'].tolist()))")
    said = busy.host.run(sys.executable, "-c", code).stdout
    assert said.strip() == str(sorted(cwnd for _, cwnd in ss(busy.host)))


def test_no_connections_are_empty_columns(host: Host) -> None:
    with host.entered():
        assert riptide.observe() == []
        assert {len(column) for column in riptide.observe_columns().values()} == {0}


@pytest.mark.parametrize("scope, expected", [
    (Scope(), ["2001:db8::7", "203.0.113.7", "203.0.113.9"]),
    (Scope(learn=["203.0.113.0/24"]), ["203.0.113.7", "203.0.113.9"]),
    (Scope(learn=["203.0.113.0/24"], exclude=[ip_address("203.0.113.7")]), ["203.0.113.9"]),
    (Scope(exclude="0.0.0.0/0"), ["2001:db8::7"]),
    (Scope(local_ports=[1, (2, 3)]), []),
    (Scope(remote_ports=[(1, 2)]), []),
])
def test_scope_narrows(busy: Network, scope: Any, expected: Any) -> None:
    with busy.host.entered(), riptide.Observer(scope=scope) as observer:
        assert peers(observer.dump()) == sorted(expected)


def test_one_buffer_at_a_time_in_a_loop_of_ones_own(busy: Network) -> None:
    found = []
    with busy.host.entered(), riptide.Observer() as observer:
        observer.start()
        with pytest.raises(OSError) as caught:
            observer.start()
        assert caught.value.errno == errno.EBUSY
        with pytest.raises(riptide.DoneError):
            while True:
                assert select.select([observer], [], [], DEADLINE_S)[0] == [observer]
                observer.dispatch()
                try:
                    while True:
                        found.append(observer.pop())
                except riptide.AgainError:
                    pass
        assert peers(found) == ["2001:db8::7", "203.0.113.7", "203.0.113.9"]
        assert observer.stats()["samples"] == 3 and observer.events_error is None


def heard(observer: Any) -> Any:
    observer.dispatch()
    try:
        return observer.pop()
    except riptide.AgainError:
        return None


def test_closed_connections_are_heard_of(busy: Network) -> None:
    with busy.host.entered(), riptide.Observer(destroy_events=True) as observer:
        observer.dump()
        short = busy.learned("203.0.113.8", 20)
        busy.connections.remove(short)
        short.near.close()
        short.far.close()
        sample = wait_until(lambda: heard(observer), "the end of the connection")
    assert str(sample.dst) == "203.0.113.8" and sample.closed


def test_a_closed_connection_tells_how_long_it_was_busy(busy: Network) -> None:
    with busy.host.entered(), riptide.Observer(destroy_events=True) as observer:
        observer.dump()
        slow = busy.learned("203.0.113.8", 20)
        busy.connections.remove(slow)
        slow.near.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                slow.near.send(bytes(65536))
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > 0.1, "time with a receiver that does not read")
        slow.near.setblocking(True)
        slow.near.shutdown(socket.SHUT_WR)
        while slow.far.recv(1 << 20):
            pass
        slow.far.close()
        slow.near.close()
        sample = wait_until(lambda: heard(observer), "the end of the connection")
    assert sample.closed and sample.min_rtt_us > 0 and sample.acked_bytes > sample.mss_bytes
    assert 80_000 < sample.busy_time_us < 60_000_000


def test_the_namespace_is_that_of_the_constructor(busy: Network) -> None:
    with busy.host.entered():
        observer = riptide.Observer()
    with observer:
        assert len(observer.dump()) == 3


def test_explain_is_one_look_without_history(busy: Network) -> None:
    with busy.host.entered():
        estimate = riptide.explain("203.0.113.7", policy="paper")
        cwnd = {peer: cwnd for peer, cwnd in ss(busy.host)}["203.0.113.7"]
        assert estimate.cwnd == estimate.smoothed == cwnd
        assert estimate.samples == 1
        assert riptide.explain("203.0.113.8", prefix_len4=24, policy="paper").samples == 2
        with pytest.raises(riptide.UnknownError):
            riptide.explain("203.0.113.8")
        with pytest.raises(ValueError):
            riptide.explain("nowhere")


def test_interrupted_dump_raises_what_the_handler_raised(busy: Network) -> None:
    """Python's handlers run although C waits: a dump is many short calls."""
    code = ("import riptide, signal\n"
            "signal.signal(signal.SIGALRM, lambda *_: 1 / 0)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
            "with riptide.Observer() as observer:\n"
            "    while True: observer.dump()\n")
    done = busy.host.run(sys.executable, "-c", code, check=False)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


def test_figures_outlive_their_columns(busy: Network) -> None:
    numpy = pytest.importorskip("numpy")
    with busy.host.entered():
        expected = sorted(int(cwnd) for cwnd in riptide.observe_columns()["cwnd"])
        windows = riptide.observe_columns()["cwnd"]
        others = [riptide.observe_columns() for _ in range(100)]
    gc.collect()
    assert sorted(windows.tolist()) == expected and len(others) == 100
    assert isinstance(windows, numpy.ndarray)


def test_one_network_is_a_scope(busy: Network) -> None:
    with busy.host.entered():
        assert len(riptide.observe(scope=Scope(learn=ip_network("2001:db8::/32")))) == 1
