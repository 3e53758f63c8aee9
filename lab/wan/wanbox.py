# SPDX-License-Identifier: MIT
"""Runs `wan` between network namespaces: their devices, addresses and routes, the process and its counters.

Run as root in a sandbox of its own (see README.md); standard library only.
"""
import contextlib
import ctypes
import fcntl
import ipaddress
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
BINARY = BUILD / "lab" / "wan" / "wan"
DEVICE = "wan0"
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454ca, 1, 0x1000
# Between the kernel and the WAN. It must never be the bottleneck: packets that overflow here are
# dropped although no configured buffer is full.
RING_PACKETS = 8192
_libc = ctypes.CDLL(None, use_errno=True)


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def _setns(fd):
    if _libc.setns(fd, CLONE_NEWNET) < 0:
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(netns):
    """This thread is in the namespace, for the time of a `with`."""
    with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{netns}", "rb") as there:
        _setns(there.fileno())
        try:
            yield
        finally:
            _setns(home.fileno())


def socket_in(netns, *arguments):
    """A socket in the namespace."""
    with inside(netns):
        return socket.socket(*arguments)


TIME = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
RATE = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
SIZE = {"b": 1, "kb": 1e3, "kib": 1024, "mb": 1e6, "mib": 1 << 20}
LOSS_ALWAYS = 1 << 53
#: The numbers of a link and of a path, in the order in which `wan` reads them.
LINK_UNITS = {"rate": RATE, "buffer": SIZE}
PATH_UNITS = {**LINK_UNITS, "delay": TIME, "loss": {"": LOSS_ALWAYS, "%": LOSS_ALWAYS / 100}, "seed": {"": 1},
              "jitter": TIME}


def quantity(key, text, units):
    """A number with a unit. Errors: ValueError."""
    found = re.fullmatch(r"(\d+\.?\d*)([a-z%]*)", text)
    if not found or found[2] not in units:
        raise ValueError(f"{key}={text}: give a number and one of: {', '.join(units) or 'no unit'}")
    return round(float(found[1]) * units[found[2]])


def parse(text, units, words=()):
    """The values of `key=value,...`: numbers by their units, and lists of words."""
    values = {}
    for key, _, value in (word.partition("=") for word in text.split(",") if word):
        if key in units:
            values[key] = quantity(key, value, units[key])
        elif key in words:
            values.setdefault(key, []).append(value)
        else:
            raise ValueError(f"{key}={value}: use one of {', '.join([*units, *words])}")
    return values


def numbers(values, units):
    """The numbers as `wan` reads them. Errors: ValueError."""
    if bool(values.get("rate")) != bool(values.get("buffer")):
        raise ValueError("give rate and buffer together")
    if values.get("loss", 0) > LOSS_ALWAYS:
        raise ValueError("loss: at most 1")
    return " ".join(str(values.get(key, 0)) for key in units)


def net_lines(hosts):
    """The networks of the hosts' addresses, the longest first."""
    nets = []
    for n, addresses in enumerate(hosts.values()):
        for address in addresses:
            net = ipaddress.ip_network(address, strict=False)
            first, bits = int(net.network_address), net.prefixlen
            if net.version == 4:
                first, bits = 0xffff << 32 | first, bits + 96
            nets.append((-bits, first, n))
    return [f"net {n} {first:032x} {-bits}" for bits, first, n in sorted(set(nets))]


def route_lines(names, paths):
    """Which path leads from one host to another: the one that names both, then its end, then its start."""
    chosen = {}
    for n, path in enumerate(paths):
        for key in "from", "to":
            for name in path.get(key, ()):
                if name not in names:
                    raise ValueError(f"{key}={name}: there is no such host")
        rank = 2 * ("to" in path) + ("from" in path)
        for source in path.get("from", names):
            for target in path.get("to", names):
                before, _ = chosen.get((source, target), (-1, None))
                if before == rank:
                    raise ValueError(f"from={source},to={target}: there is a path for this already")
                if before < rank:
                    chosen[source, target] = rank, n
    return [f"route {names.index(source)} {names.index(target)} {n}"
            for (source, target), (_, n) in chosen.items() if source != target]


def open_device(netns):
    """A TUN device in the namespace, without offloads: the WAN loses packets of the real MTU, one at a time."""
    with inside(netns):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
        return fd


def dropped_by_device(netns):
    """How many packets the device dropped because the WAN had not read them in time."""
    with inside(netns):
        text = Path("/proc/thread-self/net/dev").read_text(encoding="ascii")
    return int(re.search(rf"{DEVICE}:((?: +\d+)+)", text)[1].split()[11])


class Wan:
    """A running `wan`. hosts: {namespace: [address, ...]}; paths, and links, {namespace: options of what
    all paths to it share}: README.md. Each host's default route leads into the WAN."""

    def __init__(self, hosts, paths, links=None):
        self.hosts = hosts
        # A seed of its own for each path, or both directions would lose the same packets.
        paths = [{"seed": n + 1, **parse(path, PATH_UNITS, ("from", "to"))} for n, path in enumerate(paths)]
        self._links = [numbers(parse((links or {}).get(name, ""), LINK_UNITS), LINK_UNITS) for name in hosts]
        self._lines = [*(f"path {numbers(path, PATH_UNITS)}" for path in paths), *net_lines(hosts),
                       *route_lines(list(hosts), paths)]
        self.process = None
        self._text = b""

    def __enter__(self):
        fds = []
        try:
            for name in self.hosts:
                fds.append(open_device(name))
            ports = [f"port {fd} {link}" for fd, link in zip(fds, self._links)]
            self.process = subprocess.Popen([str(BINARY), *ports, *self._lines], pass_fds=fds, stdout=subprocess.PIPE)
        finally:
            for fd in fds:
                os.close(fd)
        try:
            if self._line() != "ready":
                raise RuntimeError("wan did not start; what it said is above")
            for name, addresses in self.hosts.items():
                self._set_up(name, addresses)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    @staticmethod
    def _set_up(name, addresses):
        lines = [f"link set {DEVICE} up txqueuelen {RING_PACKETS}"]
        lines += [f"addr add {address} dev {DEVICE}{' nodad' * (':' in address)}" for address in addresses]
        lines += [f"route add {default} dev {DEVICE}" for default in
                  sorted({"::/0" if ":" in address else "0.0.0.0/0" for address in addresses})]
        subprocess.run(["ip", "-n", name, "-batch", "-"], check=True, input="\n".join(lines), text=True)

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

    def _counters(self, how):
        self.process.send_signal(how)
        counters = json.loads(self._line())
        counters["ports"] = dict(zip(self.hosts, counters["ports"]))
        return counters

    def counters(self):
        return self._counters(signal.SIGUSR1)

    def stop(self, how=signal.SIGTERM):
        """Ends it; returns the last counters, with `dropped_tun`, of all devices."""
        dropped = sum(map(dropped_by_device, self.hosts))
        counters = {**self._counters(how), "dropped_tun": dropped}
        if self.process.wait(10):
            raise RuntimeError(f"wan ended with {self.process.returncode}")
        return counters
