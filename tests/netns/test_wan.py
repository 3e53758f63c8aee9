# SPDX-License-Identifier: MIT
"""The WAN in a box (lab/wan) does to real packets what its options say.

Runs as root inside a sandbox with a network namespace and a /run/netns of its own.
"""
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

import pytest
import wanbox
from netns import REPOSITORY, run
from waiting import DEADLINE_S, stopped, wait_until

ADDRESSES = {
    "a": ["10.9.1.1/24", "fd09:1::1/64"],
    "b": ["10.9.2.1/24", "10.9.2.200/24", "fd09:2::1/64"],
    "c": ["10.9.3.1/24", "fd09:3::1/64"],
}
UDP_PORT = 4000
SO_RCVBUFFORCE = 33
IP_AND_UDP_BYTES = 28


@pytest.fixture
def wan():
    """Makes a WAN between three new hosts, so that no late packet of another test arrives."""
    for netns in ADDRESSES:
        wanbox.ip("netns", "add", netns)
        wanbox.ip("-n", netns, "link", "set", "lo", "up")
    yield lambda *paths, **links: wanbox.Wan(ADDRESSES, paths, links)
    for netns in ADDRESSES:
        wanbox.ip("netns", "del", netns)


def udp(netns, address=None, peer=""):
    """A UDP socket, bound if there is an address; the family is the peer's, else IPv4."""
    family = socket.AF_INET6 if ":" in (address or peer) else socket.AF_INET
    sock = wanbox.socket_in(netns, family, socket.SOCK_DGRAM)
    sock.settimeout(DEADLINE_S)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
    if address:
        sock.bind((address, UDP_PORT))
    return sock


def settle(running, packets):
    """Waits until n packets have entered the paths and none is in flight; returns the sums of the paths' counters."""
    state = {}

    def settled():
        paths = running.counters()["paths"]
        state.update({key: sum(path[key] for path in paths) for key in paths[0]})
        return state["packets"] >= packets and state["in_flight"] == 0
    wait_until(settled, "all packets there")
    assert state["packets"] == packets
    return state


def drain(sock):
    """The numbers of the packets in a socket's queue, in order of arrival."""
    numbers = []
    sock.setblocking(False)
    try:
        while True:
            numbers.append(int.from_bytes(sock.recv(2048)[:4], "big"))
    except BlockingIOError:
        return numbers


def send_numbers(sock, address, count, packet_bytes=100):
    padding = bytes(packet_bytes - IP_AND_UDP_BYTES - 4)
    for number in range(count):
        sock.sendto(number.to_bytes(4, "big") + padding, (address, UDP_PORT))


def has_device():
    return "wan0" in run("ip", "-n", "a", "link").stdout


@pytest.mark.parametrize("source, target", [("10.9.1.1", "10.9.2.1"), ("fd09:1::1", "fd09:2::1")], ids=["ipv4", "ipv6"])
def test_delay(wan, source, target):
    late_ms = {20: [], 10: []}  # by the delay
    with wan("from=a,to=b,delay=20ms", "from=b,to=a,delay=10ms") as running:
        near, far = udp("a", source), udp("b", target)
        for _ in range(30):
            for delay_ms, sender, receiver, address in ((20, near, far, target),
                                                        (10, far, near, source)):
                start_ns = time.monotonic_ns()
                sender.sendto(b"ping", (address, UDP_PORT))
                receiver.recv(64)
                late_ms[delay_ms].append((time.monotonic_ns() - start_ns) / 1e6 - delay_ms)
        late = running.stop()["late_us"]
    print("\nlate: p50 %.0f us, p99 %.0f us, max %.0f us; seen from outside: p50 %.0f us" %
          (late["p50"], late["p99"], late["max"],
           statistics.median(late_ms[20] + late_ms[10]) * 1e3))
    # Never too early. How late depends on the machine, except for the least late one.
    assert all(0 <= min(late) < 3 for late in late_ms.values())


def test_buffer_holds_exactly_what_fits(wan):
    """Five and a half packets fit; half a packet takes 80 ms to leave, the burst far less."""
    with wan("from=a,delay=5ms,rate=50kbit,buffer=5500b") as running:
        near, far = udp("a"), udp("b", "10.9.2.1")
        with stopped(running.process.pid):
            send_numbers(near, "10.9.2.1", 40, packet_bytes=1000)
        state = settle(running, 40)
        assert drain(far) == [0, 1, 2, 3, 4]
    assert (state["dropped_buffer"], state["delivered_packets"], state["delivered_bytes"]) == (35, 5, 5000)


def test_a_link_is_shared_by_the_paths_to_its_host(wan):
    with wan("from=a,to=b,delay=5ms", "from=c,to=b,delay=5ms", b="rate=50kbit,buffer=5500b") as running:
        far = udp("b", "10.9.2.1")
        with stopped(running.process.pid):
            for netns in "a", "c":
                send_numbers(udp(netns), "10.9.2.1", 10, packet_bytes=1000)
        settle(running, 20)
        assert len(drain(far)) == 5
        assert running.stop()["ports"]["b"]["dropped_downlink"] == 15


def numbers_through(running, count):
    with running:
        near, far = udp("a"), udp("b", "10.9.2.1")
        send_numbers(near, "10.9.2.1", count)
        state = settle(running, count)
        assert running.stop()["dropped_tun"] == 0
        return drain(far), state


def test_same_seed_loses_the_same_packets(wan):
    first, state = numbers_through(wan("from=a,loss=10%,seed=7"), 2000)
    second, _ = numbers_through(wan("from=a,loss=0.1,seed=7,delay=1ms,jitter=2ms"), 2000)
    other, _ = numbers_through(wan("from=a,loss=0.1,seed=8"), 2000)
    assert first == second != other
    assert state["dropped_loss"] == 2000 - len(first)
    # Four standard deviations around one tenth.
    assert 146 <= state["dropped_loss"] <= 254
    assert numbers_through(wan("from=a,loss=1"), 200)[0] == []


def test_packets_arrive_in_the_order_of_their_sending(wan):
    in_order = list(range(1000))
    for path in ("delay=5ms", "delay=1ms,rate=10mbit,buffer=1mib", "delay=1ms,jitter=5ms"):
        assert numbers_through(wan(f"from=a,{path}"), 1000)[0] == in_order


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, None], ids=["SIGTERM", "SIGINT", "its parent's death"])
@pytest.mark.usefixtures("wan")
def test_no_device_outlives_its_end(how):
    code = ("import wanbox; wan = wanbox.Wan({'a': ['10.9.1.1/24']}, ['delay=1ms']).__enter__();"
            "print(wan.process.pid, flush=True); wan.process.wait()")
    with subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": REPOSITORY / "lab" / "wan"},
                          stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        had_device = has_device()
        if how:
            os.kill(pid, how)
            assert parent.wait(DEADLINE_S) == 0
        else:
            parent.kill()
    assert had_device
    wait_until(lambda: not has_device(), "its end")
