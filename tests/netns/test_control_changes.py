# SPDX-License-Identifier: MIT
"""riptide hint, pause and resume: what they change and what they do not; destinations of a state."""

import json
import signal
import socket

import pytest
from control import ask, connect, derived, labelled, one_line, read_line, riptide_json, rows_by_name
from netns import AS_NOBODY, RIPTIDE, Daemon, routes, rules, wait_until, wait_window, windows


def hint(net, *words):
    return net.host.run(RIPTIDE, "hint", *words).stdout


def test_hint_lowers_windows_is_taken_back_and_passes(net):
    net.learned("203.0.113.1", 60)
    net.learned("198.51.100.1", 60)
    with Daemon(net.host, "--log-level", "debug") as daemon:
        for address in ("203.0.113.1", "198.51.100.1"):
            wait_until(lambda: windows(net.host).get(address, 0) >= 60, "a window")
        before = windows(net.host)
        riptide_json(net.host, "hint", "203.0.113.0/24", "--max", "20", "--for", "10h")
        wait_until(lambda: windows(net.host).get("203.0.113.1") == 20, "the hint")
        assert windows(net.host)["198.51.100.1"] == before["198.51.100.1"]
        removed = riptide_json(net.host, "hint", "203.0.113.0/24", "--remove")
        assert removed == {"removed": "203.0.113.0/24", "is_kept": False, "reason": None}
        wait_until(lambda: windows(net.host) == before, "the end of the hint")
        again = net.host.run(RIPTIDE, "hint", "203.0.113.0/24", "--remove", check=False)
        assert one_line(again) == ("riptide: hint: 203.0.113.0/24: there is no hint for it; `riptide "
                                   "hint` lists them\n")
        hint(net, "203.0.113.0/24", "--max", "5", "--for", "1h")
        wait_until(lambda: windows(net.host).get("203.0.113.1") == 5, "below the minimum for all")
        assert hint(net, "203.0.113.0/24", "--max", "5", "--for", "1s") == (
            "203.0.113.0/24: at most 5 for 1.0 s, from the next round on; a restart ends it\n")
        assert hint(net, "192.0.2.0/24", "--off", "--for", "1s") == (
            "192.0.2.0/24: no window for 1.0 s, from the next round on; a restart ends it\n")
        wait_until(lambda: windows(net.host) == before, "the end of the hint")
        said = daemon.said()
    for line in ("windows at most 20\n", "windows off\n", "hint: 203.0.113.0/24: removed\n"):
        assert line in said


@pytest.mark.parametrize("apply", ["routes", "program"])
def test_off_withdraws_says_so_and_gives_back(net, daemon, apply):
    net.learned("203.0.113.1", 60)
    net.learned("198.51.100.1", 60)
    with daemon(apply, "--log-level", "debug") as riptided:
        def cwnds():
            return [net.starts(dst) > 10 for dst in ("203.0.113.1", "198.51.100.1")]

        wait_until(lambda: cwnds() == [True, True], "windows")
        assert hint(net, "203.0.113.0/24", "--off") == (
            "203.0.113.0/24: no window for 366 d, from the next round on; a restart ends it\n")
        wait_until(lambda: cwnds() == [False, True], "no window")
        why = "windows are off for 203.0.113.0/24"
        wait_until(lambda: f"203.0.113.1: withdrawn: {why}\n" in riptided.said(), "the line")
        document = riptide_json(net.host, "show", "203.0.113.1")
        assert (document["window"]["hint"], document["window"]["cwnd"]) == ("203.0.113.0/24", 0)
        assert (document["reason"], document["route"], document["program"]) == (why, None, None)
        said = derived(net.host, "203.0.113.1")
        line = labelled("why", f"{why}\n")
        assert said.startswith(f"203.0.113.1: connections start with 10 segments (the kernel's)\n{line}")
        assert labelled("do", "riptide hint lists hints\n") in said
        shown = {row["dst"]: row for row in rows_by_name(ask({"request": "show"}))}["203.0.113.1"]
        assert (shown["window"], shown["by"], shown["reason"]) == (0, None, why)
        # It is learned on, by all connections of it; the window is back with its end.
        assert hint(net, "203.0.113.0/24", "--off", "--for", "2s")
        wait_until(lambda: cwnds() == [True, True], "the window again")
        assert why not in derived(net.host, "203.0.113.1")


