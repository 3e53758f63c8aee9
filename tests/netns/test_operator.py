# SPDX-License-Identifier: MIT
"""What an operator types in the first ten minutes, and at three at night: operator/ has the scripts."""

import os
import socket
import threading

import pytest
from netns import BUILD, RIPTIDE

PEER = "203.0.113.1"


@pytest.fixture
def sink(net):
    """The port of a server that reads what comes."""
    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                while connection.recv(1 << 16):
                    pass

    with net.world.server(PEER) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def run(net, script, tmp_path, port):
    os.chmod(tmp_path, 0o755)
    with net.learned(PEER, 40).busy():
        done = net.host.run("env", f"BUILD={BUILD}", f"PEER={PEER}", f"PORT={port}", f"PATH={RIPTIDE.parent}:{os.environ['PATH']}",
                            os.path.join(os.path.dirname(__file__), "operator", script), tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + (tmp_path / "log").read_text()


@pytest.mark.parametrize("script", ["first_ten_minutes.sh", "three_at_night.sh"])
def test_what_an_operator_types(net, sink, tmp_path, script):
    run(net, script, tmp_path, sink)
