# SPDX-License-Identifier: MIT
"""Hosts made of network namespaces: their links, sockets and programs, and the kernel's answers.

Standard library only, Python 3.9 and later. Waiting is always for a condition, with a deadline.
"""

import contextlib
import ctypes
import itertools
import json
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from connection import Connection, cookie_of, tcp_info  # noqa: F401
from waiting import DEADLINE_S, IS_SANITIZED, WRAPPER, Closing, stopped, wait_until  # noqa: F401

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RIPTIDE_BUILD", REPOSITORY / "build"))
# The build, readable by all users, wherever the checkout is: see mount_build.
MOUNTED = Path("/run/riptide-build")
RIPTIDE = MOUNTED / "cli" / "riptide"
RIPTIDED = MOUNTED / "cli" / "riptided"
# Where routes are the subject: by default the program gives windows as well, where it loads.
BY_ROUTES = ("--apply", "routes")
AS_NOBODY = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--")
WITHOUT_NET_ADMIN = ("setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin", "--")

TABLE = 7230
PROTOCOL = 230

CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_names = itertools.count(1)


def mount_build():
    """Mounts the build where all users can read it: in a sandbox alone, whose network has no routes
    of the machine, whatever the environment says."""
    if os.environ.get("RIPTIDE_SANDBOX") != "1" or len(Path("/proc/net/route").read_text().splitlines()) > 1:
        raise PermissionError("these tests make namespaces and routes: run them with ./dev test")
    MOUNTED.mkdir(exist_ok=True)
    if not os.path.ismount(MOUNTED):
        subprocess.run(["mount", "--bind", BUILD, MOUNTED], check=True)
    for program in (RIPTIDE, RIPTIDED):
        if not program.exists():
            raise FileNotFoundError(f"{BUILD}/cli/{program.name} is missing: ./dev build makes it")


def run(*command, check=True, **options):
    """Runs a program to its end; its output is text."""
    stdin = {} if "input" in options else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(list(_words(command)), **{**stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                                    "universal_newlines": True, "timeout": 5 * DEADLINE_S, **options})
    if check and done.returncode:
        raise AssertionError(f"{' '.join(done.args)}: exit {done.returncode}: {done.stdout}{done.stderr or ''}")
    return done


