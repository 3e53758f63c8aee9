"""Fixtures of the tests on the real kernel."""

import os
import subprocess

import pytest
from netns import BUILD, MOUNTED, RIPTIDE, RIPTIDED, Host, Network


def pytest_sessionstart(session):
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        raise pytest.UsageError("these tests make namespaces and routes: run them with ./dev test")
    MOUNTED.mkdir(exist_ok=True)
    if not os.path.ismount(MOUNTED):
        subprocess.run(["mount", "--bind", BUILD, MOUNTED], check=True)
    for program in (RIPTIDE, RIPTIDED):
        if not program.exists():
            raise pytest.UsageError(f"{BUILD}/cli/{program.name} is missing: ./dev build makes it")


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
