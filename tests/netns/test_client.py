# SPDX-License-Identifier: MIT
"""riptide before a daemon of another version, or one that means harm: no answer ends it by a signal."""

import contextlib
import json
import socket
import threading

import pytest
from netns import RIPTIDE

LONG = "x" * 300
HUGE = 2**62
DST = "203.0.113.1"
CHANGE = {"time": 1, "by": LONG, "state": "applied", "initcwnd": 20}
WINDOW = {"connections": 1, "age_s": 1, "left_out": {f"reason {n} {LONG[:40]}": HUGE for n in range(6)}, "cwnd": 20}
COLUMNS = ["dst", "window", "by", "connections", "min_rtt_us", "reason"]


def explained(**members):
    return {"destination": DST, "starts_with": 20, **members}


def listed(*rows, columns=COLUMNS):
    return {"columns": columns, "routes": rows, "next": None}


ANSWERS = {
    "changes": (["show", DST], explained(changes=[CHANGE] * 4)),
    "left out": (["show", DST], explained(window=WINDOW)),
    "time": (["show", DST], explained(changes=[{**CHANGE, "time": HUGE}])),
    "types": (["show", DST], explained(changes=7, window=[], kernel="x", program=1, reason={})),
    "window": (["show"], listed([DST, HUGE, LONG, HUGE, HUGE, None])),
    "short row": (["show"], listed([DST], [], "x", {}, [None] * 6)),
    "no columns": (["show"], {"routes": [[DST, 20, "routes", 1, 1, None]]}),
    "other columns": (["show"], listed([DST], [7], columns=["x"])),
    "status": (["status"], {"health": "ok", "apply": {"last_minute": {"opened": HUGE}, "by": LONG}}),
    "round": (["status"], {"health": LONG, "reason": LONG * 5, "round": {"ago_s": 1e300}}),
    "history": (["status", "--history"], {"hours": [{"hour": HUGE, "with_window": HUGE}, 7]}),
    "effect": (["status", "--history"], {"hours": [{"effect": {"time": 1e300}, "paused_s": HUGE}]}),
    "verdict": (["verdict"], {"verdict": LONG, "reason": LONG, "time": {"change": -1}, "halves": {"low": 1e300}}),
    "hint": (["hint"], {"hints": [{"dst": LONG, "for_ms": HUGE, "cwnd_max": HUGE}, 7]}),
    "doctor": (["doctor"], {"health": LONG, "reason": LONG * 5, "do": LONG * 5, "state_failure": LONG * 5}),
}


@contextlib.contextmanager
def answering(path, answer):
    """A daemon that answers each request with the same document, in its network namespace or another one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve():
            with contextlib.suppress(OSError):  # it was shut down
                while True:
                    client, _ = listener.accept()
                    with client:
                        client.recv(4096)
                        client.sendall(json.dumps({"ok": True, **answer}).encode() + b"\n")
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("what", ANSWERS)
def test_client_survives_any_answer(host, tmp_path, what):
    command, answer = ANSWERS[what]
    with answering(tmp_path / "control", answer):
        for option in ([], ["--json"]):
            done = host.run(RIPTIDE, "--control", tmp_path / "control", *command, *option, check=False)
            assert 0 <= done.returncode <= 4 and done.stdout, done
            assert "Sanitizer" not in done.stderr


def test_client_reads_columns_by_name(host, tmp_path):
    columns = ["new", *reversed(COLUMNS)]
    with answering(tmp_path / "control", listed([1, "why", 30000, 2, "both", 40, DST], columns=columns)):
        said = host.run(RIPTIDE, "--control", tmp_path / "control", "show").stdout
    assert said.splitlines()[1].split() == [DST, "40", "30.0", "2", "4", "both"]


def test_status_counts_those_that_missed_their_window_as_without(host, tmp_path):
    minute = {"opened": 8, "given": 6, "held_out": 1, "without": 1, "cwnd_median": 30}
    answer = {"health": "ok", "missed": 2, "apply": {"by": "program", "last_minute": minute}}
    with answering(tmp_path / "control", answer):
        first, *others = host.run(RIPTIDE, "--control", tmp_path / "control", "status").stdout.splitlines()
    assert first == "riptide: working. 70 % of connections due a window got it, or are held out."
    assert "10 to destinations with a window: 6 with it, 1 held out, 3 without; " in " ".join(" ".join(others).split())


def test_list_without_end_is_left(host, tmp_path):
    with answering(tmp_path / "control", {**listed([DST, 20, "routes", 1, 1, None]), "next": 1}):
        done = host.run(RIPTIDE, "--control", tmp_path / "control", "show", check=False)
    assert done.returncode == 1 and "no end" in done.stderr


def test_client_shows_why_it_is_refused(host, tmp_path):
    """Even where reading the answer sets errno: the smallest number of all is not exact."""
    refusal = {"ok": False, "error": "it is not the time for that", "figure": 5e-324}
    with answering(tmp_path / "control", refusal):
        done = host.run(RIPTIDE, "--control", tmp_path / "control", "verdict", check=False)
    assert (done.returncode, done.stderr) == (1, "riptide: verdict: it is not the time for that\n")
