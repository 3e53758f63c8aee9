# SPDX-License-Identifier: MIT
"""Fixtures of the tests on the real kernel."""

import os
import subprocess

import pytest
from netns import Host, Network, mount_build
from twins import Driver


def pytest_sessionstart(session):
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        raise pytest.UsageError("these tests make namespaces and routes: run them with ./dev test")
    mount_build()


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


@pytest.fixture
def driver(net):
    """The host of libriptide under test, on net.host."""
    with Driver(net.host) as started:
        yield started


@pytest.fixture
def preload(tmp_path):
    """A function from C to the word for env(1) with which a program has it before its libraries."""
    def build(text):
        source, library = tmp_path / "preload.c", tmp_path / "preload.so"
        source.write_text(text)
        subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source], check=True)
        return f"LD_PRELOAD={library}"
    return build
