# SPDX-License-Identifier: MIT
"""The programs of tests/netns, which read and print lines, on a host."""

import contextlib
import queue
import subprocess
import threading

from netns import DEADLINE_S, MOUNTED, rules, wait_until


class Violation(Exception):
    """Riptide violated a guarantee; the text describes how."""


class Program:
    """A program, which ends at the latest with its host."""

    def __init__(self, host, name, *arguments, prefix=()):
        self.name = name
        self.process = host.start(*prefix, MOUNTED / "tests/netns" / name, *arguments, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, universal_newlines=True)
        self.pid = self.process.pid
        self.lines = queue.SimpleQueue()
        # All the time, as a program that waits for room for its output reads nothing.
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def send(self, lines):
        try:
            self.process.stdin.write("".join(line + "\n" for line in lines))
            self.process.stdin.flush()
        except BrokenPipeError:
            while True:
                self.line()  # its last output, and its exit status

    def line(self):
        """Its next line."""
        try:
            line = self.lines.get(timeout=DEADLINE_S)
        except queue.Empty:
            raise Violation(f"{self.name} says nothing for {DEADLINE_S} s") from None
        if line is None:
            raise Violation(f"{self.name} ended with {self.process.wait()}")
        return line

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

    def kill(self):
        self.process.kill()
        self.end()

    def end(self):
        """Closes its input, so that it ends; returns its exit status."""
        with contextlib.suppress(BrokenPipeError):  # what was not sent
            self.process.stdin.close()
        return self.process.wait(DEADLINE_S)


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
    agent = Program(host, "containers", host.path)
    wait_until(lambda: len(rules(host)) == 2, "its rules")
    return agent
