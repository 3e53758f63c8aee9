# SPDX-License-Identifier: MIT
"""riptided --all-netns: a worker for each network namespace below a cgroup, one program for all."""

import contextlib
import os
import re
import signal
import socket
import time
from pathlib import Path

import cgroups
import pytest
from connection import Connection
from control import PATH, one_line, riptide_json, status
from netns import RIPTIDE, RIPTIDED, Daemon, Host, join, snapshot, subscriptions, wait_until
from unit import as_unit

SHARED = "203.0.113.1"  # a peer in each network, and never the same host


class Pod:
    """A namespace with a process, and a link to a peer that answers for one address."""

    def __init__(self, cwnd=None):
        self.host, self.world = Host("pod"), Host("peer")
        join(self.host, "eth0", self.world, "eth0")
        self.host.batch("addr add 10.0.0.2/24 dev eth0\nlink set eth0 up\nroute add default via 10.0.0.1")
        self.world.batch("addr add 10.0.0.1/24 dev eth0\nlink set eth0 up\n"
                         "route add local 203.0.113.0/24 dev lo")
        self.process = self.host.start("sleep", "3600")
        self.cookie = cookie_of_netns(self.host)
        self.learned = None
        if cwnd:
            wait_until(lambda: self.host.is_ready() and self.world.is_ready(), "links up")
            self.learned = Connection(self.host, self.world, SHARED)
            self.learned.grow(cwnd)

    def starts(self):
        """The first window of a new connection, segments."""
        connection = Connection(self.host, self.world, SHARED)
        cwnd = connection.cwnd()
        connection.close()
        return cwnd

    def is_right(self):
        return self.starts() == self.learned.cwnd()

    def control(self):
        return f"{PATH}.{self.cookie}"

    def end_process(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.learned:
            self.learned.close()
        self.host.close()
        self.world.close()


def cookie_of_netns(host):
    with host.entered(), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        return int.from_bytes(one.getsockopt(socket.SOL_SOCKET, 71, 8), "little")


@pytest.fixture
def pods(cgroup):
    """A function that makes pods in a cgroup; they end with the test."""
    with contextlib.ExitStack() as stack:
        def make(*cwnds):
            made = []
            for cwnd in cwnds:
                made.append(Pod(cwnd))
                stack.callback(made[-1].close)
            return made
        yield make


@pytest.fixture
def daemon(host, cgroup):
    """A function that starts it on a host of its own."""
    for left in sockets():
        left.unlink()

    @contextlib.contextmanager
    def start(*options, **more):
        with Daemon(host, "--all-netns", "--apply", "connections", "--cgroup", cgroup, *options,
                    has_rules=False, **more) as one:
            yield one
    return start


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid):
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the second if it ends between open and read
        return True


def worker_of(pod):
    return status(pod.control())["pid"]


def has_answer(pod):
    with contextlib.suppress(OSError):
        return status(pod.control())["round"]


def sockets():
    return sorted(Path(PATH).parent.glob("control.*"))


def has_learned(pod):
    with contextlib.suppress(OSError):
        return status(pod.control())["destinations"]


def wait_windows(*pods):
    """Waits for windows without a connection: one that opens too early would count as a sample."""
    for pod in pods:
        wait_until(lambda pod=pod: has_learned(pod), "a destination")
        wait_until(pod.is_right, "its window")


def test_each_namespace_has_windows_of_its_own(pods, daemon):
    """The same address is another host in each."""
    made = pods(30, 60, 45)
    before = [snapshot(pod.host) for pod in made]
    with daemon() as one:
        wait_windows(*made)
        assert [snapshot(pod.host) for pod in made] == before
        for pod in made:
            assert status(pod.control())["netns"] == {"number": pod.cookie, "cgroup": "/"}
            assert status(pod.control())["apply"]["given"] > 0
            assert f"riptided: netns {pod.cookie}: network namespace of process " in one.said()
    assert [pod.starts() for pod in made] == [10, 10, 10]
    assert sockets() == []


def test_no_message_queues_for_a_socket_that_nobody_reads(pods, daemon, tmp_path):
    """Of the first process none, of workers destroy events alone."""
    made, text, config = pods(30), "[compute]\npolicy = careful\n", tmp_path / "riptided.conf"
    config.write_text(text)
    with daemon("--config", config, "--policy", "careful") as one:
        wait_until(lambda: all(map(has_answer, made)), "a round")
        assert subscriptions(one.pid) == set()
        assert subscriptions(worker_of(made[0])) == {4}
        assert "no connection is held out" not in one.said()
        config.write_text(text + "cwnd-max = 60\n")
        one.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "100 -> 60" in one.said(), "the reload")
        assert subscriptions(one.pid) == set()


