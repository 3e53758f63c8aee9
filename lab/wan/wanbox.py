# SPDX-License-Identifier: MIT
"""Runs `wan` between network namespaces: hosts, sockets inside them, the process and its counters.

Tests and labs that use this send packets and check what arrives.
Run as root in a sandbox of its own (see README.md); standard library only.
"""
import ctypes
import ipaddress
import json
import os
import re
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


TIME = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
RATE = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
SIZE = {"b": 1, "kb": 1e3, "kib": 1024, "mb": 1e6, "mib": 1 << 20}
LOSS_ALWAYS = 1 << 53
NUMBER = {"": 1}
#: The numbers of a path and of a port, in the order in which `wan` reads them.
PATH_UNITS = {"delay": TIME, "rate": RATE, "buffer": SIZE, "loss": {"": LOSS_ALWAYS, "%": LOSS_ALWAYS / 100},
              "seed": NUMBER, "jitter": TIME}
PORT_UNITS = {"up_rate": RATE, "up_buffer": SIZE, "down_rate": RATE, "down_buffer": SIZE}


def quantity(key, text, units):
    """A number with a unit. Errors: ValueError."""
    found = re.fullmatch(r"(\d+\.?\d*)([a-z%]*)", text)
    if not found or found[2] not in units:
        raise ValueError(f"{key}={text}: give a number and one of: {', '.join(units) or 'no unit'}")
    return round(float(found[1]) * units[found[2]])


def parse(text, units, words=()):
    """The values of `key=value,...`: numbers by their units, and lists of words."""
    values = {}
    for key, _, value in (word.partition("=") for word in text.split(",")):
        if key in units:
            values[key] = quantity(key, value, units[key])
        elif key in words:
            values.setdefault(key, []).append(value)
        else:
            raise ValueError(f"{key}={value}: use one of {', '.join([*units, *words])}")
    return values


def numbers(values, units):
    """The numbers as `wan` reads them. Errors: ValueError."""
    for way in ("", "up_", "down_"):
        if bool(values.get(way + "rate")) != bool(values.get(way + "buffer")):
            raise ValueError(f"give {way}rate and {way}buffer together")
    if values.get("loss", 0) > LOSS_ALWAYS:
        raise ValueError("loss: at most 1")
    return " ".join(str(values.get(key, 0)) for key in units)


def prefix(text):
    """A prefix as `wan` reads it. Errors: ValueError."""
    net = ipaddress.ip_network(text, strict=False)
    address, bits = int(net.network_address), net.prefixlen
    if net.version == 4:
        address, bits = 0xffff << 32 | address, bits + 96
    return f"{address >> 64:x} {address & (1 << 64) - 1:x} {bits}"


def lines_of(ports, paths):
    """The lines for `wan`; the longest prefix decides, then whether a path has a source."""
    lines, nets, routes = [], {}, {}
    for port in ports:
        given = parse(port, PORT_UNITS, ("name", "netns", "net"))
        if not {"name", "netns", "net"} <= set(given):
            raise ValueError(f"{port}: give name, netns and net")
        (name,), (netns,) = given["name"], given["netns"]
        lines.append(f"port {name} {netns} {numbers(given, PORT_UNITS)}")
        nets[name] = [prefix(net) for net in given["net"]]
    lines += [f"net {n} {net}" for n, of_port in enumerate(nets.values()) for net in of_port]
    for n, path in enumerate(paths):
        lines.append(f"path {numbers(path, PATH_UNITS)}")
        (source,) = path.get("from", [None])
        if source not in (None, *nets):
            raise ValueError(f"from={source}: give the name of a port")
        for to in path.get("to", ["::/0"]):
            for net in nets.get(to) or [prefix(to)]:
                if routes.setdefault((source, net), n) != n:
                    raise ValueError(f"to={to}: there is a path for this already")
    for number, name in enumerate(nets):
        chosen = {net: n for (source, net), n in routes.items() if source is None}
        chosen.update({net: n for (source, net), n in routes.items() if source == name})
        lines += [f"route {number} {n} {net}" for net, n in chosen.items()]
    return lines


class Wan:
    """A running `wan`. Ports and paths: README.md. Addresses: {port name: [address, ...]}, set once
    the devices exist; each host's default route leads into the WAN. Names of ports and of namespaces
    are the same here."""

    def __init__(self, ports, paths, addresses):
        # A seed of its own for each path, or both directions would lose the same packets.
        self.paths = [{"seed": n + 1, **parse(path, PATH_UNITS, ("from", "to"))} for n, path in enumerate(paths)]
        self.arguments = [binary(), *lines_of(ports, self.paths)]
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
        """Changes values of the nth path, from 1 on, such as "rate=2mbit". Errors: ValueError, IndexError."""
        path = {**self.paths[number - 1], **parse(text, PATH_UNITS)}
        line = f"change {number - 1} {numbers(path, PATH_UNITS)}\n"
        self.paths[number - 1] = path
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        if self._line() != "changed":
            raise RuntimeError(f"wan did not change path {number}")

    def stop(self, how=signal.SIGTERM):
        """Ends it and returns the last counters."""
        self.process.send_signal(how)
        counters = json.loads(self._line())
        if self.process.wait(10):
            raise RuntimeError("wan ended with %d" % self.process.returncode)
        return counters
