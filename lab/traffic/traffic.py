# SPDX-License-Identifier: MIT
"""Runs `traffic`: transfers over real TCP between network namespaces, timed by one process."""

import contextlib
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
LIMIT_S = 60


@dataclass
class Transfer:
    """An object from one host to another. Pull: the receiver opens the connection and asks, so
    that a new connection costs a round trip more than its data. Push: the sender opens it."""
    sender: str
    receiver: str
    n_bytes: int
    at_s: float = 0.0
    kind: str = "pull"
    congestion: str = "cubic"
    reuse: bool = False  # uses an idle connection between the same ends
    idle_s: float = 0.0  # how long the connection stays open afterwards
    tag: str = "-"  # returned with the result; no spaces

    def __str__(self):
        fresh = "reuse" if self.reuse else "fresh"
        return (f"{self.kind} {self.at_s * 1e6:.0f} {self.tag} {self.sender} {self.receiver}"
                f" {self.n_bytes} {self.congestion} {fresh} {self.idle_s * 1e6:.0f}")


class Look(NamedTuple):
    at_s: float

    def __str__(self):
        return f"look {self.at_s * 1e6:.0f}"


class Result(NamedTuple):
    """The result of a transfer. Times are from its start; 0: not reached. Counts
    are of this transfer only, from the sender's kernel."""
    tag: str
    sender: str
    receiver: str
    kind: str
    n_bytes: int
    congestion: str
    reused: bool
    complete: bool
    start_us: int  # since the plan began
    connected_us: int
    first_byte_us: int
    done_us: int
    cwnd_first: int  # segments, after the first call of send(2)
    flight_first: int  # segments that had left by then
    peer_window_bytes: int  # at the same time
    cwnd_last: int
    data_segs: int
    retrans_segs: int
    retrans_first: int  # before all of the first flight was acknowledged
    retrans_bytes: int
    min_rtt_us: int
    mss_bytes: int
    busy_us: int  # time with unacknowledged data, in steps of jiffies


_TEXT = {"tag", "sender", "receiver", "kind", "congestion"}


def _read(line):
    return Result(*(field if name in _TEXT else int(field)
                    for name, field in zip(Result._fields, line.split(","))))


class Traffic:
    """A running `traffic`; hosts: {namespace: IPv4 address}. Idle connections stay open until
    their idle time or this object ends."""

    def __init__(self, hosts):
        self.process = subprocess.Popen([str(BUILD / "lab" / "traffic" / "traffic")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        universal_newlines=True)
        self.go_s = 0  # time.monotonic() at the start of the last plan
        for name, address in hosts.items():
            self.add_host(name, address)

    def add_host(self, name, address):
        self._say(f"host {name} {address}")

    def _say(self, line):
        self.process.stdin.write(line + "\n")

    def run(self, transfers, limit_s=LIMIT_S, looks_s=(), on_look=None):
        """Carries out transfers, with times from now on; yields results as they arrive. At
        each of the times looks_s, on_look(sender, receiver, cwnd) is called for each end of an open
        connection that has sent."""
        orders = [*transfers, *(Look(at_s) for at_s in looks_s)]
        for order in sorted(orders, key=lambda one: one.at_s):
            self._say(str(order))
        self._say(f"go {limit_s * 1e6:.0f}")
        self.process.stdin.flush()
        self.go_s = time.monotonic()
        for line in self.process.stdout:
            if line == "done\n":
                return
            if line.startswith("look,"):
                _, _, sender, receiver, cwnd = line.split(",")
                on_look(sender, receiver, int(cwnd))
                continue
            yield _read(line)
        raise RuntimeError("traffic ended; what it said is above")

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # it may have ended already
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
