# SPDX-License-Identifier: MIT
"""A Valkey or Redis of the distribution for a test, a cluster of three, and a proxy that fails."""

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

import pytest
from netns import REPOSITORY, RIPTIDE
from waiting import wait_until

PACKAGE = REPOSITORY / "bindings/python/riptide"  # imported without the C extension
sys.path.insert(0, str(PACKAGE))

SERVER = shutil.which("valkey-server") or shutil.which("redis-server")
TOOL = shutil.which("valkey-cli") or shutil.which("redis-cli")
HALF_LIFE_S = 1e9  # so long that nothing fades within a test

try:
    import redis
    from fleet import __main__ as program
    from fleet import site
except ImportError:
    redis = site = program = None

needs_engine = pytest.mark.skipif(
    not SERVER or not redis, reason="no valkey-server or redis-server, or no python3-redis: "
    "./dev installs them where no init would start a server")
_ports = itertools.count(7100)


class Engine:
    """One server, in a directory of its own, at `url`."""

    def __init__(self, directory, *options, port=None, tls=False):
        self.directory, self.options = directory, options
        self.port = port or next(_ports)
        self.url = f"{'rediss' if tls else 'redis'}://localhost:{self.port}"
        self.socket = directory / "socket"
        if tls:
            self.options += ("--port", "0", "--tls-port", self.port)
        else:
            self.options += ("--port", self.port)
        directory.mkdir(exist_ok=True)
        self.start()

    def start(self):
        words = [SERVER, "--dir", self.directory, "--bind", "127.0.0.1", "::1", "--unixsocket", self.socket, "--save", "",
                 "--repl-diskless-sync-delay", "0", *self.options]
        self.process = subprocess.Popen(list(map(str, words)), stdout=(self.directory / "log").open("a"))
        self.client = redis.Redis(unix_socket_path=str(self.socket))
        wait_until(self.answers, "the server")

    def answers(self):
        assert self.process.poll() is None, (self.directory / "log").read_text()
        try:
            return self.client.ping()
        except redis.exceptions.AuthenticationError:
            return True
        except redis.exceptions.ConnectionError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.client.close()

    def cpu_s(self):
        used = self.client.info("cpu")
        return used["used_cpu_user"] + used["used_cpu_sys"]


class Fleet:
    """A riptide-fleet beside the riptided at `control`."""

    def __init__(self, host, folder, url, control, **keys):
        self.host, self.folder, self.control = host, folder, control
        (folder / "kept").mkdir(parents=True)
        keys = {"site": "pop", "engine": url, "host": folder.name, "control": control, "metrics": folder / "prom", **keys}
        (folder / "fleet.conf").write_text("".join(f"{key} = {value}\n" for key, value in keys.items()), encoding="ascii")

    def command(self, *arguments):
        path = f"{os.path.dirname(RIPTIDE)}:{os.environ['PATH']}"
        return ("env", f"PYTHONPATH={PACKAGE}", f"PATH={path}", f"STATE_DIRECTORY={self.folder}/kept",
                "/usr/bin/python3", "-B", "-m", "fleet", "--config", self.folder / "fleet.conf", *arguments)

    def start(self):
        with (self.folder / "log").open("ab") as log:
            self.process = self.host.start(*self.command(), stderr=log)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def said(self, words=""):
        """Lines of its log with these words."""
        return [line for line in (self.folder / "log").read_text().splitlines() if words in line]

    def figure(self, name):
        with contextlib.suppress(FileNotFoundError):
            for line in (self.folder / "prom").read_text().splitlines():
                if line.startswith(f"riptide_fleet_{name} "):
                    return float(line.split()[1])
        return -1.0


@contextlib.contextmanager
def cluster(directory, announced=lambda port: port):
    """Three nodes with a third of the slots each, which announce themselves as announced(port)."""
    directory.mkdir(exist_ok=True)
    nodes = []
    try:
        for i in range(3):
            port = next(_ports)
            nodes.append(Engine(directory / str(i), "--cluster-enabled", "yes", "--cluster-announce-port", announced(port),
                                "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-bus-port", port + 10000, port=port))
        subprocess.run([TOOL, "--cluster", "create", *(f"127.0.0.1:{node.port}" for node in nodes), "--cluster-yes"],
                       check=True, stdout=subprocess.DEVNULL)
        for node in nodes:
            wait_until(lambda: node.client.execute_command("CLUSTER INFO")["cluster_state"] == "ok", "the cluster")
        yield nodes
    finally:
        for node in nodes:
            node.stop()


class Proxy:
    """A proxy before a server. Forwards all; if `lose` returns true for a piece it closes instead.

    `lose` gets "question" or "answer". While `stalled` it forwards nothing.
    """

    def __init__(self, target, lose=lambda what: False):
        self.target, self.lose, self.is_ended = target, lose, False
        self.going = threading.Event()
        self.going.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self.is_ended:
                    return
                near.close()
                continue
            self.pairs.append((near, far))
            for what, one, other in ("question", near, far), ("answer", far, near):
                threading.Thread(target=self._pump, args=(what, one, other), daemon=True).start()

    def _pump(self, what, one, other):
        try:
            while True:
                piece = one.recv(1 << 16)
                self.going.wait()
                if not piece or self.lose(what):
                    break
                other.sendall(piece)
        except OSError:
            pass
        for end in one, other:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.is_ended = True
        self.going.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for pair in self.pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
