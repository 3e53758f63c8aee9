# SPDX-License-Identifier: MIT
"""riptided --metrics: Prometheus text in a file, judged by the reference parser, the kernel and the
log."""

import contextlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

import pytest
from control import add_experiment, outcome_line, write_state
from netns import (AS_NOBODY, BY_ROUTES, DEADLINE_S, REPOSITORY, RIPTIDE, RIPTIDED, Daemon, routes, wait_until,
                   wait_window)
from prometheus_client.parser import text_string_to_metric_families


def figures_of(text):
    """{name{labels}: value}, as the reference parser reads the text."""
    figures = {}
    for family in text_string_to_metric_families(text):
        assert family.type in ("counter", "gauge") and family.documentation.endswith("."), family.name
        assert family.name.startswith("riptide_") and family.samples, family.name
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            figures[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return figures


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
    with Daemon(net.host, "--metrics", path, *BY_ROUTES, "--log-level", "debug", interval="10ms") as daemon:
        wait_window(net.host, "203.0.113.1")
        figures = wait_figures(path, lambda now: now["riptide_routes{state=applied}"] == 2
                               and now["riptide_dumps_total"] > 3, "two routes")
        kernel = routes(net.host)
        said = daemon.said()
    given = [line for line in said.splitlines() if " initcwnd " in line]
    assert len(kernel) == len(given) == 2
    assert figures["riptide_routes{state=left_alone}"] == 1 == said.count("left alone")
    assert figures.items() >= {
        "riptide_destinations": 3, "riptide_route_write_failures_total": 0, "riptide_interval_seconds": 0.01,
        "riptide_rules_in_place{family=ipv4}": 1, "riptide_rules_in_place{family=ipv6}": 1}.items()
    assert 0 < figures["riptide_cpu_seconds_total"] < 10


def test_the_walk_of_the_kernel_as_a_dump_begins_counts_as_its_cost(net, preload):
    """With a scope that few connections match all of it is within this call, which here takes 50 ms."""
    slow = preload("""
        #include <sys/socket.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
        {
            clock_t end = clock() + CLOCKS_PER_SEC / 20;
            while (clock() < end)
                ;
            return syscall(SYS_sendmsg, fd, message, flags);
        }
    """)
    with Daemon(net.host, "--max-share", "0.05", command=("env", slow, RIPTIDED)):
        wait_until(lambda: figures_of(net.host.run(RIPTIDE, "metrics").stdout)["riptide_interval_seconds"] > 0.1,
                   "rounds further apart")


def test_interval_bounds_how_often_it_is_written(net, tmp_path):
    path = tmp_path / "riptide.prom"
    with Daemon(net.host, "--metrics", path, interval="500ms"):  # the file each fifteen rounds
        def n_dumps():
            return path.exists() and figures_of(path.read_text())["riptide_dumps_total"]
        first = wait_until(n_dumps, "a file")
        assert wait_until(lambda: n_dumps() > first and n_dumps(), "the next one") > first + 10


def test_file_is_never_seen_in_part_and_the_socket_says_the_same(net, tmp_path):
    path = tmp_path / "riptide.prom"
    net.learned("203.0.113.1", 20)
    net.host.run(RIPTIDED, "--once", "--policy", "paper", "--metrics", path)
    assert not path.exists()  # whose removal nobody would be there for
    with Daemon(net.host, "--metrics", path, interval="10ms"):
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


def test_socket_has_metrics_without_a_file_each_in_the_manual_and_alerts_there_as_well(net):
    with Daemon(net.host):
        text = net.host.run(RIPTIDE, "metrics").stdout
        assert figures_of(text)["riptide_rules_in_place{family=ipv4}"] == 1
        net.host.run(RIPTIDE, "pause")
        assert figures_of(net.host.run(RIPTIDE, "metrics").stdout)["riptide_rules_in_place{family=ipv4}"] == 0
    names = set(re.findall("^# TYPE ([a-z0-9_]+) ", text, re.MULTILINE))
    manual = (REPOSITORY / "docs/operations.md").read_text()
    alerts = set(re.findall("alert: (.*?)(?:  #|$)", RULES.read_text(), re.MULTILINE))
    rows = "".join(line.split("|")[1] for line in manual.splitlines() if line.startswith("| `Riptide"))
    assert set(re.findall("`(.*?)`", rows)) == alerts
    table = "".join(line for line in manual.splitlines() if line.startswith("| `riptide_"))
    assert {name for name in re.findall("`(riptide_[a-z0-9_]+)`", table) if "_effect_" not in name} == names


# docs/riptide.dashboard.json and docs/effect.rules.yaml in a Prometheus that scrapes a riptided. No
# distribution that tests run on has Grafana: the dashboard's form is checked, and its queries to
# Prometheus.

RULES = REPOSITORY / "docs/effect.rules.yaml"
DASHBOARD = json.loads((REPOSITORY / "docs/riptide.dashboard.json").read_text())
PANELS = DASHBOARD["panels"]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel.get("targets", [])]
PROMETHEUS, PORT = "127.0.0.1:9090", 9091


