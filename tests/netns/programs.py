# SPDX-License-Identifier: MIT
"""The programs of tests/netns, which read and print lines, on a host."""

import collections
import os
import select
import subprocess

from netns import MOUNTED, rules, wait_until
from waiting import PATIENCE

LINE_S = 60


class Violation(Exception):
    """Riptide violated a guarantee; the text describes how."""


class Program:
    """A program, which ends at the latest with its host."""

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
        """Sends lines, and reads meanwhile, as the program may wait for room for its output."""
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
        """Its next line."""
        while not self.lines:
            if not self.readable.poll(LINE_S * PATIENCE * 1000):
                raise Violation(f"{self.name} says nothing for {LINE_S} s")
            self._read()
        return self.lines.popleft()

    def answer(self, start):
        """Its next line with this beginning, or one of these."""
        while not (line := self.line()).startswith(start):
            self.note(line)
        return line

    def note(self, line):
        """What a line says that is no answer."""

    def call(self, line, start):
        """Sends a line; returns the word after the first one of the answer."""
        self.send([line])
        return self.answer(start).split()[1]

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
        """Closes its input, so that it ends; returns its exit status."""
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
        self.stats, self.reason = {}, ""  # why the program gives no windows

    def wait_ready(self):
        self.answer("ready")
        return self

    def note(self, line):
        if line.startswith("route "):
            self.routes[line.split()[1]] = line
        elif line.startswith("program "):
            self.reason = line[len("program "):]
        elif line.startswith("error "):
            raise Violation(f"the router ended: {line}")

    def quiet(self):
        """Waits until the router has followed all changes; returns its counters."""
        self.n += 1
        self.send([f"quiet {self.n}"])
        words = self.answer(f"quiet {self.n} ").split()[2:]
        self.stats = {name: int(value) for name, value in zip(words[::2], words[1::2])}
        return self.stats

    def later(self):
        """As quiet, a minute later: what the kernel does not announce is followed as well."""
        return self.follow("later")

    def follow(self, *lines):
        """Sends lines, and waits until the router has followed; returns its counters."""
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
