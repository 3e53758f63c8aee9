# SPDX-License-Identifier: MIT
"""Fixtures: the hosts of tests/netns, whose kernel is the judge here as well."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "tests" / "netns"))

from netns import Host, Network, mount_build  # noqa: E402


def pytest_sessionstart() -> None:
    mount_build()


@pytest.fixture
def net() -> Iterator[Network]:
    """A host with links, and the world behind them."""
    with Network() as network:
        yield network


@pytest.fixture
def host() -> Iterator[Host]:
    """A host without links."""
    with Host() as alone:
        yield alone
