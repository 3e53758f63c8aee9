# SPDX-License-Identifier: MIT
"""Runs `wan` between network namespaces: hosts, sockets inside them, the process and its counters.

Tests and labs that use this send packets and check what arrives.
Run as root in a sandbox of its own (see README.md); standard library only, Python 3.9 and later.
"""
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import time

CLONE_NEWNET = 0x40000000
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_libc = ctypes.CDLL(None, use_errno=True)


def binary():
    build = os.environ.get("RIPTIDE_BUILD", os.path.join(REPOSITORY, "build"))
    return os.path.join(build, "lab", "wan", "wan")


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def _setns(fd):
    if _libc.setns(fd, CLONE_NEWNET) < 0:
        raise OSError(ctypes.get_errno(), "setns")


def socket_in(netns, *arguments):
    """A socket in the namespace; the thread returns to its own."""
    home_fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    netns_fd = os.open("/run/netns/" + netns, os.O_RDONLY)
    try:
        _setns(netns_fd)
        try:
            return socket.socket(*arguments)
        finally:
            _setns(home_fd)
    finally:
        os.close(netns_fd)
        os.close(home_fd)


class Wan:
    """A running `wan`. Addresses: {port name: [address, ...]}, set once the devices exist; each
    host's default route leads into the WAN. Names of ports and of namespaces are the same here."""

    def __init__(self, ports, paths, addresses):
        self.arguments = [binary()]
        for port in ports:
            self.arguments += ["--port", port]
        for path in paths:
            self.arguments += ["--path", path]
        self.addresses = addresses
        self.process = None
        self._text = b""

    def __enter__(self):
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        try:
            line = self._line()
            if line != "ready":
                raise RuntimeError("wan did not start: %r" % line)
            for netns, addresses in self.addresses.items():
                lines = ["addr add %s dev wan0" % address for address in addresses]
                lines += ["route add %s dev wan0" % default for default in
                          sorted({"::/0" if ":" in a else "0.0.0.0/0" for a in addresses})]
                subprocess.run(["ip", "-n", netns, "-batch", "-"], check=True,
                               input="\n".join(lines).encode())
            for netns in self.addresses:
                self._wait_usable(netns)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    @staticmethod
    def _wait_usable(netns, timeout_s=10):
        """Waits for the kernel to settle IPv6 addresses, which takes a moment on a busy machine."""
        deadline_s = time.monotonic() + timeout_s
        while subprocess.run(["ip", "-n", netns, "-o", "addr", "show", "tentative"], check=True,
                             stdout=subprocess.PIPE).stdout:
            if time.monotonic() > deadline_s:
                raise TimeoutError("%s: addresses stay tentative" % netns)
            time.sleep(0.005)

    def _line(self, timeout_s=10):
        deadline_s = time.monotonic() + timeout_s
        fd = self.process.stdout.fileno()
        while b"\n" not in self._text:
            remaining_s = max(0, deadline_s - time.monotonic())
            if not select.select([fd], [], [], remaining_s)[0]:
                raise TimeoutError("wan says nothing")
            data = os.read(fd, 65536)
            if not data:
                break
            self._text += data
        line, _, self._text = self._text.partition(b"\n")
        return line.decode()

    def counters(self):
        self.process.send_signal(signal.SIGUSR1)
        return json.loads(self._line())

    def change(self, number, text):
        """Changes values of the nth path, from 1 on, such as "rate=2mbit"."""
        self.process.stdin.write(b"%d %s\n" % (number, text.encode()))
        self.process.stdin.flush()
        if self._line() != "changed":
            raise RuntimeError("wan did not change path %d" % number)

    def stop(self, how=signal.SIGTERM):
        """Ends it and returns the last counters."""
        self.process.send_signal(how)
        counters = json.loads(self._line())
        if self.process.wait(10):
            raise RuntimeError("wan ended with %d" % self.process.returncode)
        return counters
