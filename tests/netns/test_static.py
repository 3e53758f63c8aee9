# SPDX-License-Identifier: MIT
"""riptided for minimal hosts: built with -Dstatic=true, in a root without other files."""

import os

import pytest
from netns import REPOSITORY, Daemon, routes, rules, run, wait_window

pytestmark = pytest.mark.xdist_group("root")  # as one process builds it

MAX_BYTES = 1_200_000


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A directory that contains only riptided."""
    archive = run("cc", "-print-file-name=libmnl.a").stdout.strip()
    if not os.path.isabs(archive) and not list(REPOSITORY.glob("subprojects/libmnl-*/src")):
        pytest.skip("no archive of libmnl, and its source could not be fetched")
    build, directory = tmp_path_factory.mktemp("static"), tmp_path_factory.mktemp("root")
    run("meson", "setup", build, REPOSITORY, "-Dstatic=true", "-Dwerror=true")
    run("ninja", "-C", build, "cli/riptided")
    run("cp", build / "cli" / "riptided", directory)
    return directory


def test_static_riptided_is_within_its_size_and_loads_no_library(root):
    assert os.listdir(root) == ["riptided"]
    size = (root / "riptided").stat().st_size
    print(f"static riptided: {size:,} bytes")
    assert size <= MAX_BYTES
    said = run("readelf", "-d", "-l", root / "riptided").stdout
    assert "NEEDED" not in said and "INTERP" not in said


def test_it_lives_in_a_root_with_proc_alone(net, root):
    (root / "proc").mkdir()
    command = ("unshare", "--mount", "sh", "-c",
               f'mount -t proc proc {root}/proc && exec chroot {root} /riptided "$@"', "sh")
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with Daemon(net.host, "--state", "/state", command=command) as daemon:
        assert wait_window(net.host, "203.0.113.1") == cwnd
        daemon.stop()
        assert "not kept" not in daemon.said()
    assert not rules(net.host) and not routes(net.host)
    (root / "state").unlink()
    (root / "proc").rmdir()