def test_hints_in_force_are_listed_and_sections_stay(net):
    sections = "[prefix 203.0.113.0/24]\noff = yes\ncwnd-min = 12\n[prefix 198.51.100.0/28]\ncwnd-max = 20\n"
    with Daemon(net.host, "--prefix-len4", "28", config=sections):
        assert riptide_json(net.host, "hint") == {"hints": []}
        for dst in ("203.0.113.0/28", "198.51.100.0/28", "192.0.2.0/25"):
            assert hint(net, dst, "--max", "5", "--for", "1h").startswith(f"{dst}: at most 5 for 60 min, ")
        hint(net, "198.51.100.0/28", "--remove")
        none = ask({"request": "hint", "dst": "192.0.2.0/28", "for_ms": 1000})
        assert none["error"].startswith("at most 0: must be 1 to 100, ")
        for words, said in (
                (("198.51.100.0/28", "--remove"),
                 "198.51.100.0/28: there is no hint for it; `riptide hint` lists them"),
                (("192.0.2.1", "--max", "20", "--for", "1s"),
                 "192.0.2.1: is part of a destination, whose prefix has 28 bits (prefix-len4, -len6)"),
                (("192.0.2.0/28", "--max", "101", "--for", "1s"),
                 "at most 101: must be 1 to 100, the largest cwnd-max; --off: no window"),
                (("192.0.2.0/28", "--max", "5", "--for", "0s"), "--for (for_ms): a hint lasts 1 ms to 366 d")):
            done = net.host.run(RIPTIDE, "hint", *words, check=False)
            assert one_line(done) == f"riptide: hint: {said}\n"
    with Daemon(net.host):
        assert riptide_json(net.host, "hint") == {"hints": []}
        assert hint(net) == "no hint is in force\n"
        assert "hints" not in net.host.run(RIPTIDE, "status").stdout
        for words in (("--off",), ("--remove",)):
            assert max(map(len, hint(net, "2001:db8:1111:2222:3333:4444:5555:6666", *words).splitlines())) <= 80
        hint(net, "203.0.113.0/24", "--max", "20", "--for", "10h")
        hint(net, "2001:db8::/32", "--max", "9", "--off", "--for", "9h")
        first, second = riptide_json(net.host, "hint")["hints"]
        assert 0 < 36_000_000 - first["for_ms"] < 60_000
        assert (first["cwnd_max"], second["cwnd_max"], second["off"]) == (20, 9, True)
        said = net.host.run(*AS_NOBODY, RIPTIDE, "hint").stdout
        assert said == (f"{'203.0.113.0/24':39} at most 20     for another 10 h\n"
                        f"{'2001:db8::/32':39} no window      for another 9 h\n")
        assert riptide_json(net.host, "status")["hints"] == 2
        assert labelled("hints", "2 in force: riptide hint\n") in net.host.run(RIPTIDE, "status").stdout


def test_change_whose_client_has_gone_is_not_carried_out(net):
    with Daemon(net.host) as daemon:
        with daemon.stopped():
            done = net.host.run(RIPTIDE, "hint", "203.0.113.0/24", "--max", "20", "--for", "10h",
                                check=False)
            assert "no answer within 5 s" in one_line(done)
            with connect() as client:  # a client that only closes its sending side gets an answer
                client.sendall(b'{"request":"hints"}\n')
                client.shutdown(socket.SHUT_WR)
                daemon.process.send_signal(signal.SIGCONT)
                assert json.loads(read_line(client)) == {"ok": True, "hints": []}


