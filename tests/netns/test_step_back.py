# SPDX-License-Identifier: MIT
"""Windows that do harm step back: a buffer that cannot take them, on a path of the WAN in a box."""

import contextlib
import re
import selectors
import signal
import socket
import threading
import time

import pytest
import wanbox
from connection import TCP_CONGESTION, Connection, tcp_info
from control import riptide_json, status, write_state
from netns import RIPTIDE, Daemon, Host, wait_until
from test_metrics import figures_of

PER_SECOND = 50
N_BYTES = 60_000
CWND = 80  # the buffer holds 20 segments
WAIT_S = 8


class Load:
    """PER_SECOND connections that send N_BYTES each, one after the other from one thread."""

    def __init__(self, near, far, address):
        self.near, self.far, self.address = near, far, address
        self.ended = []  # when opened, segments sent, and those sent again
        self.selector = selectors.DefaultSelector()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def share_again(self, begin, end):
        found = [each for each in self.ended if begin <= each[0] < end]
        return sum(again for _, _, again in found) / sum(sent for _, sent, _ in found)

    def _run(self):
        with self.far.socket(socket.AF_INET) as server:
            server.bind((self.address, 0))
            server.listen(1000)
            server.setblocking(False)
            self.selector.register(server, selectors.EVENT_READ, self._accept)
            peer, due = server.getsockname(), time.monotonic()
            while not self.is_over.is_set():
                for key, _ in self.selector.select(max(0, due - time.monotonic())):
                    key.data(key.fileobj)
                while due <= time.monotonic():
                    self._open(peer)
                    due += 1 / PER_SECOND
            for key in list(self.selector.get_map().values()):
                key.fileobj.close()

    def _open(self, peer):
        near, opened = self.near.socket(socket.AF_INET), time.monotonic()
        near.setblocking(False)
        near.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")
        near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * N_BYTES)
        with contextlib.suppress(BlockingIOError):
            near.connect(peer)

        def connected(_):
            near.send(bytes(N_BYTES))
            near.shutdown(socket.SHUT_WR)
            self.selector.modify(near, selectors.EVENT_READ, answered)

        def answered(_):
            info = tcp_info(near)
            self.ended.append((opened, info.data_segs_out, info.retrans_segs))
            self._close(near)
        self.selector.register(near, selectors.EVENT_WRITE, connected)

    def _accept(self, server):
        far, _ = server.accept()
        far.setblocking(False)
        self.selector.register(far, selectors.EVENT_READ, self._read)

    def _read(self, far):
        if not far.recv(1 << 20):
            self._close(far)

    def _close(self, end):
        self.selector.unregister(end)
        end.close()


@pytest.fixture
def shallow():
    """Two hosts 50 ms and 50 Mbit/s apart, whose bottleneck holds 20 segments."""
    near, far = Host("near"), Host("far")
    addresses = {near.name: ["10.9.1.1"], far.name: ["10.9.2.1"]}
    ports = [f"name={name},netns={name},net={address}/32" for name, (address,) in addresses.items()]
    with wanbox.Wan(ports, ["delay=25ms,rate=50mbit,buffer=30000b"], addresses):
        yield near, far
    near.close()
    far.close()


def cwnds(near, far, n):
    """With what new connections start."""
    found = set()
    for _ in range(n):
        connection = Connection(near, far, "10.9.2.1", source="10.9.1.1")
        found.add(connection.cwnd())
        connection.close()
    return found