def test_fifty_namespaces_come_and_go(pods, daemon):
    with daemon("--max-share", "5%", interval="500ms") as one, cgroups.Maps(one.pid) as maps:
        made = []
        for wave in range(5):
            made += pods(*(20 + wave * 10 + i for i in range(10)))
            wait_windows(*made)
        assert {pod.cookie for pod in made} <= set(maps.netns())
        gone, stay = made[::2], made[1::2]
        for pod in gone:
            pod.end_process()
        wait_until(lambda: not any(os.path.exists(pod.control()) for pod in gone), "their ends")
        wait_until(lambda: not {pod.cookie for pod in gone} & set(maps.netns()), "room in the map")
        assert {pod.starts() for pod in gone} == {10}
        wait_windows(*stay)
        made = stay + pods(*range(25, 35))
        wait_windows(*made)
        assert {pod.cookie for pod in made} <= set(maps.netns()) and "ended with" not in one.said()


def test_hundreds_of_processes_are_one_namespace(pods, daemon):
    (pod,) = pods(30)
    for _ in range(300):
        pod.host.start("sleep", "3600")
    with daemon() as one:
        wait_windows(pod)
        assert len(children(one.pid)) <= 3  # its own, the pod's, and that of these tests
        pod.end_process()  # other processes keep the namespace
        before = status(pod.control())["round"]["number"]
        wait_until(lambda: status(pod.control())["round"]["number"] > before + 100, "some scans")
        assert pod.is_right()


@pytest.mark.parametrize("user", [(), ("--user", "nobody")], ids=["root", "nobody"])
def test_nothing_is_left_of_one_that_is_killed(pods, daemon, user):
    made = pods(30, 60)
    with daemon(*user) as one:
        wait_windows(*made)
        workers = children(one.pid)
        held = worker_of(made[0])
        os.kill(held, signal.SIGSTOP)
        one.kill()
        one.process.returncode = 0  # killed by the test
        assert [pod.starts() for pod in made] == [10, 10]  # also from one that is stopped
        os.kill(held, signal.SIGCONT)
        wait_until(lambda: all(map(is_gone, workers)), "the end of its workers")
    if not user:
        assert sockets() == []


def test_a_worker_that_dies_begins_again_and_no_other_notices(pods, daemon):
    made = pods(30, 60)
    with daemon() as one:
        wait_windows(*made)
        victim, other = worker_of(made[0]), worker_of(made[1])
        for delay_s in (1, 2):
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: made[0].starts() == 10, "the end of its windows")
            assert made[1].is_right()
            line = (f"netns {made[0].cookie}".replace("netns", "network namespace")
                    + f", cgroup /: its worker ended with signal 9; it begins again after {delay_s} s")
            wait_until(lambda: line in one.said(), "the line")
            wait_until(lambda: has_answer(made[0]), "another worker")
            wait_windows(made[0])
            victim = worker_of(made[0])
        assert worker_of(made[1]) == other


def test_a_worker_that_hangs_is_replaced(pods, daemon):
    made = pods(30, 60)
    with daemon() as one:
        wait_windows(*made)
        hung = worker_of(made[0])
        os.kill(hung, signal.SIGSTOP)
        wait_until(lambda: f"process {hung} had no round for 1" in one.said(), "its end", 60)
        wait_until(lambda: is_gone(hung) and has_answer(made[0]), "another worker")
        wait_windows(*made)


def test_a_first_round_may_take_longer_than_others(pods, daemon, preload):
    """As where many workers begin at once: here each waits for 12 s before it enters its namespace."""
    (pod,) = pods(30)
    slow = preload("""
        #include <sys/syscall.h>
        #include <unistd.h>
        int setns(int fd, int type)
        {
            sleep(12);
            return (int)syscall(SYS_setns, fd, type);
        }
    """)
    with daemon(command=("env", slow, RIPTIDED)) as one:
        wait_windows(pod)
        assert "had no round" not in one.said() and "its worker ended" not in one.said()