def test_the_form_is_what_grafana_reads():
    assert DASHBOARD["schemaVersion"] >= 36 and DASHBOARD["title"] and DASHBOARD["uid"]
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource" and variables["datasource"]["query"] == "prometheus"
    assert variables["instance"]["query"]["query"] == "label_values(riptide_build_info, instance)"
    assert len({panel["id"] for panel in PANELS}) == len({panel["title"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        assert panel["type"] in ("row", "stat", "timeseries", "heatmap")
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            refs = [target["refId"] for target in panel["targets"]]
            assert len(set(refs)) == len(refs) > 0


def ask(host, what, **parameters):
    """Queries Prometheus; returns the data of the answer."""
    url = f"http://{PROMETHEUS}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
    with host.entered(), urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
        return json.load(answer)["data"]


def has_begun(host):
    with contextlib.suppress(OSError):
        return ask(host, "rules")


@contextlib.contextmanager
def prometheus(host, path):
    """A Prometheus that scrapes that port; rules run each second, not each five minutes."""
    config, rules = path / "prometheus.yml", path / "rules.yaml"
    rules.write_text(RULES.read_text().replace("interval: 5m", "interval: 1s"))
    config.write_text(json.dumps({
        "global": {"scrape_interval": "500ms", "scrape_timeout": "400ms",
                   "evaluation_interval": "500ms"},
        "rule_files": [str(rules)],
        "scrape_configs": [{"job_name": "riptide", "metrics_path": "/metrics.txt",
                            "static_configs": [{"targets": [f"127.0.0.1:{PORT}"]}]}]}))
    with host.running("prometheus", f"--config.file={config}", f"--storage.tsdb.path={path}/data",
                      f"--web.listen-address={PROMETHEUS}", "--log.level=error"):
        wait_until(lambda: has_begun(host), "Prometheus")
        yield


def instant(host, expression):
    """Values by labels, without NaN."""
    for variable, value in (("$__rate_interval", "10s"), ("$__range", "1h"), ("$instance", ".*")):
        expression = expression.replace(variable, value)
    found = ask(host, "query", query=expression)["result"]
    values = {tuple(sorted(one["metric"].items())): float(one["value"][1]) for one in found}
    return {labels: value for labels, value in values.items() if not math.isnan(value)}


@pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus")
def test_each_question_has_an_answer_of_a_riptided_that_helps(net, cgroup, tmp_path):
    """Its outcomes are those of the example in docs/verdict.md; its connections are real."""
    state = tmp_path / "state"
    outcomes = (outcome_line(0, 2, 4, 4112, 6673783, 11909495942, 807731, 1323386798),
                outcome_line(1, 2, 4, 232, 475136, 1033895936, 37683, 61740155))

    write_state(state, {"203.0.113.1": 30})
    add_experiment(state, *outcomes)
    files = sys.executable, "-m", "http.server", PORT, "--directory", tmp_path
    with net.host.running(*files, stderr=subprocess.DEVNULL), prometheus(net.host, tmp_path), \
            Daemon(net.host, "--apply", "program", "--cgroup", cgroup, "--policy", "careful", "--holdout-percent", 5,
                   "--state", state, "--metrics", tmp_path / "metrics.txt"):
        missing = [(title, target["expr"]) for title, target in TARGETS]

        def is_answered():
            net.short("203.0.113.1", 40_000)
            missing[:] = [(title, expression) for title, expression in missing if not instant(net.host, expression)]
            return not missing
        try:
            wait_until(is_answered, "all answers")
        finally:
            assert not missing, missing
        effect = instant(net.host, 'riptide:effect_time{bound="estimate"}')
        assert list(effect.values()) == [pytest.approx(-0.25, abs=0.03)]
        rules = [rule for group in ask(net.host, "rules")["groups"] for rule in group["rules"]]
        assert {rule["health"] for rule in rules} == {"ok"}
        assert [rule["name"] for rule in rules if rule.get("alerts")] == []
