# SPDX-License-Identifier: MIT
"""The control socket without `riptide`: raw requests, and states made by hand."""

import contextlib
import ipaddress
import json
import os
import re
import socket
import time
from pathlib import Path

from netns import DEADLINE_S, RIPTIDE, wait_until

PATH = "/run/riptide/control"


def connect(path=PATH):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(str(path))  # blocks until it is accepted; with a timeout it would fail
    client.settimeout(DEADLINE_S)
    return client


def read_line(client):
    """Reads an answer, as bytes; if the daemon closes early, the received part."""
    return client.makefile("rb").readline()


def ask(request, path=PATH):
    """The answer to a request, which is an object or the bytes of a line."""
    line = request if isinstance(request, bytes) else json.dumps(request).encode()
    with connect(path) as client:
        client.sendall(line + b"\n")
        return json.loads(read_line(client))


def status(path=PATH):
    answer = ask({"request": "status"}, path)
    assert answer["ok"], answer
    return answer


def is_served(path=PATH):
    """Whether a daemon accepts clients there: it binds its socket before it listens."""
    with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
        connect(path).close()
        return True


def wait_rounds(n=2, path=PATH):
    """Waits for n rounds, the last of which began after the call, of a daemon that may just start."""
    def number():
        return (status(path)["round"] or {"number": 0})["number"]  # none yet
    wait_until(lambda: is_served(path), "the control socket")
    before = number()
    wait_until(lambda: number() >= before + n, f"{n} rounds")


def wait_given(dst, path=PATH):
    """Waits until new connections to dst start with a window of ours, which it returns: `status` counts a destination
    from its first sample on, and the program or a route has its window only at the end of that round."""
    def starts_with():
        answer = ask({"request": "explain", "dst": dst}, path)
        return answer["reason"] is None and answer["starts_with"]
    return wait_until(starts_with, f"a window for {dst}")


def rows_by_name(answer):
    """The rows of a list, each by the names of its columns."""
    return [dict(zip(answer["columns"], row)) for row in answer["routes"]]


def riptide_json(host, *arguments, check=True):
    """What `riptide ARGUMENTS --json` prints."""
    return json.loads(host.run(RIPTIDE, *arguments, "--json", check=check).stdout)


def write_state(path, windows):
    """A state as lib/compute/state.c describes it, of {destination: window}."""
    lines = [f"riptide state 2 saved_ns={time.time_ns()}"]
    lines += [f"{dst} cwnd={cwnd} samples=1 age_ns={10**9}" for dst, cwnd in windows.items()]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")


def outcome_line(arm, size, rtt, *sums, phase=0):
    """Outcomes of a class, as lib/agent/state_text.c describes them; arm: 0, with a window; 1, held out."""
    return f"outcome={((phase * 8 + size) * 6 + rtt) * 2 + arm} sums={','.join(map(str, sums))}\n"


def add_experiment(path, *outcomes, percent=5, phase=0, since_s=1, suspended=0, until_ns=0, wait_ns=0, shown_ns=0):
    """Adds the lines, and that of their experiment, to a state."""
    text = Path(path).read_text()
    Path(path).write_text(f"{text}riptide agent 2\n{''.join(outcomes)}"
                          f"experiment={percent} phase={phase} since_s={since_s} suspended={suspended} "
                          f"until_ns={until_ns} wait_ns={wait_ns} given_ns=0 shown_ns={shown_ns}\n")


def many(n, cwnd=40):
    """Windows of n destinations."""
    first = int(ipaddress.ip_address("198.18.0.0"))
    return {str(ipaddress.ip_address(first + i)): cwnd for i in range(n)}


def resident_kb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"no VmRSS of process {pid}")


def processor_s(pid):
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def one_line(done, status=1):
    """What a command says of its failure: one sentence, broken at 80 columns."""
    assert done.returncode == status, done
    assert done.stdout == ""
    first, *others = done.stderr.splitlines()
    assert all(line.startswith("  ") and len(line) <= 80 for line in others), done.stderr
    return " ".join([first, *map(str.strip, others)]) + "\n"


def whole(text):
    """A text whose broken lines are whole again, and whose result follows its arrow."""
    return re.sub(r"^  => +", "  => ", re.sub(r"\n {15}(?=\S)", " ", text), flags=re.MULTILINE)


def labelled(label, text):
    """A line that has a label, as of `riptide status` and `riptide show DST`."""
    return f"  {label:12} {text}"


def derived(host, dst, *options):
    """What `riptide show DST` prints."""
    return whole(host.run(RIPTIDE, "show", dst, *options).stdout)
