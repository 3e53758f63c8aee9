# SPDX-License-Identifier: MIT
"""riptide model: files or open connections in, times for windows out."""

import json
import subprocess
import sys

import pytest
from control import riptide_json
from netns import REPOSITORY, RIPTIDE


def test_model_reads_files(host, tmp_path):
    (tmp_path / "sizes").write_text("bytes,count\n14480,3\n100000,1\n")
    (tmp_path / "rtts").write_text("# ms\n100\n")
    document = riptide_json(host, "model", "10", "70", "--sizes", str(tmp_path / "sizes"),
                            "--rtts", str(tmp_path / "rtts"))
    ten, seventy = document["windows"]
    assert (ten["initcwnd"], seventy["initcwnd"]) == (10, 70)
    assert ten["share_within_rounds"] == [0.75, 0.75, 1]
    assert seventy["share_within_rounds"] == [1]
    assert ten["time_ms_percentiles"][49] == 200 and ten["time_ms_percentiles"][98] == 400
    text = host.run(RIPTIDE, "model", "--sizes", tmp_path / "sizes", "--rtts", tmp_path / "rtts")
    assert [line.split()[0] for line in text.stdout.splitlines()] == [
        "INITCWND", "10", "25", "50", "100"]


def test_model_is_drawn(host, tmp_path):
    (tmp_path / "some").write_text("20000\n100\n")
    document = riptide_json(host, "model", "10", "70", "--sizes", str(tmp_path / "some"),
                            "--rtts", str(tmp_path / "some"))
    subprocess.run([sys.executable, "-IB", REPOSITORY / "lab" / "plot_model.py", tmp_path / "model.png"],
                   input=json.dumps(document), text=True, check=True)
    assert (tmp_path / "model.png").read_bytes().startswith(b"\x89PNG")


def test_model_looks_at_connections(net):
    net.learned("203.0.113.1", 40)
    net.connect("203.0.113.2")  # has sent nothing, so it says nothing of sizes
    document = riptide_json(net.host, "model")
    assert (document["sizes"], document["rtts"]) == (1, 1)
    ten, *_, hundred = document["windows"]
    assert ten["rounds_mean"] > 1
    assert hundred["rounds_mean"] <= ten["rounds_mean"]


@pytest.mark.parametrize("arguments, status, says", [
    (("0",), 2, "model: a window is a number of segments from 1"),
    (("ten",), 2, "model: a window is a number of segments from 1"),
    (("--mss", "0"), 2, "model: --mss 0: a segment has at least one byte"),
    ((), 1, "model: no open connection has sent data: give --sizes and --rtts"),
    (("--sizes", "{right}"), 1, "model: no open connection has sent data: give --rtts"),
    (("--rtts", "{right}"), 1, "model: no open connection has sent data: give --sizes"),
    (("--sizes", "/nowhere"), 1, "model: /nowhere: No such file or directory"),
    (("--rtts", "/nowhere", "--sizes", "/nowhere"), 1,
     "model: /nowhere: No such file or directory"),
    (("--rtts", "{wrong}", "--sizes", "{wrong}"), 1,
     "model: {wrong} line 2: give VALUE or VALUE,WEIGHT, both above 0"),
    (("--rtts", "{header}", "--sizes", "{negative}"), 1,
     "model: {negative} line 1: give VALUE or VALUE,WEIGHT, both above 0"),
    (("--rtts", "/dev/null", "--sizes", "/dev/null"), 1, "model: /dev/null: no values in it"),
])
def test_model_says_what_is_wrong(host, tmp_path, arguments, status, says):
    files = {}
    for name, text in (("wrong", "15000\nfifteen\n"), ("right", "15000\n"),
                       ("negative", "-5\n15000\n"), ("header", "ms,weight\n125\n")):
        files[name] = tmp_path / f"{name}.csv"
        files[name].write_text(text)
    done = host.run(RIPTIDE, "model", *(word.format(**files) for word in arguments), check=False)
    assert (done.returncode, done.stdout) == (status, "")
    usage = " (riptide model --help)" if status == 2 else ""
    assert done.stderr == f"riptide: {says.format(**files)}{usage}\n"
