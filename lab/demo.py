# SPDX-License-Identifier: MIT
"""The main job of riptided, shown: fresh TCP connections over 120 ms, without it, with it as it is
installed, whose first flights are paced, and with routes alone.

The two hosts are network namespaces, the path between them is lab/wan's emulator. ./dev demo builds
and runs this in a sandbox. riptided learns its windows here, from connections that move data:
this file contains no window.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
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
RATE_MBIT = 20
BUFFER_KB = 30  # a tenth of the path's capacity
RMEM_BYTES = 524288
SIZES_KB = (10, 50, 100)
BUSY_CONNECTIONS = 4
BUSY_KB = 400
LEARN_KB = max(SIZES_KB)
TCP_CONGESTION = 13  # not named by every Python


def use_cubic(sock):
    """Sets cubic, the default of most hosts, if the kernel has it. Returns the socket's control."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")
    except OSError:
        pass
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()


def serve(connection):
    """For each request line sends an object of that many bytes, until the last one."""
    with connection, connection.makefile("rb") as requests:
        for line in requests:
            connection.sendall(bytes(int(line)))


def start_server():
    """Starts a server process on the sender. Returns its id and its congestion control."""
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
    """Median time in ms from connect to the last byte, each transfer on a new connection."""
    times_ms = []
    for _ in range(repetitions):
        start_ns = time.monotonic_ns()
        with connect() as connection:
            fetch(connection, size_kb * 1000)
            times_ms.append((time.monotonic_ns() - start_ns) / 1e6)
    return statistics.median(times_ms)


def measure_all(repetitions):
    return {size_kb: measure(size_kb, repetitions) for size_kb in SIZES_KB}


def work(connections):
    """Traffic between two busy hosts."""
    threads = [threading.Thread(target=fetch, args=(connection, BUSY_KB * 1000))
               for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def on_sender(program, *arguments):
    return ["ip", "netns", "exec", SENDER, str(BUILD / "cli" / program), *arguments]


def riptide(*arguments):
    """Its answer; nothing where riptided does not run yet."""
    done = subprocess.run(on_sender("riptide", *arguments, "--json"), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout or "{}")


def window():
    """Waits for riptided's initial window to the receiver."""
    for route in riptide("show").get("routes", []):
        if route["dst"] == ADDRESS[RECEIVER]:
            return route["window"]
    return None


def pace():
    """How first flights leave."""
    program = riptide("show", ADDRESS[RECEIVER])["program"]
    percent = program and program["pacing_percent"]
    return f"over {percent} % of a round trip" if percent else "that leave at once"


@contextlib.contextmanager
def riptided(connections, *options):
    """A riptided that has given a window."""
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(
            on_sender("riptided", "--log-level", "warning", "--holdout-percent", "0", *options),
            stdin=subprocess.DEVNULL, stderr=said) as daemon:
        try:
            start = time.monotonic()
            while daemon.poll() is None and not window():
                waited_s = time.monotonic() - start
                if waited_s > 30:
                    sys.exit("demo: riptided gave no window")
                if waited_s > 2:  # a riptided that starts slowly finds them idle
                    work(connections)
                time.sleep(0.05)
            if daemon.poll() is not None:
                said.seek(0)
                sys.exit(f"demo: riptided ended: {said.read().strip()}")
            yield
        finally:
            daemon.terminate()


def print_table(columns):
    """Columns: {name: {size_kb: ms}}; the first one is without riptided."""
    without, *others = columns.values()
    print(f"{'size':>8}" + "".join(f"{name:>12}" for name in columns) + "   round trips saved")
    for size_kb in SIZES_KB:
        saved = [round((without[size_kb] - one[size_kb]) / ROUND_TRIP_MS, 1) + 0.0 for one in others]
        print(f"{size_kb:>5} KB" + "".join(f"{one[size_kb]:>9.0f} ms" for one in columns.values())
              + f"{', '.join(map(str, saved)):>20}")


def demonstrate(repetitions, learned, congestion):
    print(f"Two hosts {ROUND_TRIP_MS} ms apart, {RATE_MBIT} Mbit/s behind a buffer of {BUFFER_KB} KB,"
          f" {congestion}. Each transfer is a new\nconnection; median of {repetitions}, from connect to"
          f" the last byte. The receiver's net.ipv4.tcp_rmem[1] is raised\nto {RMEM_BYTES}: by default"
          " Linux lets in no more than 44 segments at the start of a connection.\n", flush=True)
    columns = {"without": measure_all(repetitions)}
    connections = [connect() for _ in range(BUSY_CONNECTIONS)]
    print(f"riptided learns from {BUSY_CONNECTIONS} open connections that have moved {BUSY_KB} KB each, and"
          f" {learned} new ones of {LEARN_KB} KB.", flush=True)
    for name, *options in (("riptided",), ("routes", "--apply", "routes")):
        work(connections)
        with riptided(connections, *options):
            apply = riptide("status")["apply"]
            measure(LEARN_KB, learned)
            print(f"{name}: the next start with {window()} segments {pace()}", flush=True)
            columns[name] = measure_all(repetitions)
        if apply["by"] == "routes" and not options:
            print(f"riptided uses routes alone here: {apply['why']}")
            break
    print()
    print_table(columns)
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
    path = f"delay={ROUND_TRIP_MS // 2}ms,rate={RATE_MBIT}mbit,buffer={BUFFER_KB}kb"
    addresses = {name: [address] for name, address in ADDRESS.items()}
    with wanbox.Wan(ports, [path], addresses):
        server, congestion = start_server()
        try:
            demonstrate(*((3, 10) if options.quick else (7, 25)), congestion)
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