def test_a_reload_reaches_all_or_none(pods, daemon, tmp_path):
    made = pods(30, 60)
    config = tmp_path / "riptided.conf"
    config.write_text("[compute]\npolicy = paper\ncwnd-max = 50\n[observe]\nmax-share = off\n")
    with daemon("--config", config) as one:
        wait_until(lambda: [pod.starts() for pod in made] == [made[0].learned.cwnd(), 50], "windows")
        config.write_text("[compute]\npolicy = paper\ncwnd-max = 20\n[observe]\nmax-share = off\n")
        one.process.send_signal(signal.SIGHUP)
        wait_until(lambda: [pod.starts() for pod in made] == [20, 20], "the new bound")
        workers = children(one.pid)
        config.write_text("[compute]\ncwnd-max = 9999999\n")
        one.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "SIGHUP: nothing is changed: " in one.said(), "the refusal")
        config.write_text("[apply]\nmark = 7\n")
        one.process.send_signal(signal.SIGHUP)
        wait_until(lambda: one.said().count("SIGHUP: nothing is changed: ") == 2, "the refusal")
        assert [pod.starts() for pod in made] == [20, 20] and set(children(one.pid)) >= set(workers)
        (late,) = pods(40)
        wait_until(lambda: late.starts() == 20, "the bound of now")


def test_a_pause_is_of_one_namespace(pods, daemon):
    made = pods(30, 60)
    with daemon():
        wait_windows(*made)
        made[0].host.run(RIPTIDE, "pause")
        assert made[0].starts() == 10 and made[1].is_right()
        made[1].host.run(RIPTIDE, "resume", "--netns", made[0].host.name)
        wait_windows(*made)


def test_tools_ask_for_the_namespace_that_they_are_in(host, pods, daemon, cgroup):
    made = pods(30, 60)
    with daemon():
        wait_windows(*made)
        for pod in made:
            for shown in (riptide_json(pod.host, "show"), riptide_json(host, "show", "--netns", pod.host.name)):
                assert [row["starts_with"] for row in shown["routes"]] == [pod.learned.cwnd()]
        listed = {row["netns"]: row for row in riptide_json(host, "netns")["netns"]}
        for pod in made:
            row = listed[pod.cookie]
            assert (row["health"], row["cgroup"], row["pid"]) == ("ok", "/", worker_of(pod))
            assert row["name"] == pod.host.name
            assert row["destinations"] == 1
        table = host.run(RIPTIDE, "netns").stdout
        assert table.splitlines()[0].split() == ["NETNS", "NAME", "PROCESS", "HEALTH", "CONNS", "DESTINATIONS", "CGROUP"]
        assert len(table.splitlines()) == len(listed) + 1
        assert f"netns      {made[0].cookie}, cgroup /\n" in made[0].host.run(RIPTIDE, "status").stdout
        cgroups.enter(cgroup.parent)
        done = made[0].world.run(RIPTIDE, "status", check=False)
        cgroups.enter(cgroup)
        assert done.returncode == 3 and done.stderr.startswith(
            "riptide: status: riptided does not serve this network namespace: it has no process below --cgroup")
    done = host.run(RIPTIDE, "netns", check=False)
    assert done.returncode == 3 and "not running" in done.stderr


def test_sockets_that_are_left_alone_are_no_namespaces(host, tmp_path):
    for n in (7, 8):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(tmp_path / f"control.{n}"))
    line = one_line(host.run(RIPTIDE, "netns", "--control", tmp_path / "control", check=False), 3)
    assert line.startswith("riptide: netns: riptided is not running")


def test_a_socket_that_is_left_alone_hides_no_riptided(pods, tmp_path):
    (pod,) = pods(None)
    with socket.socket(socket.AF_UNIX) as left, Daemon(pod.host, "--control", tmp_path / "control") as one:
        left.bind(str(tmp_path / f"control.{pod.cookie}"))
        left.listen()
        left.close()
        wait_until(lambda: one.is_running() and (tmp_path / "control").exists(), "its socket")
        assert riptide_json(pod.host, "status", "--control", tmp_path / "control")["pid"] == one.pid


def test_the_name_of_a_cgroup_controls_no_terminal(pods, daemon, cgroup):
    (pod,) = pods(None)
    below = cgroup / os.fsdecode(b"a\x1b\xc2\x9b1m\xff~")
    below.mkdir()
    (below / "cgroup.procs").write_text(str(pod.process.pid))
    with daemon() as one:
        wait_until(lambda: has_answer(pod), "its worker")
        assert status(pod.control())["netns"]["cgroup"] == "/a???1m?~"
        assert f"netns {pod.cookie}: network namespace of process {pod.process.pid}, cgroup /a???1m?~, " in one.said()


