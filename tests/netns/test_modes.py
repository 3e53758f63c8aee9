# SPDX-License-Identifier: MIT
"""Files of riptided have the same modes whatever the umask, and the right owner; a dry run writes
none. riptided keeps the capabilities that it needs, and can gain no others."""

import array
import fcntl
import os
import re
import stat
import subprocess
import termios
from pathlib import Path

import pytest
from control import PATH, derived, labelled, status, wait_rounds, write_state
from netns import (AS_NOBODY, BY_ROUTES, DEADLINE_S, RIPTIDE, RIPTIDED, Daemon, Network, routes, rules, run,
                   wait_until, windows)


def mode(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


@pytest.fixture
def place(tmp_path):
    """A directory accessible to all users."""
    directory = tmp_path / "place"
    directory.mkdir()
    for parent in tmp_path.relative_to("/run").parents:
        (Path("/run") / parent).chmod(0o755)
    tmp_path.chmod(0o755)
    return directory


@pytest.mark.parametrize("umask", (0o000, 0o022, 0o077, 0o777), ids=oct)
def test_modes_are_the_same_whatever_the_umask(net, place, umask):
    state, metrics = place / "state", place / "metrics.prom"
    under = ("sh", "-c", f'umask {umask:o}; rmdir /run/riptide 2>/dev/null; exec "$@"', "sh")
    net.learned("203.0.113.1", 20)
    left = [place / f"{name}.tmp" for name in ("state", "metrics.prom")]  # of a killed one
    kept = place / "state.backup"
    for path in (*left, kept):
        path.touch()
    for turn in ("none before", "read again"):
        with Daemon(net.host, "--state", state, "--metrics", metrics, command=(*under, RIPTIDED)) as daemon:
            wait_until(lambda: metrics.exists() and os.path.exists(PATH), "its files")
            assert [mode(path) for path in (PATH, "/run/riptide", metrics)] == [0o666, 0o755, 0o644]
            net.host.run(*AS_NOBODY, RIPTIDE, "status")
            daemon.stop()
            assert kept.exists() and not any(path.exists() for path in left)
            assert ("starting empty" in daemon.said()) == (turn == "none before")
        assert mode(state) == 0o600


@pytest.mark.parametrize("options, n_loaded", [((), 1), (("--prefix-len4", "24"), 0)])
def test_a_new_host_starts_with_a_copy_of_a_neighbours_state(net, place, options, n_loaded):
    """As docs/operations.md says: without the copy, and of other prefix lengths, it starts with the kernel's window."""
    given, own = place.parent / "neighbour", place / "state"
    with Daemon.learned(net, "203.0.113.1", "--state", given):
        net.host.run(RIPTIDE, "pause")  # stays with the neighbour, as its hints do
        wait_rounds(2)
        cwnd = windows(net.host)["203.0.113.1"]
    with Network() as other:
        def first():
            with Daemon(other.host, "--state", own, *options) as daemon:
                wait_rounds(2)
                return other.starts("203.0.113.1"), daemon.said()
        assert first()[0] == 10
        run("sh", "-c", f"cat {given} | sed '/^riptide agent/,$d' > {own}")
        seen, said = first()
    assert seen == (cwnd if n_loaded else 10)
    assert f"destinations loaded: {n_loaded}," in said


NOBODY = 65534
NET_ADMIN = 1 << 12
BPF = 1 << 39
# As a service manager starts it: a user with one capability.
ALONE = "-all,+net_admin"
AS_SERVICE = (*AS_NOBODY[:-1], "--bounding-set", ALONE, "--inh-caps", ALONE, "--ambient-caps", ALONE,
              "--no-new-privs", "--")


def credentials(pid):
    """Credentials of a process."""
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {**{name: int(fields[name], 16) for name in ("CapEff", "CapPrm")},
            "uid": int(fields["Uid"].split()[0]), "NoNewPrivs": int(fields["NoNewPrivs"])}


@pytest.mark.parametrize("command, uid", [((), 0), (AS_SERVICE, NOBODY)], ids=["root", "service"])
def test_one_capability_is_kept_and_enough_for_routes(net, place, command, uid):
    place.chmod(0o777)
    state = place / "state"
    options = (*BY_ROUTES, "--state", state)
    with Daemon.learned(net, "203.0.113.1", *options, command=(*command, RIPTIDED)) as daemon:
        assert credentials(daemon.pid) == {"CapEff": NET_ADMIN, "CapPrm": NET_ADMIN, "uid": uid, "NoNewPrivs": 1}
        daemon.stop()
    assert not rules(net.host) and not routes(net.host)
    assert state.stat().st_size > 0 and state.stat().st_uid == uid


def test_windows_by_the_program_keep_the_second_capability(net, cgroup):
    with Daemon(net.host, "--apply", "program", "--cgroup", cgroup) as daemon:
        wait_until(lambda: credentials(daemon.pid)["NoNewPrivs"] == 1, "privileges dropped")
        wait_until(lambda: credentials(daemon.pid)["CapPrm"] == NET_ADMIN | BPF, "two of them")


@pytest.mark.parametrize("once", [True, False], ids=["once", "until it is ended"])
def test_a_dry_run_writes_no_file_and_keeps_no_capability(net, tmp_path, once):
    """The files of a riptided that runs stay; the state is read."""
    net.learned("203.0.113.1", 20)
    write_state(tmp_path / "state", {"203.0.113.9": 33})
    (tmp_path / "metrics.prom").write_text("# HELP riptide_ticks_total of the other one\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    process = net.host.start(RIPTIDED, "--dry-run", "--interval", "50ms", "--policy", "paper",
                             "--state", tmp_path / "state", "--metrics", tmp_path / "metrics.prom",
                             "--control", "/run/dry", *["--once"] * once,
                             stderr=subprocess.PIPE, universal_newlines=True)
    if not once:
        wait_rounds(2, "/run/dry")
        said = net.host.run(RIPTIDE, "status", "--control", "/run/dry").stdout
        assert said.startswith("riptide: DRY RUN. Windows are computed, and none is given.\n")
        assert " in force " not in said and status("/run/dry")["in_force_percent"] == 0
        why = labelled("why", "a dry run, which gives no window\n")
        assert why in derived(net.host, "203.0.113.1", "--control", "/run/dry")
        found = credentials(process.pid)
        assert (found["NoNewPrivs"], found["CapEff"], found["CapPrm"]) == (1, 0, 0)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
        process.terminate()
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0 and "destinations loaded: 1" in said
    assert re.search(r"\b203\.0\.113\.1: would be applied: initcwnd \d+ \(1 connection, paper \d+\.\d\)", said)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def unread_bytes(fd):
    found = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, found)
    return found[0]


def test_windows_of_once_wait_for_a_slow_reader(net, tmp_path):
    """They are the result of the command; a pipe of one page is full of the first one."""
    destinations = {f"203.0.{i // 250}.{i % 250 + 1}": 33 for i in range(1000)}
    write_state(tmp_path / "state", destinations)
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    process = net.host.start(RIPTIDED, "--dry-run", "--once", "--apply", "routes", "--state", tmp_path / "state",
                             "--control", "none", stderr=writing)
    os.close(writing)
    with open(reading, encoding="ascii") as lines:
        wait_until(lambda: unread_bytes(reading), "a full pipe")
        said = lines.read()
    assert process.wait(DEADLINE_S) == 0
    assert len(re.findall(r"\b203\.0\.\d+\.\d+: would be applied: ", said)) == len(destinations)