def test_windows_that_do_harm_step_back_and_are_tried_again_twice_as_late(shallow, cgroup, tmp_path):
    near, far = shallow
    config = tmp_path / "riptided.conf"
    text = f"[compute]\ncwnd-min = {CWND}\ncwnd-max = {CWND}\n[apply]\npacing-percent = 0\nholdout-percent = 20\n"
    config.write_text(f"{text}step-back-wait = {WAIT_S}s\n")

    def stepped_back():
        apply = status()["apply"]
        return apply["stepped_back_s"] > 0 and apply
    with Load(near, far, "10.9.2.1") as load, Daemon(
            near, "--apply", "connections", "--cgroup", cgroup, "--destroy-events", "--config", config,
            has_rules=False) as riptided:
        began = time.monotonic()
        apply = wait_until(stepped_back, "stepping back", 60)
        back = time.monotonic()
        assert (apply["step_backs"], apply["effect"]["verdict"]) == (1, "harms")
        assert 0 < apply["stepped_back_s"] <= WAIT_S
        assert cwnds(near, far, 20) == {10}
        said = status()
        assert said["health"] == "off" and said["reason"].startswith(f"stepped back for {WAIT_S} s: time +")
        near.run(RIPTIDE, "pause")
        assert near.run(RIPTIDE, "resume").stdout.startswith("resumed; still stepped back for 00:0")
        assert cwnds(near, far, 1) == {10}
        verdict = near.run(RIPTIDE, "verdict", check=False)
        assert verdict.returncode == 4 and verdict.stdout.startswith("windows harm: ")
        assert re.search(r"\nstepped back: windows are given again in [0-9:]+, `riptide status` says why\n$", verdict.stdout)
        assert riptide_json(near, "verdict", check=False)["stepped_back_s"] > 0
        assert "\n  retry      windows are given again in " in near.run(RIPTIDE, "status").stdout
        assert "nothing at present, per connection: stepped back for" in near.run(RIPTIDE, "explain", "10.9.2.1").stdout
        figures = figures_of(near.run(RIPTIDE, "metrics").stdout)
        assert (figures["riptide_stepped_back"], figures["riptide_step_backs_total"]) == (1, 1)

        assert stepped_back()["effect"] == apply["effect"]
        wait_until(lambda: not stepped_back(), "the end of the first wait")
        again = time.monotonic()
        assert CWND in cwnds(near, far, 20)
        held_out = apply["effect"]["again_held_out_percent"] / 100
        assert load.share_again(back, again - 1) < held_out + 0.01 < load.share_again(began, back)
        assert wait_until(stepped_back, "stepping back again", 60)["step_backs"] == 2
        lines = riptided.said().splitlines()
        for line in (f"windows per connection: off: stepped back for {WAIT_S} s: time +", "windows per connection: on again",
                     f"windows per connection: off: stepped back for {2 * WAIT_S} s: time +"):
            assert len([each for each in lines if line in each]) >= 1, line
        config.write_text(f"{text}step-back-percent = 0\n")
        riptided.process.send_signal(signal.SIGHUP)
        wait_until(lambda: CWND in cwnds(near, far, 5), "windows at once")
        assert status()["apply"]["stepped_back_s"] == 0


def test_months_of_gains_do_not_hide_harm_that_begins(shallow, cgroup, tmp_path):
    near, far = shallow
    state = tmp_path / "state"
    write_state(state, {})
    cells = {"window": (4_000_000, 3), "holdout": (1_000_000, 4)}  # connections, doublings of a round trip
    books = [f"{arm} bytes=32768 rtt_us=50000 control=loss n={n} n_again=0 time={n * doublings << 10},"
             f"{n * doublings ** 2 << 20} again=0,0" for arm, (n, doublings) in cells.items()]
    state.write_text("\n".join([state.read_text() + "riptide books 1", *books, "holdout_percent=20 trial_percent=0\n"]))
    with Load(near, far, "10.9.2.1"), Daemon(
            near, "--apply", "connections", "--cgroup", cgroup, "--destroy-events", "--cwnd-min", CWND, "--cwnd-max", CWND,
            "--pacing-percent", 0, "--holdout-percent", 20, "--state", state, has_rules=False) as riptided:
        assert "outcomes of connections: 5000000\n" in riptided.said()
        assert status()["apply"]["effect"]["verdict"] == "helps"
        wait_until(lambda: status()["apply"]["stepped_back_s"] > 0, "stepping back", 60)
        assert "off: stepped back for 600 s: time +" in riptided.said()