def test_metrics_of_all_are_for_one_collector(pods, daemon, tmp_path):
    from prometheus_client.parser import text_string_to_metric_families

    made = pods(30, 60)
    with daemon("--metrics", tmp_path / "riptide.prom"):
        wait_windows(*made)
        files = [tmp_path / f"riptide.{pod.cookie}.prom" for pod in made]
        wait_until(lambda: all(file.exists() for file in files), "the files")
        assert not (tmp_path / "riptide.prom").exists()
        series = set()
        for pod, file in zip(made, files):
            for family in text_string_to_metric_families(file.read_text()):
                for sample in family.samples:
                    assert sample.labels["netns"] == str(pod.cookie), sample
                    key = (sample.name, *sorted(sample.labels.items()))
                    assert key not in series
                    series.add(key)
        os.kill(worker_of(made[0]), signal.SIGKILL)
        wait_until(lambda: not files[0].exists(), "that nobody takes it for alive")
    assert list(tmp_path.iterdir()) == []


def test_what_is_known_of_a_namespace_is_kept_as_long_as_it_is_there(host, pods, daemon, tmp_path):
    made, state = pods(30, 60), tmp_path / "state"
    files = [tmp_path / f"state.{pod.cookie}" for pod in made]
    strangers = [tmp_path / "state.5x", tmp_path / "state.007"]
    for file in strangers:
        file.touch()
        os.utime(file, (1000, 1000))
    old = tmp_path / "state.1000000007"
    old.touch()
    os.utime(old, (time.time() - 3600,) * 2)
    with daemon("--state", state):
        wait_windows(*made)
        wait_until(lambda: all(file.exists() for file in files) and state.exists(), "the files")
        wait_until(lambda: not old.exists(), "the end of what nobody has")
    for pod in made:
        pod.learned.close()
        pod.learned = None
    with daemon("--state", state):
        wait_until(lambda: all(map(has_answer, made)), "what was known")  # a connection would count
        assert [pod.starts() > 10 for pod in made] == [True, True]
        made[0].end_process()
        wait_until(lambda: not files[0].exists(), "its end")
        assert files[1].exists()
    os.utime(files[1], (1000, 1000))  # of an earlier boot, when another namespace had its number
    with daemon("--state", state) as one:
        wait_until(lambda: has_answer(made[1]), "a round")
        assert f"netns {made[1].cookie}: {files[1]}: " in one.said() and "starting empty" in one.said()
        assert made[1].starts() == 10
    assert all(file.exists() for file in strangers)


def test_without_a_state_no_file_is_taken_for_one(pods, daemon, tmp_path):
    (pod,) = pods(None)
    other = tmp_path / "none.7"
    other.touch()
    os.utime(other, (1000, 1000))
    with daemon("--state", "none", command=("env", "-C", tmp_path, RIPTIDED)):
        wait_until(lambda: has_answer(pod), "a round")
    assert other.exists()


@pytest.mark.parametrize("words, line", [
    (("--apply", "routes"), "--all-netns gives windows per connection only"),
    (("--apply", "both"), "--all-netns gives windows per connection only"),
    (("--apply", "connections", "--netns", "x"), "--all-netns and --netns: not both"),
    (("--apply", "connections", "--control", 87 * "x"), "--control: with --all-netns at most 86 bytes"),
    (("--apply", "connections", "--cgroup", "/tmp"), "--cgroup: /tmp is no directory of cgroup2"),
])
def test_what_makes_no_sense_with_it_is_refused(host, words, line):
    done = host.run(RIPTIDED, "--all-netns", *words, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1) and line in done.stderr


def test_without_the_privileges_its_own_namespace_is_served_and_a_line_says_why(host, pods, daemon, tmp_path):
    (pod,) = pods(30)
    config = tmp_path / "riptided.conf"
    config.write_text("[apply]\nall-netns = yes\n")

    def severity():
        findings = riptide_json(host, "doctor", "--config", config, check=False)["findings"]
        return next(finding["severity"] for finding in findings if finding["check"] == "namespaces")
    assert severity() == "note"
    lost = "-sys_admin,-sys_ptrace"
    with daemon(command=("setpriv", "--bounding-set", lost, "--inh-caps", lost, "--", RIPTIDED)) as one:
        wait_until(lambda: "CAP_SYS_PTRACE" in one.said(), "the line")
        wait_until(lambda: len(sockets()) == 1, "its own")
        wait_until(lambda: severity() == "error", "the doctor")
        assert pod.starts() == 10
    with daemon():
        wait_windows(pod)
        wait_until(lambda: severity() == "ok", "the doctor, of the worker at home")


