# SPDX-License-Identifier: MIT
"""Cgroups that tests make, and whose connections are those of the process that runs them."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

from waiting import wait_until


@contextlib.contextmanager
def mounted(directory):
    """cgroup2, of which a sandbox may have none."""
    subprocess.run(["mount", "-t", "cgroup2", "none", directory], check=True)
    yield directory
    subprocess.run(["umount", directory], check=True)


def own(root):
    """That of this process."""
    with open("/proc/self/cgroup") as file:
        return root / next(line[3:] for line in file if line.startswith("0::")).strip().lstrip("/")


def enter(cgroup):
    (cgroup / "cgroup.procs").write_text(str(os.getpid()))


@contextlib.contextmanager
def made(root):
    """One for the time of a `with`, which this process enters."""
    home = own(root)
    cgroup = Path(tempfile.mkdtemp(prefix="riptide-", dir=home))
    enter(cgroup)
    try:
        yield cgroup
    finally:
        enter(home)
        wait_until(lambda: _remove(cgroup), f"no process left in {cgroup}")


def _remove(cgroup):
    with contextlib.suppress(OSError):
        for below in cgroup.iterdir():
            if below.is_dir():
                below.rmdir()
        cgroup.rmdir()
    return not cgroup.exists()
