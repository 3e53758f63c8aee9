# SPDX-License-Identifier: MIT
"""Measures the WAN in a box: TCP throughput through a 1 ms path, and how late packets are delivered
on an idle machine. ./dev bench wan builds and runs this in a sandbox."""
import argparse
import ctypes
import os
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wan"))
import wanbox  # noqa: E402

PORTS = ["name=a,netns=a,net=10.9.1.0/24", "name=b,netns=b,net=10.9.2.0/24"]
ADDRESSES = {"a": ["10.9.1.1/24"], "b": ["10.9.2.1/24"]}
TARGET_MBPS = 300
PR_SET_TIMERSLACK = 29
SO_SNDBUFFORCE, SO_RCVBUFFORCE, TCP_CONGESTION = 32, 33, 13  # not named by every Python


def tcp_mbps(seconds, congestion_control):
    """Throughput between two processes, which share the cores with the WAN
    as real programs would: the bytes that arrive between two readings of the clock."""
    listener = wanbox.socket_in("b", socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    listener.bind(("10.9.2.1", 9000))
    listener.listen(1)
    sender = wanbox.socket_in("a", socket.AF_INET, socket.SOCK_STREAM)
    sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20)
    sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, congestion_control.encode())
    pid = os.fork()
    if not pid:
        try:
            sender.connect(("10.9.2.1", 9000))
            block = bytes(1 << 20)
            while True:
                sender.sendall(block)
        except OSError:
            os._exit(0)
    sender.close()
    connection = listener.accept()[0]
    buffer = bytearray(1 << 20)
    warm_s = time.monotonic() + 1
    while time.monotonic() < warm_s:
        connection.recv_into(buffer)
    received_bytes, start_s = 0, time.monotonic()
    while time.monotonic() < start_s + seconds:
        received_bytes += connection.recv_into(buffer)
    mbps = received_bytes * 8 / (time.monotonic() - start_s) / 1e6
    connection.close()
    listener.close()
    os.waitpid(pid, 0)
    return mbps


def bench_throughput(seconds, congestion_control, path):
    with wanbox.Wan(PORTS, [path], ADDRESSES) as wan:
        mbps = tcp_mbps(seconds, congestion_control)
        counters = wan.stop()
    late = counters["delay_error_us"]
    dropped = sum(port["dropped_tun"] for port in counters["ports"])
    packets = counters["paths"][0]["packets"]
    print("TCP (%s) through %s: %.0f Mbit/s, %d packets, %d dropped before the WAN, "
          "late p50 %.0f us, p99 %.0f us, max %.0f us" %
          (congestion_control, path, mbps, packets, dropped, late["p50"], late["p99"], late["max"]))
    return mbps


def bench_sleep(sleep_ms, count):
    """How late a bare sleep is: no emulator on this machine is on time more often."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1))
    late_us = []
    for _ in range(count):
        start_ns = time.monotonic_ns()
        time.sleep(sleep_ms / 1e3)
        late_us.append((time.monotonic_ns() - start_ns) / 1e3 - sleep_ms * 1e3)
    late_us.sort()
    print("a bare sleep of %d ms, %d times: late p50 %.0f us, p99 %.0f us, max %.0f us" %
          (sleep_ms, count, late_us[count // 2], late_us[count * 99 // 100], late_us[-1]))


def bench_delay(delay_ms, count):
    with wanbox.Wan(PORTS, ["delay=%dms" % delay_ms], ADDRESSES) as wan:
        sender = wanbox.socket_in("a", socket.AF_INET, socket.SOCK_DGRAM)
        receiver = wanbox.socket_in("b", socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("10.9.2.1", 9000))
        receiver.settimeout(5)
        errors_us = []
        for _ in range(count):
            start_ns = time.monotonic_ns()
            sender.sendto(b"ping", ("10.9.2.1", 9000))
            receiver.recv(64)
            errors_us.append((time.monotonic_ns() - start_ns) / 1e3 - delay_ms * 1e3)
        late = wan.stop()["delay_error_us"]
    errors_us.sort()
    print("UDP through %d ms, %d packets: late p50 %.0f us, p99 %.0f us, max %.0f us; "
          "seen from outside p50 %.0f us, p99 %.0f us" %
          (delay_ms, count, late["p50"], late["p99"], late["max"], errors_us[count // 2],
           errors_us[count * 99 // 100]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="of each TCP run")
    options = parser.parse_args()
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("wan: this makes network namespaces: run it with ./dev bench wan")
    for netns in "ab":
        wanbox.ip("netns", "add", netns)
        wanbox.ip("-n", netns, "link", "set", "lo", "up")
    bench_sleep(10, 500)
    bench_delay(10, 1000)
    bench_delay(60, 200)
    bench_throughput(options.seconds, "reno", "delay=1ms,rate=300mbit,buffer=500kb")
    best_mbps = max(bench_throughput(options.seconds, name, "delay=1ms")
                    for name in ("reno", "bbr"))
    if best_mbps < TARGET_MBPS:
        sys.exit("below %d Mbit/s" % TARGET_MBPS)


if __name__ == "__main__":
    main()
