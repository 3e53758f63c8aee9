"""Fixtures of the tests on the real kernel."""

import os

import pytest
from netns import Host, Network, mount_build


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
