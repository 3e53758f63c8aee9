# SPDX-License-Identifier: MIT
"""Fixtures of the tests on the real kernel."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import cgroups
import pytest
from connection import Connection, tcp_info
from netns import REPOSITORY, Daemon, Host, Network, mount_build
from programs import Driver
from xdist.scheduler import LoadScopeScheduling

sys.path[:0] = [str(REPOSITORY / "lab" / name) for name in ("wan", "traffic")]
import wanbox  # noqa: E402

# Files with long, independent tests: these are distributed one by one, and first.
LONG = ("test_lab.py", "test_invariant.py", "test_faults.py", "test_death.py", "test_control_hostile.py", "test_apply.py",
        "test_suspension.py", "test_verdict.py", "test_program.py", "test_wan.py")


def pytest_sessionstart(session):
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        raise pytest.UsageError("these tests make namespaces and routes: run them with ./dev test")
    mount_build()


class FilesAndLongTests(LoadScopeScheduling):
    """Gives a whole file to one worker, for its module's fixtures, except for those of LONG."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        return nodeid if file.endswith(LONG) else file


def pytest_xdist_make_scheduler(config, log):
    return FilesAndLongTests(config, log)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture
def net():
    network = Network()
    yield network
    network.close()


@pytest.fixture
def host():
    """A host without links."""
    alone = Host()
    yield alone
    alone.close()


@pytest.fixture(scope="module")
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
    """Connections between two hosts that are 100 ms and 20 Mbit/s apart; the buffer at the bottleneck holds a quarter of that."""
    near, far = Host("near"), Host("far")
    addresses = {near.name: ["10.9.1.1", "fd09:1::1"], far.name: ["10.9.2.1", "fd09:2::1"]}
    far.sysctl("ipv4/tcp_rmem", "4096 1000000 6291456")
    with wanbox.Wan(addresses, ["delay=50ms,rate=20mbit,buffer=62500b"]):
        yield lambda address="10.9.2.1", **options: Connection(
            near, far, address, source=address.replace("9.2", "9.1").replace("9:2", "9:1"), **options), near, far
    near.close()
    far.close()


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
        subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source], check=True)
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
