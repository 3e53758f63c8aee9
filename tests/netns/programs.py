# SPDX-License-Identifier: MIT
"""Programs of tests/netns on a host, which read and print lines."""

import collections
import os
import select
import subprocess

from netns import MOUNTED, rules, wait_until
from waiting import PATIENCE

LINE_S = 60


class Violation(Exception):
    """Riptide violated a guarantee, which the text describes."""


class Program:
    """One of them. It ends with its host at the latest."""

    def __init__(self, host, name, *arguments, prefix=()):
        self.name = name
        with host.entered():
            self.process = subprocess.Popen(
                [str(word) for word in (*prefix, MOUNTED / "tests/netns" / name, *arguments)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        host.processes.append(self.process)
        self.pid = self.process.pid
        self.readable, self.usable = select.poll(), select.poll()
        self.readable.register(self.process.stdout, select.POLLIN)
        for pipe, event in ((self.process.stdin, select.POLLOUT), (self.process.stdout, select.POLLIN)):
            os.set_blocking(pipe.fileno(), False)
            self.usable.register(pipe, event)
        self.lines, self.unread = collections.deque(), b""

    def send(self, lines):
        """Reads in parallel: the program may wait for room for its output."""
        data = "".join(line + "\n" for line in lines).encode()
        try:
            while data:
                ready = [fd for fd, _ in self.usable.poll()]
                if self.process.stdout.fileno() in ready:
                    self._read()
                if self.process.stdin.fileno() in ready:
                    data = data[os.write(self.process.stdin.fileno(), data):]
        except BrokenPipeError:
            while True:
                self.line()  # its last output, and its exit status

    def line(self):
        """The next one that it says."""
        while not self.lines:
            if not self.readable.poll(LINE_S * PATIENCE * 1000):
                raise Violation(f"{self.name} says nothing for {LINE_S} s")
            self._read()
        return self.lines.popleft()

    def ask(self, line):
        """What it says next to a line."""
        self.send([line])
        return self.line()

    def _read(self):
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        if not data:
            raise Violation(f"{self.name} ended with {self.process.wait()}")
        *lines, self.unread = (self.unread + data).split(b"\n")
        self.lines.extend(line.decode() for line in lines)

    def kill(self):
        self.process.kill()
        self.end()

    def end(self):
        """Its input ends, and so it does; returns its exit status."""
        self.process.stdin.close()
        status = self.process.wait(LINE_S)
        self.process.stdout.close()
        return status


class Driver(Program):
    """The host of libriptide under test: see driver.c. `with` waits until it has started."""

    def __init__(self, host, *arguments, prefix=()):
        super().__init__(host, "driver", *arguments, prefix=prefix)
        self.n = 0
        self.routes = {}  # destination: its last reported state
        self.stats = {}

    def wait_ready(self):
        self.wait_line("ready")
        return self

    def wait_line(self, start):
        """The next line that begins so."""
        while True:
            text = self.line()
            if text.startswith(start):
                return text
            if text.startswith("route "):
                self.routes[text.split()[1]] = text
            elif text.startswith("error "):
                raise Violation(f"the router ended: {text}")

    def quiet(self):
        """Waits until all that has happened has been followed; returns the router's counters."""
        self.n += 1
        self.send([f"quiet {self.n}"])
        words = self.wait_line(f"quiet {self.n} ").split()[2:]
        self.stats = {name: int(value) for name, value in zip(words[::2], words[1::2])}
        return self.stats

    def call(self, line, start):
        """Sends a line; returns the number after the first word of the answer."""
        self.send([line])
        return int(self.wait_line(start + " ").split()[1])

    def follow(self, *lines):
        """Sends them, and waits until all of it has been followed; returns the router's counters."""
        self.send(lines)
        return self.quiet()

    def __enter__(self):
        return self.wait_ready()

    def __exit__(self, *_):
        self.kill()


def start_agent(host):
    """An agent that embeds the library, on a host."""
    agent = Program(host, "containers", f"/run/netns/{host.name}")
    wait_until(lambda: len(rules(host)) == 2, "its rules")
    return agent