def test_pause_and_resume_while_rules_are_looked_at(net):
    """Another program's rules change: whatever a running scan has seen, the final state is
    right."""
    with Daemon(net.host):
        wait_until(lambda: len(rules(net.host)) == 2, "the rules")
        for n in range(100):
            net.host.start("ip", "rule", *(("add", "del")[n % 2], "pref", 100, "lookup", 100))
            ask({"request": "pause"})
            ask({"request": "resume"})
        wait_until(lambda: len(rules(net.host)) == 2, "the rules again")


def test_pause_is_off_at_once_and_resume_loses_nothing(net):
    with Daemon.learned(net, {"203.0.113.1": 30, "2001:db8::1": 30}) as daemon:
        before = windows(net.host)
        assert riptide_json(net.host, "pause") == {"paused": True, "suspended_s": 0, "is_kept": False, "reason": None}
        assert rules(net.host) == []  # at once, before the answer
        assert windows(net.host) == before
        assert net.connect("203.0.113.1").cwnd() == 10
        wait_until(lambda: " paused for " in net.host.run(RIPTIDE, "status", "--history").stdout, "a second of it")
        # Routes that change meanwhile are followed.
        net.host.ip("route", "replace", "default", "via", "10.0.0.2")
        wait_until(lambda: routes(net.host)["203.0.113.1"]["gateway"] == "10.0.0.2", "the gateway")
        net.learned("203.0.113.2", 50)
        wait_window(net.host, "203.0.113.2")
        assert rules(net.host) == []
        for n in range(3):  # another program restores them
            for family, length in (("-4", 31), ("-6", 127))[:n + 1]:
                net.host.ip(family, "rule", "add", "pref", 32765, "iif", "lo", "ipproto", "tcp",
                            "lookup", 7230, "protocol", 230, "suppress_prefixlength", length)
            wait_until(lambda: not rules(net.host), "the end of the rules that came back")
        assert riptide_json(net.host, "resume") == {"paused": False, "suspended_s": 0, "is_kept": False, "reason": None}
        wait_until(lambda: len(rules(net.host)) == 2, "the rules")
        assert net.connect("2001:db8::1").cwnd() == before["2001:db8::1"]
        wait_until(lambda: "on again" in daemon.said(), "a line in the log")
        assert "windows off: paused" in daemon.said()
    assert rules(net.host) == []


def test_the_history_goes_on_over_a_restart_and_no_link_is_followed(net, tmp_path):
    state, other = tmp_path / "state", tmp_path / "other"
    history = tmp_path / "state.history"
    other.write_text("mine")
    net.learned("203.0.113.1", 30)

    def started():
        return Daemon(net.host, "--policy", "careful", "--state", state)

    def hours():
        return riptide_json(net.host, "status", "--history")["hours"]
    with started():
        wait_until(lambda: net.short("203.0.113.1", 5000) or hours()[-1]["with_window"] > 0, "one with a window")
        before = sum(hour["with_window"] for hour in hours())
    saved = json.loads(history.read_text())
    assert saved[0]["with_window"] > 0
    saved[0].update(held_out=12345678, suspended_s=1, paused_s=2, effect={"time": 1.5, "low": -.99, "high": 2.5})
    history.write_text(json.dumps(saved))
    with started():
        assert sum(hour["with_window"] for hour in hours()) >= before
        lines = net.host.run(RIPTIDE, "status", "--history").stdout.splitlines()
        assert lines[1].endswith("% +150 % (-99 to +250)") and max(map(len, lines)) <= 80
        assert lines[2].strip() == "paused for 2.0 s, suspended for 1.0 s"
    history.write_text("[{")
    with started() as daemon:
        wait_until(lambda: f"{history}: damaged, starting empty" in daemon.said(), "a warning")
    history.unlink()
    history.symlink_to(other)
    (tmp_path / "state.history.tmp").symlink_to(other)
    with started() as daemon:
        wait_until(lambda: "history not saved: " in daemon.said(), "a warning")
    assert other.read_text() == "mine" and history.is_symlink()
