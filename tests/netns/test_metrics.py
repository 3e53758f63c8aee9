# SPDX-License-Identifier: MIT
"""riptided --metrics: Prometheus text in a file, judged by the reference parser, the kernel and the
log."""

import os
import re
import stat
import subprocess

import pytest
from netns import (AS_NOBODY, REPOSITORY, RIPTIDE, RIPTIDED, Daemon, initcwnd, routes, wait_until,
                   wait_window)
from prometheus_client.parser import text_string_to_metric_families

TYPES = {"counter", "gauge", "histogram"}


def read(path):
    """The figures of a file."""
    return figures_of(path.read_text())


def figures_of(text):
    """{name{labels}: value}, as the reference parser reads the text."""
    figures = {}
    for family in text_string_to_metric_families(text):
        assert family.type in TYPES, family.name
        assert family.documentation.endswith("."), family.name
        assert family.name.startswith("riptide_")
        assert family.samples, family.name
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            figures[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return figures


def metrics(net, path, *options, interval="10ms", **more):
    """Writes the file each fifteen rounds."""
    return Daemon(net.host, "--metrics", path, *options, interval=interval, **more)


def wait_figures(path, condition, what):
    """The figures of the first file for which the condition holds."""
    def look():
        figures = path.exists() and read(path)
        return figures and condition(figures) and figures
    return wait_until(look, what)


def test_figures_are_those_of_kernel_and_log(net, tmp_path):
    path = tmp_path / "riptide.prom"
    for i, cwnd in enumerate((12, 25, 70)):
        net.learned(f"203.0.113.{i + 1}", cwnd)
    net.host.ip("route", "add", "192.0.2.0/24", "via", "10.0.0.1", "table", "100")
    net.host.ip("rule", "add", "to", "203.0.113.3", "lookup", "100")
    net.host.ip("route", "add", "203.0.113.3", "via", "10.0.0.2", "table", "100")
    with metrics(net, path, "--log-level", "debug") as daemon:
        wait_window(net.host, "203.0.113.1")
        figures = wait_figures(path, lambda now: now["riptide_routes{state=applied}"] == 2
                               and now["riptide_ticks_total"] > 3, "two routes")
        kernel = routes(net.host)
        said = daemon.said()
    given = [line for line in said.splitlines() if " initcwnd " in line]
    assert len(kernel) == 2
    assert figures["riptide_routes{state=left_alone}"] == 1 == said.count("left alone")
    assert figures["riptide_destinations"] == 3
    assert figures["riptide_initcwnd_segments_count"] == len(given) == 2
    assert figures["riptide_initcwnd_segments_sum"] == sum(map(initcwnd, kernel.values()))
    assert figures["riptide_route_writes_total"] == 2
    assert figures["riptide_route_write_failures_total"] == 0
    assert figures["riptide_rules_in_place{family=ipv4}"] == 1
    assert figures["riptide_rules_in_place{family=ipv6}"] == 1
    assert figures["riptide_sockets_total{result=sample}"] == figures["riptide_samples_total"]
    assert figures["riptide_samples_total"] == 3 * figures["riptide_dumps_total"]
    ticks = figures["riptide_ticks_total"]
    assert figures["riptide_tick_duration_seconds_count"] == ticks <= said.count("tick:")
    assert figures["riptide_interval_seconds"] == 0.01
    for name, pattern in {"riptide_tick_duration_seconds_sum": r"refused, ([\d.]+) ms",
                          "riptide_dump_cpu_seconds_total": r"a look took ([\d.]+) ms"}.items():
        milliseconds = [float(text) for text in re.findall(pattern, said)]
        assert figures[name] * 1000 == pytest.approx(sum(milliseconds[:int(ticks)]),
                                                     abs=0.05 * ticks + 0.1)


def test_number_of_lines_does_not_depend_on_the_number_of_destinations(net, tmp_path):
    path = tmp_path / "riptide.prom"
    with metrics(net, path):
        few = wait_figures(path, lambda now: True, "a file")
        for i in range(100):
            net.connect(f"203.0.113.{i + 1}")
        many = wait_figures(path, lambda now: now["riptide_destinations"] == 100, "destinations")
    assert few.keys() == many.keys()


def test_file_is_readable_whatever_the_umask(net, tmp_path):
    path = tmp_path / "riptide.prom"
    before = os.umask(0o077)
    try:
        with metrics(net, path):
            wait_figures(path, lambda now: True, "a file")
            assert stat.S_IMODE(path.stat().st_mode) == 0o644
    finally:
        os.umask(before)


def test_file_is_never_seen_in_part(net, tmp_path):
    path = tmp_path / "riptide.prom"
    with metrics(net, path):
        first = wait_figures(path, lambda now: True, "a file")["riptide_ticks_total"]
        wait_figures(path, lambda now: now["riptide_ticks_total"] > first + 100, "many files")
    assert os.listdir(tmp_path) == []


def test_file_goes_with_the_daemon(net, tmp_path):
    path = tmp_path / "riptide.prom"
    with metrics(net, path):
        wait_until(path.exists, "a file")
    assert not path.exists()


def test_file_of_a_killed_daemon_is_overwritten(net, tmp_path):
    path = tmp_path / "riptide.prom"
    path.write_text("riptide_ticks_total 7000\n")
    with metrics(net, path):
        wait_until(lambda: "7000" not in path.read_text(), "a new file")
        read(path)


def test_interval_bounds_how_often_it_is_written(net, tmp_path):
    path = tmp_path / "riptide.prom"
    with metrics(net, path, "--log-level", "debug", interval="500ms") as daemon:
        wait_until(lambda: daemon.said().count("tick:") > 3, "ticks")
        assert read(path)["riptide_ticks_total"] == 1
        wait_until(lambda: read(path)["riptide_ticks_total"] > 10, "the next one")


def test_once_leaves_a_file(net, tmp_path):
    path = tmp_path / "riptide.prom"
    net.learned("203.0.113.1", 20)
    net.host.run(RIPTIDED, "--once", "--policy", "paper", "--metrics", path)
    assert read(path)["riptide_routes{state=applied}"] == 1


def test_dry_run_has_no_rules_in_place(net, tmp_path):
    path = tmp_path / "riptide.prom"
    net.host.run(RIPTIDED, "--once", "--dry-run", "--metrics", path)
    assert read(path)["riptide_rules_in_place{family=ipv4}"] == 0


def test_missing_directory_is_said_once_and_the_daemon_goes_on(net, tmp_path):
    path = tmp_path / "later/riptide.prom"
    net.learned("203.0.113.1", 20)
    with metrics(net, path, "--log-level", "debug") as daemon:
        wait_window(net.host, "203.0.113.1")
        wait_until(lambda: daemon.said().count("tick:") > 3, "ticks")
        path.parent.mkdir()
        wait_until(path.exists, "a file")
        wait_until(lambda: "written again" in daemon.said(), "the line")
        said = [line for line in daemon.said().splitlines() if "metrics: " in line]
    assert len(said) == 2
    assert f"warning: metrics: {path}: make a file beside it: No such file or directory; it is" in said[0]


def test_directory_in_its_place_is_said(net, tmp_path):
    path = tmp_path / "riptide.prom"
    path.mkdir()
    with metrics(net, path) as daemon:
        wait_until(lambda: f"metrics: {path}: write: Is a directory" in daemon.said(), "the line")
    assert os.listdir(tmp_path) == ["riptide.prom"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/none")],
                         ids=["fifo", "symlink"])
def test_metrics_replace_nothing_but_files(net, tmp_path, make):
    path = tmp_path / "riptide.prom"
    make(path)
    before = path.lstat()
    with metrics(net, path, "--log-level", "debug") as daemon:
        wait_until(lambda: daemon.said().count("tick:") > 3, "ticks")
        daemon.stop()
        said = [line for line in daemon.said().splitlines() if "metrics: " in line]
    assert len(said) == 1
    assert f"metrics: {path}: exists and is no regular file, so it is not replaced; it is" in said[0]
    assert path.lstat() == before
    assert os.listdir(tmp_path) == ["riptide.prom"]


def test_overflow_is_counted(net, tmp_path):
    path = tmp_path / "riptide.prom"
    for i in range(3):
        net.connect(f"203.0.113.{i + 1}")
    with metrics(net, path, "--max-destinations", "1"):
        figures = wait_figures(path, lambda now: now["riptide_ticks_total"] > 1, "two ticks")
    assert figures["riptide_overflow_total"] == 2 * figures["riptide_ticks_total"]
    assert figures["riptide_destinations"] == figures["riptide_destinations_limit"] == 1
    assert figures["riptide_routes_limit"] == 1


def test_full_disk_is_said_once_and_leaves_the_last_file_whole(net, tmp_path):
    disk = tmp_path / "disk"
    path = disk / "riptide.prom"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        net.learned("203.0.113.1", 20)
        with metrics(net, path) as daemon:
            wait_until(path.exists, "a file")

            def is_said():
                """What was full while a new file stood beside the old one has room again."""
                with pytest.raises(OSError), open(disk / "ballast", "ab", buffering=0) as ballast:
                    while True:
                        ballast.write(bytes(4096))
                return "No space left" in daemon.said()

            wait_until(is_said, "the line")
            read(path)
            wait_window(net.host, "203.0.113.1")
            (disk / "ballast").unlink()
            wait_until(lambda: "written again" in daemon.said(), "the line")
            assert daemon.said().count("No space left") == 1
    finally:
        subprocess.run(["umount", disk], check=True)


def test_daemon_says_the_same_on_its_socket(net, tmp_path):
    path = tmp_path / "riptide.prom"
    net.learned("203.0.113.1", 20)
    with metrics(net, path):
        wait_figures(path, lambda now: now["riptide_routes{state=applied}"] == 1, "a route")
        before = read(path)
        said = figures_of(net.host.run(*AS_NOBODY, RIPTIDE, "metrics").stdout)
        after = wait_figures(path, lambda now: now["riptide_ticks_total"]
                             > said["riptide_ticks_total"], "another round")
    assert said.keys() == before.keys()
    for name, value in said.items():
        low, high = sorted((before[name], after[name]))
        assert low <= value <= high, name


def test_socket_has_metrics_without_a_file(net):
    with Daemon(net.host) as daemon:
        figures = wait_until(lambda: figures_of(net.host.run(RIPTIDE, "metrics").stdout), "figures")
        assert figures["riptide_rules_in_place{family=ipv4}"] == 1
        net.host.run(RIPTIDE, "pause")
        figures = figures_of(net.host.run(RIPTIDE, "metrics").stdout)
        assert figures["riptide_rules_in_place{family=ipv4}"] == 0
        assert daemon.is_running()


def test_manual_has_each_metric_and_alerts_of_such_alone(net):
    with Daemon(net.host):
        text = net.host.run(RIPTIDE, "metrics").stdout
    names = set(re.findall("^# TYPE ([a-z0-9_]+) ", text, re.MULTILINE))
    manual = (REPOSITORY / "docs/operations.md").read_text()
    alerts = manual.partition("```yaml\n")[2].partition("```")[0]
    assert set(re.findall("riptide_[a-z0-9_]+", alerts)) <= names
    assert "absent(riptide_build_info)" in alerts  # the one that needs no series to fire
    table = "".join(line for line in manual.splitlines() if line.startswith("| `riptide_"))
    assert set(re.findall("`(riptide_[a-z0-9_]+)`", table)) == names


def test_without_a_daemon_there_are_no_metrics(host):
    done = host.run(RIPTIDE, "metrics", check=False)
    assert done.returncode == 3
    assert "not running" in done.stderr
    assert done.stdout == ""