class Host(Closing):
    """A host: a network namespace under /run/netns."""

    def __init__(self, name="host"):
        self.name = f"{name}{next(_names)}"
        self.processes = []
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        self.path = f"/run/netns/{self.name}"
        self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        for setting in ("conf/all/rp_filter", "conf/default/rp_filter"):
            self.sysctl(f"ipv4/{setting}", 0)
        self.sysctl("ipv6/conf/default/accept_dad", 0)
        self.sysctl("ipv6/conf/default/accept_ra", 0)
        self.sysctl("ipv6/ip_nonlocal_bind", 1)  # IPv4 allows this for addresses of a local route
        self.ip("link", "set", "lo", "up")

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        os.close(self.fd)
        subprocess.run(["ip", "netns", "delete", self.name], check=True)

    @contextlib.contextmanager
    def entered(self):
        """In this `with` the thread opens sockets and starts programs in the host's namespace."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _setns(self.fd)
            try:
                yield
            finally:
                _setns(home)
        finally:
            os.close(home)

    def run(self, *command, **options):
        with self.entered():
            return run(*command, **options)

    def start(self, *command, **options):
        """Starts a program, which ends at the latest with the host."""
        with self.entered():
            process = subprocess.Popen(list(_words(command)), **{"stdin": subprocess.DEVNULL, **options})
        self.processes.append(process)
        return process

    @contextlib.contextmanager
    def running(self, *command, **options):
        """A program that is killed at the end of the `with`."""
        process = self.start(*command, **options)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def ip(self, *arguments):
        return self.run("ip", *arguments).stdout

    def ip_json(self, *arguments):
        text = self.ip("-j", *arguments)
        return json.loads(text) if text.strip() else []

    def batch(self, lines):
        """Many ip commands, one process."""
        self.run("ip", "-batch", "-", input=lines)

    def sysctl(self, name, value):
        with self.entered(), open(f"/proc/sys/net/{name}", "w") as file:
            file.write(str(value))

    def is_ready(self):
        """Whether every link that is up works: a SYN lost to one that does not costs a second."""
        local = {route["dst"] for route in self.ip_json("-6", "route", "show", "table", "local")}
        for link in self.ip_json("addr"):
            if "UP" not in link["flags"]:
                continue
            # A query for one link makes newer kernels update its state now, not within a second.
            state = self.ip_json("link", "show", link["ifname"])[0]["operstate"]
            if state not in ("UP", "UNKNOWN"):
                return False
            if any("tentative" in address for address in link["addr_info"]):
                return False
            # The local route to an address appears a moment after the address is listed.
            if any(address["family"] == "inet6" and address["local"] not in local
                   for address in link["addr_info"]):
                return False
        return True

    def link_local(self):
        """The link-local address of eth0."""
        return self.ip("-6", "-o", "addr", "show", "dev", "eth0", "scope", "link").split()[3].partition("/")[0]

    def socket(self, family):
        with self.entered():
            return socket.socket(family, socket.SOCK_STREAM)

    def server(self, address="", backlog=128):
        """A listening socket, of both families at the address ::."""
        is_both = address == "::"
        family = socket.AF_INET6 if is_both else socket.AF_INET
        with self.entered():
            return socket.create_server((address, 0), family=family, backlog=backlog, dualstack_ipv6=is_both)


def _words(command):
    """The words of a command as text; our programs run in the wrapper."""
    for word in command:
        if word in (RIPTIDE, RIPTIDED):
            yield from WRAPPER
        yield str(word)


def _setns(fd):
    if _libc.setns(fd, CLONE_NEWNET) < 0:
        raise OSError(ctypes.get_errno(), "setns")


def join(near, near_link, far, far_link):
    """A veth pair between two hosts."""
    near.ip("link", "add", near_link, "type", "veth", "peer", "name", far_link, "netns", far.name)


class Network(Closing):
    """A host under test and the world behind two links with gateways:

        host eth0 10.0.0.10, fd00::10        -- world eth0 10.0.0.1 and .2, fd00::1 and ::2
        host eth1 10.0.1.10, fd00:0:0:1::10  -- world eth1 10.0.1.1, fd00:0:0:1::1

    The default routes lead through the first gateway of eth0. The world answers for each address
    of 198.51.100.0/24, 203.0.113.0/24 and 2001:db8::/32.
    """

    def __init__(self):
        self.host = Host("host")
        self.world = Host("world")
        for n in (0, 1):
            join(self.host, f"eth{n}", self.world, f"eth{n}")
            for host, last in ((self.host, 10), (self.world, 1)):
                host.batch(f"""
                    addr add 10.0.{n}.{last}/24 dev eth{n}
                    addr add fd00:0:0:{n}::{last}/64 dev eth{n} nodad
                    link set eth{n} up
                """)
        self.world.batch("""
            addr add 10.0.0.2/24 dev eth0
            addr add fd00::2/64 dev eth0 nodad
            route add local 198.51.100.0/24 dev lo
            route add local 203.0.113.0/24 dev lo
            route add local 2001:db8::/32 dev lo
        """)
        self.host.batch("""
            route add default via 10.0.0.1
            route add default via fd00::1
        """)
        self.connections = []
        wait_until(lambda: self.host.is_ready() and self.world.is_ready(), "links up")

    def close(self):
        for connection in self.connections:
            connection.close()
        self.host.close()
        self.world.close()

    def connect(self, address, **options):
        """A connection between the host and an address of the world: see Connection."""
        connection = Connection(self.host, self.world, address, **options)
        self.connections.append(connection)
        return connection

    def starts(self, address, **options):
        """The window of a new connection, which ends at once: it lowers no mean of open ones."""
        connection = self.connect(address, **options)
        cwnd = connection.cwnd()
        self.reset(connection)
        return cwnd

    def learned(self, address, cwnd=20, **options):
        """A connection that has grown, by traffic, to a window of at least cwnd."""
        connection = self.connect(address, **options)
        connection.grow(cwnd)
        return connection

    def short(self, address, n_bytes=50_000, **options):
        """A connection that opens, sends and closes; the host closes first, as a server would."""
        connection = self.connect(address, **options)
        if n_bytes:
            connection.send(n_bytes)
        self.finish(connection)

    def finish(self, connection):
        """Closes a connection; the host closes first, as a server that has answered."""
        self.connections.remove(connection)
        connection.finish()

    def reset(self, connection):
        self.connections.remove(connection)
        connection.close()


class Daemon:
    """A riptided on a host, with short ticks; `with` waits until its rules are in place and it has
    opened and closed all files that it needs before its first round; the program alone has no rules. `command`
    starts it, if more than the program is needed. The default policy is paper, whose windows are predictable: the mean
    of open connections. No connection is held out, and ticks are not stretched, however slow the machine: but by
    `config`, the text of a file, whose defaults hold."""

    def __init__(self, host, *options, interval="50ms", table=TABLE, command=(RIPTIDED,), has_rules=None, config=None):
        self.host = host
        self.has_rules = "program" not in options if has_rules is None else has_rules
        self.table = table
        self.log = tempfile.TemporaryFile()
        self.config = tempfile.NamedTemporaryFile("w")
        self.config.write(config or "")
        self.config.flush()
        defaults = {"--max-share": "0", "--holdout-percent": "0"}
        if config is not None:
            defaults = {"--config": self.config.name}
        for option, value in {"--policy": "paper", **defaults}.items():
            if option not in options:
                options = (option, value, *options)
        self.process = host.start(*command, "--interval", interval, "--ttl", "2h", "--table", table,
                                  *options, stdout=self.log, stderr=self.log)
        self.pid = self.process.pid

    @classmethod
    @contextlib.contextmanager
    def learned(cls, net, peers, *options, **more):
        """A daemon that has routes to an address, or {address: least window of its connection}."""
        peers = {peers: 30} if isinstance(peers, str) else peers
        for address, cwnd in peers.items():
            net.learned(address, cwnd)
        with cls(net.host, *options, **more) as daemon:
            for address in peers:
                wait_window(net.host, address, daemon.table)
            yield daemon

    def __enter__(self):
        wait_until(lambda: self.process.poll() is not None
                   or len(rules(self.host, self.table)) == 2 * self.has_rules, "our rules")
        wait_until(lambda: self.process.poll() is not None or self._has_begun(), "its begin")
        assert self.is_running(), f"riptided ended: {self.said()}"
        return self

    def __exit__(self, failure, *_):
        if failure:
            print(f"riptided said:\n{self.said()}")
        if self.is_running():
            self.stop()
        self.log.close()

    def _has_begun(self):
        """Whether it has dropped its privileges: it does that last, after opening its socket."""
        return "NoNewPrivs:\t1\n" in Path(f"/proc/{self.pid}/status").read_text()

    def is_running(self):
        return self.process.poll() is None

    def said(self):
        """Its output, with long lines in one piece; read without a seek, which would move the daemon's own offset."""
        text = os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0).decode()
        return text.replace("\n  ", " ")

    def lines(self, words):
        """The lines of its output that have these words."""
        return [line for line in self.said().splitlines() if words in line]

    def signal(self, number):
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)

    def stopped(self):
        return stopped(self.pid)

    def stop(self):
        status = self.signal(signal.SIGTERM)
        assert status == 0, f"riptided ended with {status}: {self.said()}"

    def kill(self):
        self.signal(signal.SIGKILL)


