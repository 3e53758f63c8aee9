"""The control socket of riptided: docs/control.md says what may be asked, and by whom."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from typing import Any

from ._errors import RefusedError
from ._handle import Guard
from ._values import Duration, PrefixLike, duration_ns

SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class Control:
    """A connection to riptided. Answers are the members of its JSON, without "ok".

    One thread at a time may use it, and none of a child of fork(2). A request that ended before its
    answer came closes it. Errors: FileNotFoundError, ConnectionRefusedError (no daemon),
    TimeoutError, other OSErrors of the socket; RefusedError where it says no; ValueError where it
    is closed.
    """

    def __init__(self, path: str | os.PathLike[str] = "/run/riptide/control",
                 timeout: Duration = 5) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(duration_ns(timeout) / 1e9)
            connection.connect(os.fspath(path))
        except BaseException:
            connection.close()
            raise
        self._socket = connection
        self._guard = Guard("Control", connection)

    def __enter__(self) -> Control:
        with self._guard:
            return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; a second time does nothing."""
        self._guard.c = None
        self._socket.close()

    def fileno(self) -> int:
        """The socket, as selectors take it."""
        with self._guard:
            return self._socket.fileno()

    def request(self, name: str, **members: Any) -> dict[str, Any]:
        """The answer to a request of docs/control.md."""
        return self._ask(name, members)[0]

    def status(self) -> dict[str, Any]:
        """How the daemon is: docs/schema/status.json."""
        return self.request("status")

    def show(self, prefix: PrefixLike | None = None) -> list[dict[str, Any]]:
        """Its destinations, or those within the prefix: dst, state, initcwnd, cwnd, connections."""
        answer = self.request("show", **({"prefix": str(prefix)} if prefix else {}))
        return [dict(zip(answer["columns"], row)) for row in answer["routes"]]

    def explain(self, dst: PrefixLike) -> dict[str, Any]:
        """How a window came about, or why there is none: docs/schema/explain.json."""
        return self.request("explain", dst=str(dst))

    def hint(self, dst: PrefixLike, duration: Duration, *, cwnd_max: int | None = None,
             scale: float | None = None) -> None:
        """Lowers windows within dst for a while: to cwnd_max segments, by a factor, or both."""
        limits = {"cwnd_max": cwnd_max, "scale": scale}
        self.request("hint", dst=str(dst), for_ms=duration_ns(duration) // 1_000_000,
                     **{name: limit for name, limit in limits.items() if limit is not None})

    def pause(self) -> None:
        """Lifts the rules: connections start without us."""
        self.request("pause")

    def resume(self) -> None:
        self.request("resume")

    def save(self) -> bytes:
        """What the daemon knows, as Estimator.load_bytes takes it."""
        _, fd = self._ask("save", {})
        if fd < 0:
            raise RefusedError("riptided sent no state")
        with open(fd, "rb") as file:
            file.seek(0)
            return file.read()

    def load(self, state: bytes) -> dict[str, int]:
        """A state takes the place of what the daemon knows. Counts: LoadCounts."""
        return self._send_state("load", state)

    def merge(self, state: bytes) -> dict[str, int]:
        """A state joins what the daemon knows; of each destination the newer window wins."""
        return self._send_state("merge", state)

    def _send_state(self, name: str, state: bytes) -> dict[str, int]:
        fd = os.memfd_create("riptide", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with open(fd, "r+b", buffering=0) as file:
            file.write(state)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
            return self._ask(name, {}, fd)[0]

    def _ask(self, name: str, members: dict[str, Any], fd: int = -1) -> tuple[dict[str, Any], int]:
        """The answer, and the fd that came with it or -1."""
        line = json.dumps({"request": name, **members}).encode() + b"\n"
        with self._guard:
            try:
                sent = socket.send_fds(self._socket, [line], [fd]) if fd >= 0 else 0
                self._socket.sendall(line[sent:])
                received, fds = self._read_line()
            except BaseException:  # the answer, if it comes, must not be that to the next request
                self.close()
                raise
        try:
            answer = json.loads(received)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and answer.pop("ok", False):
            return answer, fds[-1] if fds else -1
        for fd in fds:
            os.close(fd)
        raise RefusedError(answer["error"] if isinstance(answer, dict) and "error" in answer
                           else f"riptided gave an answer that is none: {received[:80]!r}")

    def _read_line(self) -> tuple[bytes, list[int]]:
        chunks: list[bytes] = []
        fds: list[int] = []
        while not chunks or not chunks[-1].endswith(b"\n"):
            try:
                data, some, _, _ = socket.recv_fds(self._socket, 1 << 16, 1)
            except socket.timeout as error:  # TimeoutError from Python 3.10 on
                raise TimeoutError("riptided gave no answer in time") from error
            fds += some
            if not data:
                raise ConnectionResetError("riptided ended before its answer did")
            chunks.append(data)
        return b"".join(chunks), fds
