# SPDX-License-Identifier: MIT
"""riptided --metrics: Prometheus text in a file, judged by the reference parser, the kernel and the
log."""

import os
import re

import pytest
from netns import (AS_NOBODY, BY_ROUTES, REPOSITORY, RIPTIDE, RIPTIDED, Daemon, routes, wait_until,
                   wait_window)
from prometheus_client.parser import text_string_to_metric_families

TYPES = {"counter", "gauge"}


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
    """A daemon that writes the file each fifteen rounds."""
    return Daemon(net.host, "--metrics", path, *options, interval=interval, **more)


def wait_figures(path, condition, what):
    """The figures of the first file for which the condition holds."""
    def look():
        figures = path.exists() and figures_of(path.read_text())
        return figures and condition(figures) and figures
    return wait_until(look, what)


def test_figures_are_those_of_kernel_and_log(net, tmp_path):
    path = tmp_path / "riptide.prom"
    for i, cwnd in enumerate((12, 25, 70)):
        net.learned(f"203.0.113.{i + 1}", cwnd)
    net.host.ip("route", "add", "192.0.2.0/24", "via", "10.0.0.1", "table", "100")
    net.host.ip("rule", "add", "to", "203.0.113.3", "lookup", "100")
    net.host.ip("route", "add", "203.0.113.3", "via", "10.0.0.2", "table", "100")
    with metrics(net, path, *BY_ROUTES, "--log-level", "debug") as daemon:
        wait_window(net.host, "203.0.113.1")
        figures = wait_figures(path, lambda now: now["riptide_routes{state=applied}"] == 2
                               and now["riptide_dumps_total"] > 3, "two routes")
        kernel = routes(net.host)
        said = daemon.said()
    given = [line for line in said.splitlines() if " initcwnd " in line]
    assert len(kernel) == len(given) == 2
    assert figures["riptide_routes{state=left_alone}"] == 1 == said.count("left alone")
    assert figures["riptide_destinations"] == 3
    assert figures["riptide_route_write_failures_total"] == 0
    assert figures["riptide_rules_in_place{family=ipv4}"] == 1
    assert figures["riptide_rules_in_place{family=ipv6}"] == 1
    assert figures["riptide_interval_seconds"] == 0.01
    assert 0 < figures["riptide_cpu_seconds_total"] < 10


def test_interval_bounds_how_often_it_is_written(net, tmp_path):
    path = tmp_path / "riptide.prom"
    with metrics(net, path, "--log-level", "debug", interval="500ms") as daemon:
        wait_until(lambda: daemon.said().count("tick:") > 3, "ticks")
        assert figures_of(path.read_text())["riptide_dumps_total"] == 1
        wait_until(lambda: figures_of(path.read_text())["riptide_dumps_total"] > 10, "the next one")


def test_file_is_never_seen_in_part_and_the_socket_says_the_same(net, tmp_path):
    path = tmp_path / "riptide.prom"
    net.learned("203.0.113.1", 20)
    net.host.run(RIPTIDED, "--once", "--policy", "paper", "--metrics", path)
    assert figures_of(path.read_text())["riptide_routes{state=applied}"] == 1
    with metrics(net, path):
        before = wait_figures(path, lambda now: now["riptide_dumps_total"] > 3, "a file")
        said = figures_of(net.host.run(*AS_NOBODY, RIPTIDE, "metrics").stdout)
        after = wait_figures(path, lambda now: now["riptide_dumps_total"]
                             > said["riptide_dumps_total"], "another round")
        wait_figures(path, lambda now: now["riptide_dumps_total"]
                     > said["riptide_dumps_total"] + 100, "many files")
    assert os.listdir(tmp_path) == []
    assert said.keys() == before.keys()
    for name, value in said.items():
        low, high = sorted((before[name], after[name]))
        assert low <= value <= high, name


@pytest.mark.parametrize("apply", ["routes", "both", "program"])
def test_connections_that_open_with_a_window_count_by_each_backend(net, daemon, apply):
    net.learned("203.0.113.1", 30)
    with daemon(apply, "--policy", "careful"):
        def has_opened():
            net.short("203.0.113.1", 5000)
            return figures_of(net.host.run(RIPTIDE, "metrics").stdout)["riptide_connections_total{opened=with_window}"] > 0
        wait_until(has_opened, "one that counts")


def test_socket_has_metrics_without_a_file_each_in_the_manual_and_alerts_there_as_well(net):
    with Daemon(net.host):
        text = net.host.run(RIPTIDE, "metrics").stdout
        assert figures_of(text)["riptide_rules_in_place{family=ipv4}"] == 1
        net.host.run(RIPTIDE, "pause")
        paused = figures_of(net.host.run(RIPTIDE, "metrics").stdout)
        assert paused["riptide_rules_in_place{family=ipv4}"] == 0
    names = set(re.findall("^# TYPE ([a-z0-9_]+) ", text, re.MULTILINE))
    manual = (REPOSITORY / "docs/operations.md").read_text()
    alerts = set(re.findall("alert: (.*?)(?:  #|$)", (REPOSITORY / "docs/effect.rules.yaml").read_text(), re.MULTILINE))
    rows = "".join(line.split("|")[1] for line in manual.splitlines() if line.startswith("| `Riptide"))
    assert set(re.findall("`(.*?)`", rows)) == alerts
    table = "".join(line for line in manual.splitlines() if line.startswith("| `riptide_"))
    assert {name for name in re.findall("`(riptide_[a-z0-9_]+)`", table) if "_effect_" not in name} == names