def test_what_the_drop_in_gives_is_enough(pods, daemon, open_cgroup):
    """With the capabilities and system calls of riptided.service and its drop-in, and no other rights."""
    made = pods(30, 60)
    with daemon("--control", "none", "--cgroup", open_cgroup, command=as_unit(RIPTIDED, has_drop_in=True)) as one:
        wait_until(lambda: all(pod.starts() > 10 for pod in made), "windows")

        def held(pid):
            status = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            return int(status["CapEff"], 16)
        for pid in children(one.pid):  # a worker of another namespace may not have begun
            wait_until(lambda: held(pid) in (1 << 12, 1 << 12 | 1 << 39), "CAP_NET_ADMIN, CAP_BPF")


def test_another_one_beside_it_harms_nothing(host, pods, daemon, tmp_path):
    made = pods(30, 60)

    def files():
        """Of the pods: a process that this test starts may be seen in another namespace, too."""
        return [path for path in [*sockets(), *tmp_path.glob("*.prom")]
                if any(str(pod.cookie) in path.name for pod in made)]
    with daemon("--metrics", tmp_path / "riptide.prom"):
        wait_windows(*made)
        wait_until(lambda: len(files()) == 2 * len(made), "sockets and metrics")
        for words, line in ((("--metrics", tmp_path / "riptide.prom"), " already manages this network"),
                            (("--dry-run",), ": would set ")):
            with daemon(*words) as other:
                wait_until(lambda: line in other.said(), "its lines")
        assert len(files()) == 2 * len(made)
        wait_windows(*made)


def test_a_dry_run_says_what_each_would_get(pods, daemon):
    (pod,) = pods(30)
    with daemon("--dry-run") as one:
        wait_until(lambda: f"netns {pod.cookie}: would set {SHARED} initcwnd " in one.said(), "a window")
        assert pod.starts() == 10 and sockets() == []


def test_flush_says_that_other_namespaces_go_on(pods, daemon):
    made = pods(30, 40)
    with daemon():
        wait_windows(*made)
        assert "\nof other network namespaces windows go on: `riptide netns`" in made[0].host.run(RIPTIDE, "flush").stdout
        assert made[0].starts() == 10 and made[1].is_right()


def test_a_dry_run_of_one_round_ends_with_the_last_worker(host, pods, cgroup):
    made = pods(30, 40)
    words = (RIPTIDED, "--all-netns", "--apply", "connections", "--cgroup", cgroup, "--policy", "paper", "--dry-run", "--once")
    done = host.run(*words)
    for pod in made:
        assert done.stderr.count(f": netns {pod.cookie}: would set {SHARED} initcwnd ") == 1
    assert "all workers have ended" in done.stderr and "begins again" not in done.stderr
    done = host.run("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", "--", *words, check=False)
    assert done.returncode == 1 and "needs CAP_SYS_ADMIN" in done.stderr


def test_a_program_that_somebody_detaches_is_attached_again(pods, daemon, cgroup):
    (pod,) = pods(30)
    below = cgroup / "below"
    below.mkdir()
    with daemon("--cgroup", below) as one:
        (below / "cgroup.procs").write_text(str(pod.process.pid))
        wait_until(lambda: has_answer(pod), "its worker")
        assert status(pod.control())["netns"]["cgroup"] == "/"
        (cgroup / "cgroup.procs").write_text(str(pod.process.pid))
        below.rmdir()
        wait_until(lambda: f"windows per connection: disabled: cgroup: {below} is gone; " in one.said(), "that it is gone")
        wait_until(lambda: not os.path.exists(pod.control()), "the end of its worker")
        below.mkdir()
        wait_until(lambda: "windows per connection: enabled again" in one.said(), "the program on the new one")
        (below / "cgroup.procs").write_text(str(pod.process.pid))
        cgroups.enter(below)
        wait_windows(pod)
        cgroups.enter(cgroup)


def metric(pod, name):
    text = pod.host.run(RIPTIDE, "metrics").stdout
    return float(re.search(f"^riptide_{name}(?:{{[^}}]*}})? (.*)$", text, re.M).group(1))


