# SPDX-License-Identifier: MIT
"""Fixtures: the hosts of tests/netns, whose kernel is the judge here as well."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Iterator

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "tests" / "netns"))

from netns import Host, Network, mount_build  # noqa: E402


def pytest_sessionstart(session: pytest.Session) -> None:
    if os.environ.get("RIPTIDE_SANDBOX") != "1":
        raise pytest.UsageError("these tests make namespaces and routes: run them with ./dev test")
    mount_build()


@pytest.fixture
def net() -> Iterator[Network]:
    """A host with links, and the world behind them."""
    network = Network()
    yield network
    network.close()


@pytest.fixture
def host() -> Iterator[Host]:
    """A host without links."""
    alone = Host()
    yield alone
    alone.close()
