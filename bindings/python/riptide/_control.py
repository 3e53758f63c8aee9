# SPDX-License-Identifier: MIT
"""The control socket of riptided: docs/control.md has the requests and the permissions."""

from __future__ import annotations

import json
import os
import socket
import time
from ipaddress import ip_network
from typing import Any

from ._convert import count, path_bytes, prefix_text, shown
from ._errors import RefusedError
from ._structs import PrefixLike

MAX_LINE_BYTES = 4096  # riptided closes connections with longer lines


class Control:
    """Requests to riptided. Each opens a connection of its own.

    Answers are the members of the daemon's JSON, without "ok"; `dst` is a network. `path` is that
    of its socket, `timeout` how many seconds it may take for a whole answer, above 0.

    Errors of each request: FileNotFoundError and ConnectionRefusedError (no daemon), TimeoutError,
    other OSErrors of the socket; RefusedError if riptided refuses; TypeError and ValueError for
    values that do not fit into JSON, or into a line of 4096 bytes.
    """

    def __init__(self, path: str | os.PathLike[str] = "/run/riptide/control",
                 timeout: float = 5) -> None:
        if count("timeout", timeout, "_ns") == 0:
            raise ValueError("timeout: above 0")
        self._path = path_bytes("path", path)
        self._timeout_s = timeout

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
        try:
            return _read_answer(self._exchange(line))
        except TimeoutError:
            raise TimeoutError("riptided gave no answer in time") from None

    def status(self) -> dict[str, Any]:
        """The daemon's state."""
        return self.request("status")

    def show(self, prefix: PrefixLike | None = None) -> list[dict[str, Any]]:
        """The daemon's destinations, or those within `prefix`: the columns of docs/control.md."""
        members = {} if prefix is None else {"prefix": prefix_text("prefix", prefix)}
        rows: list[dict[str, Any]] = []
        start: int | None = 0
        while start is not None:
            page = self.request("show", **members, **{"from": start})
            rows += [_with_network(dict(zip(page["columns"], row))) for row in page["routes"]]
            start = page["next"]
        return rows

    def explain(self, dst: PrefixLike) -> dict[str, Any]:
        """How the daemon computed a window, or why there is none."""
        return self.request("explain", dst=prefix_text("dst", dst))

    def verdict(self) -> dict[str, Any]:
        """The effect of windows, or the reason why it is unknown."""
        return self.request("verdict")

    def hint(self, dst: PrefixLike, duration: float, *, cwnd_max: int = 0,
             off: bool = False) -> None:
        """Lowers windows within dst for `duration` seconds: to cwnd_max segments, or to none."""
        members: dict[str, Any] = {"off": off} if off else {}
        if cwnd_max:
            members["cwnd_max"] = cwnd_max
        self.request("hint", dst=prefix_text("dst", dst),
                     for_ms=count("duration", duration, "_ms"), **members)

    def remove_hint(self, dst: PrefixLike) -> None:
        """Removes the hint with an end for exactly this prefix."""
        self.request("unhint", dst=prefix_text("dst", dst))

    def hints(self) -> list[dict[str, Any]]:
        """The hints in force, without the sections of the configuration.

        Each has dst; off; cwnd_max (None: as for all); for_ms: time left.
        """
        hints: list[dict[str, Any]] = self.request("hints")["hints"]
        return hints

    def pause(self) -> None:
        """Disables windows, by removing the rules and pausing the program."""
        self.request("pause")

    def resume(self) -> None:
        """Enables windows again."""
        self.request("resume")

    def _exchange(self, line: bytes) -> bytes:
        """Sends a line and reads one, or to the end."""
        deadline_s = time.monotonic() + self._timeout_s
        answer = bytearray()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(self._timeout_s)
            connection.connect(self._path)
            connection.sendall(line)
            while not answer.endswith(b"\n"):
                connection.settimeout(max(deadline_s - time.monotonic(), 1e-6))
                if not (chunk := connection.recv(1 << 16)):
                    raise ConnectionResetError("riptided ended before the end of its answer")
                answer += chunk
        return bytes(answer)


def _read_answer(line: bytes) -> dict[str, Any]:
    """Reads riptided's answer, and removes "ok". Errors: RefusedError."""
    try:
        answer = json.loads(line, object_hook=_with_network)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and answer.pop("ok", False):
        return answer
    raise RefusedError(answer["error"] if isinstance(answer, dict) and "error" in answer
                       else f"the answer of riptided is malformed: {shown(line)}")


def _with_network(members: dict[str, Any]) -> dict[str, Any]:
    return {**members, "dst": ip_network(members["dst"])} if members.get("dst") else members
