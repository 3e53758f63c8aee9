# SPDX-License-Identifier: MIT
"""docs/riptide.dashboard.json and docs/effect.rules.yaml in a Prometheus that scrapes a riptided.
No distribution that tests run on has Grafana: the dashboard's form is checked, and its queries to
Prometheus."""

import contextlib
import itertools
import json
import math
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

import pytest
from control import add_experiment, outcome_line, write_state
from netns import DEADLINE_S, REPOSITORY, Daemon, wait_until

RULES = REPOSITORY / "docs/effect.rules.yaml"
DASHBOARD = json.loads((REPOSITORY / "docs/riptide.dashboard.json").read_text())
PANELS = DASHBOARD["panels"]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel.get("targets", [])]
PROMETHEUS, PORT = "127.0.0.1:9090", 9091


def cells(panel):
    at = panel["gridPos"]
    return set(itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])))


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
    for one, other in itertools.combinations(PANELS, 2):
        assert not cells(one) & cells(other), (one["title"], other["title"])


@contextlib.contextmanager
def served(host, directory):
    """Serves the files of a directory on the host; its port."""
    server = host.start(sys.executable, "-m", "http.server", PORT, "--directory", directory, stderr=subprocess.DEVNULL)
    yield
    server.kill()
    server.wait()


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
        "global": {"scrape_interval": "500ms", "scrape_timeout": "400ms", "evaluation_interval": "500ms"}, "rule_files": [str(rules)],
        "scrape_configs": [{"job_name": "riptide", "metrics_path": "/metrics.txt",
                            "static_configs": [{"targets": [f"127.0.0.1:{PORT}"]}]}]}))
    process = host.start("prometheus", f"--config.file={config}", f"--storage.tsdb.path={path}/data", f"--web.listen-address={PROMETHEUS}",
                         "--log.level=error")
    try:
        wait_until(lambda: has_begun(host), "Prometheus")
        yield
    finally:
        process.kill()
        process.wait()


def instant(host, expression):
    """Values by labels, without NaN."""
    for variable, value in (("$__rate_interval", "10s"), ("$__range", "1h"), ("$instance", ".*")):
        expression = expression.replace(variable, value)
    found = ask(host, "query", query=expression)["result"]
    return {tuple(sorted(one["metric"].items())): float(one["value"][1]) for one in found if not math.isnan(float(one["value"][1]))}


@pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus")
def test_each_question_has_an_answer_of_a_riptided_that_helps(net, cgroup, tmp_path):
    """Its outcomes are those of the example in docs/verdict.md; its connections are real."""
    state = tmp_path / "state"
    outcomes = (outcome_line(0, 2, 4, 4112, 493, 6673783, 11909495942, 807731, 1323386798),
                outcome_line(1, 2, 4, 232, 23, 475136, 1033895936, 37683, 61740155))

    write_state(state, {"203.0.113.1": 30})
    add_experiment(state, *outcomes)
    with served(net.host, tmp_path), prometheus(net.host, tmp_path), \
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
