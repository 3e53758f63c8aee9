# SPDX-License-Identifier: MIT
"""Sockets without peers (farm.c), and the network through which they seem to be connected."""

import subprocess

LINK = "farm0"
WINDOWS = range(20, 100, 20)  # of the first destinations; all others have the kernel's default


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def set_up_network():
    """A link that drops all packets."""
    ip("link", "add", LINK, "arp", "off", "type", "veth", "peer", "name", "farm1")
    ip("link", "set", "farm1", "up")
    ip("link", "set", LINK, "up")
    ip("address", "add", "10.0.0.1/32", "dev", LINK)
    ip("route", "add", "default", "dev", LINK)


def windows(action):
    for i, window in enumerate(WINDOWS):
        ip("route", action, f"10.64.{i}.0/25", "dev", LINK, "initcwnd", str(window))


class Farm:
    """Sockets, while the context lasts. `prefix` runs it in another network namespace: all have the kernel's window."""

    def __init__(self, binary, sockets, destinations, prefix=()):
        self.arguments = [*prefix, str(binary), str(sockets), str(destinations)]
        self.has_windows = not prefix
        self.process = None

    def __enter__(self):
        if self.has_windows:
            windows("add")
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        answer = self.process.stdout.readline()
        if self.has_windows:  # riptided makes no route if the base route has the window already
            windows("del")
        if answer != b"ready\n":
            self.__exit__()
            raise RuntimeError("the farm did not get ready")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
