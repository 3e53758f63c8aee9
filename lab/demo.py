# SPDX-License-Identifier: MIT
"""The main job of riptided, shown: fresh TCP connections over 120 ms, without it and with it.

Two hosts are network namespaces, the path between them is lab/wan's emulator. ./dev demo builds
and runs this in a sandbox. What riptided applies it has learned from connections that moved data
here; no window is in this file.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "lab" / "wan"))
import wanbox  # noqa: E402

BUILD = Path(os.environ.get("RIPTIDE_BUILD", REPOSITORY / "build"))
SENDER, RECEIVER = "sender", "receiver"
ADDRESS = {SENDER: "10.9.1.1", RECEIVER: "10.9.2.1"}
PORT = 9000
ROUND_TRIP_MS = 120
RMEM_BYTES = 524288
SIZES_KB = (10, 50, 100)
BUSY_CONNECTIONS = 4
BUSY_KB = 400
TCP_CONGESTION = 13  # not named by every Python


def use_cubic(sock):
    """Cubic, the default of most hosts, where there is one. Returns what the socket has."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")
    except OSError:
        pass
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()


def serve(connection):
    """Sends an object of as many bytes as each request line says, until there is no more."""
    with connection, connection.makefile("rb") as requests:
        for line in requests:
            connection.sendall(bytes(int(line)))


def start_server():
    """Starts a process on the sender. Returns its id and its congestion control."""
    listener = wanbox.socket_in(SENDER, socket.AF_INET, socket.SOCK_STREAM)
    congestion = use_cubic(listener)
    listener.bind(("", PORT))
    listener.listen()
    pid = os.fork()
    if pid == 0:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
    listener.close()
    return pid, congestion


def connect():
    connection = wanbox.socket_in(RECEIVER, socket.AF_INET, socket.SOCK_STREAM)
    connection.settimeout(30)
    connection.connect((ADDRESS[SENDER], PORT))
    return connection


def fetch(connection, n_bytes):
    connection.sendall(b"%d\n" % n_bytes)
    while n_bytes > 0:
        received = len(connection.recv(1 << 16))
        if not received:
            sys.exit("demo: the sender closed early")
        n_bytes -= received


def measure(size_kb, repetitions):
    """Median time in ms from connect to the last byte, each on a connection of its own."""
    times_ms = []
    for _ in range(repetitions):
        start_ns = time.monotonic_ns()
        with connect() as connection:
            fetch(connection, size_kb * 1000)
            times_ms.append((time.monotonic_ns() - start_ns) / 1e6)
    return statistics.median(times_ms)


def measure_all(repetitions):
    return {size_kb: measure(size_kb, repetitions) for size_kb in SIZES_KB}


def work():
    """Connections as between two busy hosts; they stay open."""
    connections = [connect() for _ in range(BUSY_CONNECTIONS)]
    threads = [threading.Thread(target=fetch, args=(connection, BUSY_KB * 1000))
               for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return connections


def on_sender(program, *arguments):
    return ["ip", "netns", "exec", SENDER, str(BUILD / "cli" / program), *arguments]


def riptide(*arguments):
    done = subprocess.run(on_sender("riptide", *arguments, "--json"), check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def wait_window(daemon):
    """The initial window towards the receiver, once riptided has applied one."""
    end = time.monotonic() + 10
    while time.monotonic() < end and daemon.poll() is None:
        for route in riptide("show")["routes"]:
            if route["dst"] == ADDRESS[RECEIVER]:
                return route["initcwnd"]
        time.sleep(0.05)
    sys.exit("demo: riptided applied no window")


def start_riptided():
    return subprocess.Popen(on_sender("riptided", "--log-level", "warning"),
                            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def print_table(without, with_riptided):
    print(f"{'size':>8}{'without':>12}{'with riptided':>16}{'round trips saved':>20}")
    for size_kb in SIZES_KB:
        saved = round((without[size_kb] - with_riptided[size_kb]) / ROUND_TRIP_MS, 1) + 0.0
        print(f"{size_kb:>5} KB{without[size_kb]:>9.0f} ms{with_riptided[size_kb]:>13.0f} ms"
              f"{saved:>20.1f}")


def demonstrate(repetitions, congestion):
    print(f"Two hosts {ROUND_TRIP_MS} ms apart, 100 Mbit/s, {congestion}. Each transfer is a new"
          f" connection;\nmedian of {repetitions}, from connect to the last byte.")
    print(f"The receiver's net.ipv4.tcp_rmem[1] is raised to {RMEM_BYTES}: by default Linux lets"
          " in no more\nthan 44 segments at the start of a connection.\n", flush=True)
    without = measure_all(repetitions)
    connections = work()
    daemon = start_riptided()
    window = wait_window(daemon)
    seen = next(item for item in riptide("observe")["destinations"]
                if item["dst"] == ADDRESS[RECEIVER])
    print(f"{seen['connections']} open connections have moved {BUSY_KB} KB each; their mean window"
          f" is {seen['cwnd_mean']:.0f} segments.\nriptided lets new ones start with {window}.\n",
          flush=True)
    print_table(without, measure_all(repetitions))
    daemon.terminate()
    daemon.wait()
    for connection in connections:
        connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        sys.exit("demo: this makes network namespaces: run it with ./dev demo")
    for name in (SENDER, RECEIVER):
        wanbox.ip("netns", "add", name)
        wanbox.ip("-n", name, "link", "set", "lo", "up")
    write = f"echo 4096 {RMEM_BYTES} 6291456 >/proc/sys/net/ipv4/tcp_rmem"
    wanbox.ip("netns", "exec", RECEIVER, "sh", "-c", write)
    ports = [f"name={name},netns={name},net={ADDRESS[name]}/32" for name in ADDRESS]
    path = f"delay={ROUND_TRIP_MS // 2}ms,rate=100mbit,buffer=1mb"
    with wanbox.Wan(ports, [path], {name: [address] for name, address in ADDRESS.items()}):
        server, congestion = start_server()
        try:
            demonstrate(3 if options.quick else 9, congestion)
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
            for name in (SENDER, RECEIVER):
                wanbox.ip("netns", "delete", name)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("demo: ended by hand; its namespaces are gone")
