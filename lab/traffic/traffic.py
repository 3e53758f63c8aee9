# SPDX-License-Identifier: MIT
"""Runs `traffic`: transfers over real TCP between network namespaces, timed by one process."""

import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
LIMIT_S = 60


class Transfer(NamedTuple):
    """An object from one host to another. The receiver opens the connection and asks, so that a new
    connection costs a round trip more than its data."""
    sender: str
    receiver: str
    n_bytes: int
    at_s: float = 0.0
    congestion: str = "cubic"
    reuse: bool = False  # uses an idle connection between the same ends
    idle_s: float = 0.0  # how long the connection stays open afterwards
    tag: str = "-"  # returned with the result


class Look(NamedTuple):
    at_s: float


class Result(NamedTuple):
    """The result of a transfer. Times are from its start; 0: not reached. Counts
    are of this transfer only, from the sender's kernel."""
    tag: str
    sender: str
    receiver: str
    n_bytes: int
    reused: int
    complete: int
    start_us: int  # since the plan began
    first_byte_us: int
    done_us: int
    cwnd_first: int  # segments, after the first call of send(2)
    data_segs: int
    retrans_segs: int
    retrans_first: int  # before all of the first flight was acknowledged
    min_rtt_us: int
    mss_bytes: int
    busy_us: int  # time with unacknowledged data, in steps of jiffies


class Traffic:
    """A running `traffic`; hosts: {namespace: IPv4 address}. Idle connections stay open until
    their idle time or this object ends."""

    def __init__(self, hosts):
        self.process = subprocess.Popen([str(BUILD / "lab" / "traffic" / "traffic")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        universal_newlines=True)
        self.go_s = 0  # time.monotonic() at the start of the last plan
        self._names = list(hosts)
        self._numbers = {name: n for n, name in enumerate(hosts)}
        for name, address in hosts.items():
            self._say(f"host {name} {address}")

    def _say(self, line):
        self.process.stdin.write(line + "\n")

    def _order(self, order):
        if isinstance(order, Look):
            return f"look {order.at_s * 1e6:.0f}"
        return (f"move {order.at_s * 1e6:.0f} {self._numbers[order.sender]} {self._numbers[order.receiver]}"
                f" {order.n_bytes} {order.congestion} {order.reuse:d} {order.idle_s * 1e6:.0f}")

    def run(self, transfers, limit_s=LIMIT_S, looks_s=(), on_look=None):
        """Carries out transfers, with times from now on; yields results as they arrive. At
        each of the times looks_s, on_look(sender, receiver, cwnd) is called for each open connection
        that has sent."""
        orders = sorted([*transfers, *(Look(at_s) for at_s in looks_s)], key=lambda one: one.at_s)
        for order in orders:
            self._say(self._order(order))
        self._say(f"go {limit_s * 1e6:.0f}")
        self.process.stdin.flush()
        self.go_s = time.monotonic()
        for line in self.process.stdout:
            if line == "done\n":
                return
            kind, *fields = line.split(",")
            if kind == "look":
                sender, receiver, cwnd = map(int, fields)
                on_look(self._names[sender], self._names[receiver], cwnd)
                continue
            transfer = orders[int(kind)]
            yield Result(transfer.tag, transfer.sender, transfer.receiver, transfer.n_bytes, *map(int, fields))
        raise RuntimeError("traffic ended; what it said is above")

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # it may have ended already
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
