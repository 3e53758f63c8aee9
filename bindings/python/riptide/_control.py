# SPDX-License-Identifier: MIT
"""The control socket of riptided: docs/control.md has the requests and the permissions."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any

from ._errors import RefusedError
from ._estimator import Estimator
from ._handle import Handle
from ._types import Hint
from ._values import Duration, PrefixLike, duration_ns, path_bytes, prefix_text, shown

MAX_TIMEOUT_S = 1e9  # Python allows at most 292 years
MAX_LINE_BYTES = 4096  # riptided closes connections with longer lines


class Control(Handle):
    """A connection to riptided. Answers are the members of its JSON, without "ok".

    `path` is that of its socket; `timeout`, above 0, is how long the daemon may take for a whole
    answer. A request that ends before its answer closes the connection. riptided closes one after
    30 s without a request; the next request then connects again.

    Errors, also of each request: FileNotFoundError and ConnectionRefusedError (no daemon),
    TimeoutError, other OSErrors of the socket; RefusedError if riptided refuses; TypeError and
    ValueError for values that do not fit into JSON, or into a line of 4096 bytes.
    """

    def __init__(self, path: str | os.PathLike[str] = "/run/riptide/control",
                 timeout: Duration = 5) -> None:
        timeout_ns = duration_ns("timeout", timeout)
        if timeout_ns == 0:
            raise ValueError("timeout: above 0")
        self._path = path_bytes(path)
        self._timeout_s = min(timeout_ns / 1e9, MAX_TIMEOUT_S)
        super().__init__(_connect(self._path, self._timeout_s), socket.socket.close)

    def fileno(self) -> int:
        """The fd of the socket, for selectors."""
        with self._guard as connection:
            return int(connection.fileno())

    def request(self, name: str, /, **members: Any) -> dict[str, Any]:
        """Sends a request of docs/control.md, by its name and members, and returns the answer."""
        if not isinstance(name, str):
            raise TypeError(f"name: no string: {shown(name)}")
        if "request" in members:
            raise TypeError("request: pass the name as the first argument, not as a member: "
                            f"{shown(members['request'])}")
        line = json.dumps({**members, "request": name}, allow_nan=False).encode() + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"request: {len(line)} bytes; riptided takes up to {MAX_LINE_BYTES}")
        return _read_answer(self._exchange(line))

    def status(self) -> dict[str, Any]:
        """The daemon's state: docs/schema/status.json."""
        return self.request("status")

    def show(self, prefix: PrefixLike | None = None) -> list[dict[str, Any]]:
        """The daemon's destinations, or those within `prefix`: dst, state, initcwnd, cwnd,
        connections, initrwnd (of the program); reason, if not as wanted.
        """
        members: dict[str, Any] = {} if prefix is None else {"prefix": prefix_text("prefix", prefix)}
        shown: list[dict[str, Any]] = []
        start: int | None = 0
        while start is not None:
            page = self.request("show", **members, **{"from": start})
            shown += [_read_row(page["columns"], row) for row in page["routes"]]
            start = page["next"]
        return shown

    def explain(self, dst: PrefixLike) -> dict[str, Any]:
        """How the daemon computed a window, or why there is none: docs/schema/explain.json.

        riptide.explain() instead computes it in this process, from the connections open now.
        """
        return self.request("explain", dst=prefix_text("dst", dst))

    def verdict(self) -> dict[str, Any]:
        """The effect of windows, or the reason why it is unknown: docs/schema/verdict.json."""
        return self.request("verdict")

    def hint(self, dst: PrefixLike, duration: Duration, *, cwnd_max: int = 0,
             off: bool = False) -> None:
        """Lowers windows within dst for a while: to cwnd_max segments, or disables them.

        One of these is required. Errors: those of Estimator.set_hint as well.
        """
        for_ms = duration_ns("duration", duration) // 1_000_000
        with self._use, Estimator(max_destinations=1) as judge:
            judge.set_hint(Hint(dst, cwnd_max=cwnd_max, off=off, until_ns=1))
        self.request("hint", dst=prefix_text("dst", dst), cwnd_max=int(cwnd_max), off=bool(off),
                     for_ms=for_ms)

    def remove_hint(self, dst: PrefixLike) -> None:
        """Removes the hint for exactly this prefix."""
        self.request("unhint", dst=prefix_text("dst", dst))

    def hints(self) -> list[dict[str, Any]]:
        """The hints in force, including those of the configuration (for_ms None).

        Each has dst; off; cwnd_min and cwnd_max (None: as for all); for_ms: time left.
        """
        hints: list[dict[str, Any]] = self.request("hints")["hints"]
        return hints

    def pause(self) -> None:
        """Disables windows, by lifting the rules and pausing the program."""
        self.request("pause")

    def resume(self) -> None:
        """Enables windows again."""
        self.request("resume")

    def _exchange(self, line: bytes) -> bytes:
        """Sends a line and reads one. If riptided has closed before it read the line, connects
        again, once.
        """
        with self._guard as connection:
            deadline_s = time.monotonic() + self._timeout_s
            try:
                try:
                    return _send_and_read(connection, line, deadline_s)
                except (BrokenPipeError, ConnectionResetError) as failure:
                    if failure.errno is None:  # it has read the line, and may have carried it out
                        raise
                with _connect(self._path, _left_s(deadline_s)) as another:
                    os.dup2(another.fileno(), connection.fileno(), inheritable=False)
                return _send_and_read(connection, line, deadline_s)
            except BaseException as failure:  # a late answer must not be read by the next request
                self._guard.c = None
                connection.close()
                if isinstance(failure, socket.timeout):  # TimeoutError from Python 3.10 on
                    raise TimeoutError("riptided gave no answer in time") from failure
                raise


def _read_answer(line: bytes) -> dict[str, Any]:
    """Reads riptided's answer, and removes "ok". Errors: RefusedError."""
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and answer.pop("ok", False):
        return answer
    raise RefusedError(answer["error"] if isinstance(answer, dict) and "error" in answer
                       else f"the answer of riptided is malformed: {shown(line)}")


def _connect(path: bytes, timeout_s: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        connection.connect(path)
        return connection
    except BaseException:
        connection.close()
        raise


def _left_s(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise socket.timeout
    return left_s


def _send_and_read(connection: socket.socket, line: bytes, deadline_s: float) -> bytes:
    """Errors that have an errno: the peer has closed and not read the end of the line. Linux gives
    EPIPE if a part was not sent, ECONNRESET if a part was not read.
    """
    connection.settimeout(_left_s(deadline_s))
    connection.sendall(line, socket.MSG_NOSIGNAL)
    chunks: list[bytes] = []
    while not chunks or not chunks[-1].endswith(b"\n"):
        connection.settimeout(_left_s(deadline_s))
        chunks.append(connection.recv(1 << 16))
        if not chunks[-1]:
            raise ConnectionResetError("riptided ended before the end of its answer")
    return b"".join(chunks)


def _read_row(columns: list[str], row: str) -> dict[str, Any]:
    """Reads a row with tabs between its cells; all except dst, state and reason are numbers."""
    places = dict(zip(columns, row.split("\t")))
    return {name: place if name in ("dst", "state", "reason") else int(place)
            for name, place in places.items()}
