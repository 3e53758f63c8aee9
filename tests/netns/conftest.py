# SPDX-License-Identifier: MIT
"""Fixtures of the tests on the real kernel."""

import contextlib
import os
import socket
import sys
import tempfile
from pathlib import Path

import cgroups
import pytest
from connection import Connection, tcp_info
from netns import REPOSITORY, Daemon, Host, Network, mount_build, run
from programs import Driver

sys.path[:0] = [str(REPOSITORY / "lab" / name) for name in ("wan", "traffic")]
import wanbox  # noqa: E402

# Files with long tests, which begin first.
LONG = ("test_lab.py", "test_invariant.py", "test_faults.py", "test_death.py", "test_control_hostile.py",
        "test_apply.py", "test_suspension.py", "test_verdict.py", "test_program.py", "test_wan.py")


def pytest_sessionstart():
    mount_build()


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture
def net():
    with Network() as network:
        yield network


@pytest.fixture
def port(net):
    """A port on which all addresses of the world listen."""
    with net.world.server("::") as server:
        yield server.getsockname()[1]


@pytest.fixture
def host():
    """A host without links."""
    with Host() as alone:
        yield alone


@pytest.fixture(scope="session")
def cgroup_root(tmp_path_factory):
    with cgroups.mounted(tmp_path_factory.mktemp("cgroup2")) as root:
        yield root


def needs_namespace_cookies():
    """Skips the test if the kernel has no cookies of namespaces, which the program needs."""
    with socket.socket() as any_socket:
        try:
            any_socket.getsockopt(socket.SOL_SOCKET, 71, 8)
        except OSError:
            pytest.skip("the program needs Linux 5.15: this kernel has no SO_NETNS_COOKIE")


@pytest.fixture
def any_kernels_cgroup(cgroup_root):
    """A cgroup whose connections are those of this process."""
    with cgroups.made(cgroup_root) as made:
        yield made


@pytest.fixture
def cgroup(any_kernels_cgroup):
    """The same, if the kernel accepts the program; else skips the test."""
    needs_namespace_cookies()
    return any_kernels_cgroup


@pytest.fixture
def open_cgroup(cgroup_root, cgroup):
    """The cgroup by a path that all users can reach, like /sys/fs/cgroup."""
    cgroup.chmod(0o755)
    with tempfile.TemporaryDirectory(dir="/run") as directory:
        with cgroups.mounted(directory):
            os.chmod(directory, 0o755)
            yield Path(directory) / cgroup.relative_to(cgroup_root)


@pytest.fixture
def path():
    """Connections between two hosts that are 100 ms and 20 Mbit/s apart; the buffer at the
    bottleneck holds a quarter of that."""
    with Host("near") as near, Host("far") as far:
        addresses = {near.name: ["10.9.1.1", "fd09:1::1"], far.name: ["10.9.2.1", "fd09:2::1"]}
        far.sysctl("ipv4/tcp_rmem", "4096 1000000 6291456")
        with wanbox.Wan(addresses, ["delay=50ms,rate=20mbit,buffer=62500b"]) as wan:
            near.wan_pid = wan.process.pid
            yield lambda address="10.9.2.1", **options: Connection(
                near, far, address, source=address.replace("9.2", "9.1").replace("9:2", "9:1"), **options), near, far


@pytest.fixture
def large_first_windows(host):
    """Before Linux 6.10 a first receive window is at most 65,535 bytes, however large the buffer."""
    host.sysctl("ipv4/tcp_rmem", "4096 1000000 6291456")
    with host.server("127.0.0.1") as server, host.socket(socket.AF_INET) as client:
        client.connect(server.getsockname())
        with server.accept()[0] as far:
            window_bytes = tcp_info(far).snd_wnd_bytes
    if window_bytes <= 65_536:
        pytest.skip(f"this kernel's first receive windows are {window_bytes} bytes, whatever net.ipv4.tcp_rmem says")


@pytest.fixture
def say(capsys):
    """A function that prints a line at once, whatever becomes of the test."""
    def say(text):
        with capsys.disabled():
            print(f"\n{text}", file=sys.stderr, flush=True)
    return say


@pytest.fixture
def driver(net):
    """The host of libriptide under test, on net.host."""
    with Driver(net.host) as started:
        yield started


@pytest.fixture
def preload(tmp_path):
    """A function that compiles C and returns the word for env(1) that preloads it."""
    def build(text):
        source, library = tmp_path / "preload.c", tmp_path / "preload.so"
        source.write_text(text)
        run("cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source)
        return f"LD_PRELOAD={library}"
    return build


@pytest.fixture
def daemon(net, any_kernels_cgroup):
    """A function that starts a riptided on net.host, which gives windows as asked for."""
    @contextlib.contextmanager
    def start(apply, *words, **options):
        if apply != "routes":
            needs_namespace_cookies()
        cgroup = () if apply == "routes" else ("--cgroup", any_kernels_cgroup)
        with Daemon(net.host, "--apply", apply, *cgroup, *words, **options) as one:
            yield one
    return start