def rules(host, table=TABLE):
    """The rules that look up our table, one per family, as ip(8) prints them."""
    lines = host.ip("-4", "rule").splitlines() + host.ip("-6", "rule").splitlines()
    return [line for line in lines if f" lookup {table} " in line]


def routes(host, table=TABLE):
    """Our routes of both families: {destination: route as ip -j prints it}."""
    found = []
    for family in ("-4", "-6"):
        done = host.run("ip", "-j", "-d", family, "route", "show", "table", table, check=False)
        if done.returncode == 0 and done.stdout.strip():  # 2: no such table yet
            found += json.loads(done.stdout)
    return {route["dst"]: route for route in found}


def windows(host, table=TABLE):
    """{destination: initcwnd} of our routes; None: it has none."""
    return {dst: next((metrics["initcwnd"] for metrics in route.get("metrics", []) if "initcwnd" in metrics), None)
            for dst, route in routes(host, table).items()}


def add_wg_quick_rules(host):
    """Adds wg-quick(8)'s rules: main first, but without its default route, then the tunnel's table, which has
    none here. The priorities are fixed, as the kernel's own choice would depend on present rules."""
    for family in ("-4", "-6"):
        host.ip(family, "rule", "add", "table", "main", "suppress_prefixlength", 0, "pref", 32000)
        host.ip(family, "rule", "add", "not", "fwmark", 51820, "table", 51820, "pref", 32001)


def wait_window(host, dst, table=TABLE):
    """Waits for our route to dst; returns its window."""
    return wait_until(lambda: windows(host, table).get(dst), f"a route to {dst}")


def snapshot(host):
    """All rules, routes and links, as text."""
    commands = ("rule", "-6 rule", "-4 route show table all", "-6 route show table all", "nexthop")
    return "".join(f"# ip {command}\n{host.ip(*command.split())}" for command in commands)


def observe(host, *options, prefix=()):
    """The output of `riptide observe --json`: {destination: its object}."""
    done = host.run(*prefix, RIPTIDE, "observe", "--json", *options)
    return {item["dst"]: item for item in json.loads(done.stdout)["destinations"]}


def ss(host):
    """The host's established connections, by ss(8): [(peer, cwnd)]."""
    found = []
    for line in host.run("ss", "-tinHO", "state", "established").stdout.splitlines():
        peer, info = line.split()[3], line.split()[4:]
        peer = peer.rpartition(":")[0].strip("[]").replace("::ffff:", "")
        cwnd = next(int(word[5:]) for word in info if word.startswith("cwnd:"))
        found.append((peer, cwnd))
    return found