def test_while_somebody_keeps_the_program_away_no_worker_takes_its_windows_for_given(host, pods, daemon, cgroup):
    (pod,) = pods(30)

    def rounds():
        return status(pod.control())["round"]["number"]

    def window():
        return riptide_json(pod.host, "explain", SHARED)["window"]["cwnd"]
    with daemon("--policy", "careful", "--holdout-percent", "0", "--step-back-percent", "0") as one:
        wait_until(lambda: has_learned(pod) and pod.starts() > 10, "a window")
        with cgroups.Maps(one.pid) as maps:
            maps.detach()
        with cgroups.OtherProgram(cgroup, is_alone=True):
            wait_until(lambda: status(pod.control())["health"] == "off", "that it knows")
            why = status(pod.control())["reason"]
            assert why.startswith(f"cgroup: {cgroup}: another program is attached to it, or above it, and allows no other; ")
            assert riptide_json(pod.host, "explain", SHARED)["program"]["reason"] == why
            assert why in pod.host.run(RIPTIDE, "show").stdout
            assert metric(pod, "program_in_place") == 0
            rows = riptide_json(host, "netns")["netns"]
            assert {row["health"] for row in rows if row["netns"] == pod.cookie} == {"off"}
            begun, before, flights = rounds(), window(), metric(pod, "first_flight_segments_total")
            for _ in range(10):
                connection = Connection(pod.host, pod.world, SHARED)
                connection.send(60_000)
                connection.near.close()
                connection.far.close()
            wait_until(lambda: rounds() > begun + 5, "rounds")
            assert metric(pod, "first_flight_segments_total") == flights
            assert window() <= before
        wait_until(lambda: status(pod.control())["health"] == "ok", "that it knows")
        assert pod.starts() > 10


def test_a_worker_whose_rounds_are_longer_than_an_outage_knows_of_it(pods, daemon):
    (pod,) = pods(30)
    with daemon(interval="5s") as one:
        wait_until(lambda: has_learned(pod), "a round", deadline_s=30)
        with cgroups.Maps(one.pid) as maps:
            maps.detach()
        line = f"netns {pod.cookie}: windows per connection: disabled: the program was detached from "
        wait_until(lambda: line in one.said(), "the line", deadline_s=30)
        wait_until(lambda: f"netns {pod.cookie}: windows per connection: enabled again" in one.said(), "its end", deadline_s=30)
        wait_until(pod.is_right, "its window")


def test_a_namespace_beyond_those_that_a_program_serves_is_refused_by_their_number(pods, daemon):
    (pod,) = pods(30)
    with daemon() as one:
        wait_windows(pod)
        with cgroups.Maps(one.pid) as maps:
            maps.fill()
        pods(40)
        line = "cannot start: one program gives windows to at most 4096 network namespaces"
        wait_until(lambda: line in one.said(), "the line")
        assert pod.is_right()


def test_one_that_serves_nothing_yet_is_found(host, daemon, cgroup):
    below = cgroup / "below"
    below.mkdir()

    def finding():
        findings = riptide_json(host, "doctor", check=False)["findings"]
        return next(finding for finding in findings if finding["check"] == "daemon")
    none = "riptided does not serve this network namespace: it has no process below --cgroup"
    with daemon("--cgroup", below) as one:
        wait_until(lambda: os.path.exists(PATH), "its socket")
        assert riptide_json(host, "netns") == {"netns": []}
        done = host.run(RIPTIDE, "netns")
        assert none in done.stderr and len(done.stdout.splitlines()) == 1
        for words in (("status",), ("pause",)):
            done = host.run(RIPTIDE, *words, check=False)
            assert done.returncode == 3 and done.stderr.startswith(f"riptide: {words[0]}: {none}")
        assert finding()["summary"].startswith(none) and "start riptided" not in finding()["remedy"]
        below.rmdir()
        wait_until(lambda: "windows per connection: disabled: " in one.said(), "that it is gone")
        assert f"network namespace: cgroup: {below} is gone; " in host.run(RIPTIDE, "netns").stderr
        assert f"cgroup: {below} is gone; " in finding()["summary"]
        below.mkdir()
        cgroups.enter(below)
        wait_until(sockets, "a worker")
        assert os.path.exists(PATH) and none not in host.run(RIPTIDE, "netns").stderr
        cgroups.enter(cgroup)
        wait_until(lambda: not sockets(), "its end")
        assert riptide_json(host, "netns") == {"netns": []}
    assert not os.path.exists(PATH)
