# SPDX-License-Identifier: MIT
"""Hosts in namespaces, the WAN in a box between them, transfers and riptided on them."""

import contextlib
import itertools
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import wanbox
from traffic import BUILD, Traffic

RMEM_BYTES = 1 << 20  # tcp_rmem[1] for first flights of far more than 100 segments
WMEM_BYTES = 6 << 20
CONNECTIONS = 8192  # buckets in each host's table of connections


class Testbed:
    """A network for the time of a `with`. hosts: {name: address}; links, {name: options of its
    access link}, and paths: lab/wan/README.md.

    Hosts keep no metrics of earlier connections (tcp_no_metrics_save), which would affect the
    next, and accept large first flights (tcp_rmem). sysctls, {"ipv4/...": value}, prevails
    over these."""

    def __init__(self, evaluation, hosts, paths, links=None, sysctls=None):
        self.evaluation = evaluation
        self.hosts = hosts
        self.on_time = None  # set at the end
        self.counters = None
        self._paths = paths
        self._links = links
        self._sysctls = {"ipv4/tcp_rmem": f"4096 {RMEM_BYTES} {6 << 20}",
                         "ipv4/tcp_wmem": f"4096 16384 {WMEM_BYTES}",
                         "ipv4/tcp_no_metrics_save": 1, **(sysctls or {})}
        self._daemons = []
        self._cgroup2 = None
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with self._stack:  # undoes a part if the rest fails
            # Each namespace has its own table of connections, from Linux 6.1 on: daemons do not walk others'.
            with contextlib.suppress(FileNotFoundError), \
                    open("/proc/sys/net/ipv4/tcp_child_ehash_entries", "w", encoding="ascii") as file:
                file.write(str(CONNECTIONS))
            for name in self.hosts:
                self._add_host(name)
            addresses = {name: [address] for name, address in self.hosts.items()}
            self.wan = self._stack.enter_context(wanbox.Wan(addresses, self._paths, self._links))
            self.traffic = Traffic(self.hosts)
            self._stack.callback(self.traffic.close)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind, value, traceback):
        with self._stack:
            self.end_riptided()
            self.traffic.close()
            if kind is None:
                self.counters = self.wan.stop()
                self.on_time = self.evaluation.note_wan(self.counters)

    def _add_host(self, name):
        # The removal comes first: this may be interrupted. An `ip` whose start was interrupted gets no input.
        self._stack.callback(subprocess.run, ["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["ip", "-batch", "-"], check=True, input=f"netns add {name}", text=True)
        with wanbox.inside(name):
            for key, value in self._sysctls.items():
                with open(f"/proc/sys/net/{key}", "w", encoding="ascii") as file:
                    file.write(str(value))

    def set_route(self, name, *metrics, to="default"):
        """Sets the route into the WAN, with metrics such as "initcwnd", 24."""
        wanbox.ip("-n", name, "route", "replace", to, "dev", wanbox.DEVICE, *map(str, metrics))

    def set_window(self, name, initcwnd, pacing_percent):
        """Sets a window by the program to all destinations, paced over part of a round trip."""
        by_the_program = {**os.environ, "DRIVER_APPLY": "program", "DRIVER_CGROUP": self.cgroup()}
        with wanbox.inside(name):
            driver = subprocess.Popen([str(BUILD / "tests" / "netns" / "driver")], env=by_the_program, bufsize=1,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._stack.callback(driver.communicate)
        driver.stdin.write(f"set 0.0.0.0/0 {initcwnd} pacing_percent={pacing_percent}\nquiet 1\n")
        said = list(itertools.takewhile(lambda line: not line.startswith("quiet "), driver.stdout))
        if not any(line.startswith("route 0.0.0.0/0 applied ") for line in said):
            raise RuntimeError(f"windows by the program: {said}")

    def cgroup(self):
        """The root of cgroup2, as the programs distinguish namespaces."""
        if not self._cgroup2:
            self._cgroup2 = self._stack.enter_context(tempfile.TemporaryDirectory())
            subprocess.run(["mount", "-t", "cgroup2", "none", self._cgroup2], check=True)
            self._stack.callback(subprocess.run, ["umount", self._cgroup2], check=True)
        return self._cgroup2

    def transfer(self, transfers, limit_s=60):
        """Carries out Transfers; returns all results, in the order of arrival."""
        return list(self.traffic.run(transfers, limit_s))

    def start_riptided(self, names, *options, build=None):
        """Starts riptided on these hosts, waits until all answer; they end with the testbed."""
        cgroup = () if "routes" in options else ("--cgroup", self.cgroup())
        words = [str(Path(build or BUILD) / "cli" / "riptided"), "--log-level", "warning", "--holdout-percent", "0",
                 *cgroup, *map(str, options)]
        for name in names:
            with wanbox.inside(name):
                daemon = subprocess.Popen([*words, "--control", f"/run/riptide-{name}"], stdin=subprocess.DEVNULL)
            self._daemons.append(daemon)
            self._stack.callback(stop_riptided, daemon)
        end_s = time.monotonic() + 30
        for name, daemon in zip(names, self._daemons[-len(names):]):
            while not self.ask_riptide(name, "status"):
                if daemon.poll() is not None or time.monotonic() > end_s:
                    raise RuntimeError(f"no riptided on {name}; what it said is above")
                time.sleep(0.02)

    def end_riptided(self):
        """Ends all riptideds."""
        for daemon in self._daemons:
            stop_riptided(daemon)
        self._daemons.clear()

    def ask_riptide(self, name, *arguments):
        """The output of `riptide ... --json` on a host; None: no daemon. Status 4: it gives no windows."""
        with wanbox.inside(name):
            done = subprocess.run([str(BUILD / "cli" / "riptide"), *arguments, "--json",
                                   "--control", f"/run/riptide-{name}"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        return json.loads(done.stdout) if done.returncode in (0, 4) else None


def stop_riptided(daemon):
    if daemon.poll() is None:
        daemon.terminate()
        daemon.wait()
