# SPDX-License-Identifier: MIT
"""Observing from Python; the kernel's own account of the same connections is the judge."""

from __future__ import annotations

import select
import sys
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

import riptide
from netns import DEADLINE_S, Host, Network, ss, wait_until
from riptide import Scope


@pytest.fixture
def busy(net: Network) -> Network:
    """Connections of both families, an IPv4-mapped one among them."""
    net.learned("203.0.113.7", 30)
    net.connect("203.0.113.9", mapped=True)
    net.learned("2001:db8::7", 25)
    return net


def peers(samples: list[riptide.Sample]) -> list[str]:
    return sorted(str(sample.dst.network_address) for sample in samples)


ALL = ["2001:db8::7", "203.0.113.7", "203.0.113.9"]


def test_samples_are_what_ss_says(busy: Network) -> None:
    with busy.host.entered():
        samples = riptide.observe()
    found = sorted((str(sample.dst.network_address), sample.cwnd) for sample in samples)
    assert found == sorted(ss(busy.host))
    for sample in samples:
        assert sample.dst.prefixlen == sample.dst.max_prefixlen
        assert 0 < sample.rtt < DEADLINE_S and not sample.closed
        assert sample.local_port and sample.remote_port
        assert sample.data_segs_out > 0 or sample.dst == ip_network("203.0.113.9")


def test_columns_are_the_samples(busy: Network) -> None:
    numpy = pytest.importorskip("numpy")
    with busy.host.entered():
        columns, samples = riptide.observe_columns(), riptide.observe()
    assert set(columns) == set(riptide.Sample._fields)
    by_cookie = {sample.cookie: sample for sample in samples}
    assert len(by_cookie) == 3
    for i, cookie in enumerate(columns["cookie"]):
        for name in set(columns) - {"last_data_sent"}:
            assert columns[name][i] == getattr(by_cookie[cookie], name), name
    assert [column.shape for column in columns.values()] == [(3,)] * len(columns)
    assert (columns["cwnd"].dtype, columns["closed"].dtype, columns["rtt"].dtype) == (
        numpy.uint32, numpy.bool_, numpy.float64)


def test_no_connections(host: Host) -> None:
    pytest.importorskip("numpy")
    with host.entered():
        assert riptide.observe() == []
        assert {column.shape for column in riptide.observe_columns().values()} == {(0,)}


@pytest.mark.parametrize("scope, expected", [
    (Scope(), ALL),
    (Scope(learn=["203.0.113.0/24"]), ALL[1:]),
    (Scope(learn=["203.0.113.0/24"], exclude=[ip_address("203.0.113.7")]), ALL[2:]),
    (Scope(learn=ip_network("2001:db8::/32")), ALL[:1]),
    (Scope(exclude="0.0.0.0/0"), ALL[:1]),
    (Scope(local_ports=[1, (2, 3)]), []),
    (Scope(remote_ports=[(1, 2)]), []),
])
def test_scope_narrows(busy: Network, scope: Scope, expected: list[str]) -> None:
    with busy.host.entered(), riptide.Observer(scope=scope) as observer:
        assert peers(observer.dump()) == expected


def test_one_buffer_at_a_time_in_a_loop_of_ones_own(busy: Network) -> None:
    found: list[riptide.Sample] = []
    with busy.host.entered(), riptide.Observer() as observer:
        assert not observer.dispatch()
        observer.start()
        with pytest.raises(OSError, match="busy"):
            observer.start()
        assert observer.dispatch()  # there is more: the end of the dump
        found += observer.pop_all()
        with pytest.raises(riptide.DoneError):
            while True:
                assert select.select([observer], [], [], DEADLINE_S)[0] == [observer]
                observer.dispatch()
                for sample in observer.pop_all():
                    found.append(sample)
        assert peers(found) == ALL
        stats = observer.stats()
        assert (stats.dumps, stats.events_error) == (1, 0)


def heard(observer: riptide.Observer) -> list[riptide.Sample]:
    observer.dispatch()
    return list(observer.pop_all())


def test_closed_connections_are_heard_of(busy: Network) -> None:
    with busy.host.entered(), riptide.Observer(destroy_events=True) as observer:
        observer.dump()
        short = busy.learned("203.0.113.8", 20)
        busy.connections.remove(short)
        short.near.close()
        short.far.close()
        (sample,) = wait_until(lambda: heard(observer), "the end of the connection")
    assert sample.dst == ip_network("203.0.113.8") and sample.closed
    assert 0 < sample.min_rtt < DEADLINE_S and sample.acked_bytes > sample.mss_bytes


def test_a_handler_raises_in_the_middle_of_a_dump(busy: Network) -> None:
    """Python's handlers run although C waits: a dump is many short calls."""
    code = ("import riptide, signal\n"
            "signal.signal(signal.SIGALRM, lambda *_: 1 / 0)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
            "with riptide.Observer() as observer:\n"
            "    while True: observer.dump()\n")
    done = busy.host.run(sys.executable, "-c", code, check=False)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
