# SPDX-License-Identifier: MIT
"""Two hosts with the same routing, only one with Riptide: the other one has the right answer.
Links, numbers and addresses are equal, and every event happens to both, so every difference between
their kernels' answers is caused by Riptide."""

import collections
import contextlib
import os
import re
import socket
import struct
import time

import rtnetlink
from netns import DEADLINE_S, Closing, Host
from programs import Driver, Violation
from routing_base import (ENCAPS, MARKS, N_LINKS, OUR_TABLE, PEERS, UID, VRF, VRF_INDEX, base_lines, link_lines, tunnel)
from rtnetlink import (RT_TABLE_MAIN, RTAX_INITCWND, RTN_UNICAST, Batch, Reader, Rtnetlink, is_alike, link_mtus, query)

# Lines whose effect the kernel does not announce: a lifetime of few seconds, an IPv6 MTU.
SILENT = re.compile("expires [12]|/mtu ")
SILENT_S = 5


class Parted(Exception):
    """The twins differ without Riptide: the run has nothing to compare any more."""


class Side(Closing):
    """One of the twins."""

    def __init__(self, name):
        self.host = Host(name)
        for setting in ("ipv4/fib_multipath_hash_policy", "ipv6/fib_multipath_hash_policy"):
            self.host.sysctl(setting, 0)
        self.link = Rtnetlink(self.host)
        for line in base_lines():
            said = self.tell(line)
            assert not said, f"{line}: {said}"

    def close(self):
        self.link.close()
        self.host.close()

    def tell(self, line):
        """Executes a line, which the kernel may refuse; returns the error text of ip(8)."""
        if line.startswith("sysctl "):
            with contextlib.suppress(OSError):  # the link no longer exists, or lacks that address
                self.host.sysctl(*line.split()[1:])
            return ""
        done = self.host.run(*line.split(), check=False)
        is_answer = done.returncode in (0, 2) or "evice" in done.stderr or "RTNETLINK answers" in done.stderr
        assert is_answer, f"no line for ip: {line}: {done.stderr}"
        return " ".join(done.stderr.split())

    def settle(self):
        """Waits for later changes by the kernel itself: states of links, IPv6 addresses."""
        for index in range(11, 11 + N_LINKS):
            # A query for one link makes the kernel update its state now.
            self.link.request(rtnetlink.RTM_GETLINK, struct.pack("=BxHiII", 0, 0, index, 0, 0))
        end = time.monotonic() + 2
        while time.monotonic() < end:
            addresses = self.link.dump(rtnetlink.RTM_GETADDR,
                                       struct.pack("=BBBBi", socket.AF_INET6, 0, 0, 0, 0))
            if not any(message[2] & 0x40 for message in addresses):  # IFA_F_TENTATIVE
                return
            time.sleep(0.001)


def kinds_of_socket(n, address):
    """The kinds of local sockets that query the n-th address: (name, attributes)."""
    family = 6 if ":" in address else 4
    link = n % N_LINKS
    return (("plain", {}),
            (f"from {PEERS[family].format(link, 10)}", {"source": PEERS[family].format(link, 10)}),
            (f"on {VRF}", {"oif": VRF_INDEX}) if n % 16 == 0 else
            (f"on eth{(link + 1) % N_LINKS}", {"oif": 11 + (link + 1) % N_LINKS}),
            (f"mark {MARKS[n % 2]}", {"mark": int(MARKS[n % 2], 16)}),
            (f"uid {UID}", {"uid": UID}),
            ("UDP", {"protocol": socket.IPPROTO_UDP}))


class Question(collections.namedtuple("Question", "address kind is_fib_match body keys")):
    """The route query of one kind of local socket for one address; keys: of our routes that contain it, the
    longest first."""

    def __str__(self):
        return f"{self.address} {self.kind}{' fibmatch' if self.is_fib_match else ''}"


def route_keys(address):
    """The keys (routes_of_table) of all our routes that could contain the address."""
    data = rtnetlink.packed(address)
    family = socket.AF_INET if len(data) == 4 else socket.AF_INET6
    n_bits = 8 * len(data)
    number = int.from_bytes(data, "big")
    return [(family, (number >> n_bits - n << n_bits - n).to_bytes(len(data), "big") if n else b"",
             n) for n in range(n_bits, -1, -1)]


def prefix_key(dst):
    """The key (routes_of_table) of our route to a host or prefix."""
    address, _, length = dst.partition("/")
    keys = route_keys(address)
    return keys[len(keys) - 1 - int(length)] if length else keys[0]


def questions(addresses):
    return [Question(address, kind, is_fib_match, query(address, is_fib_match, **attributes), keys)
            for n, (address, keys) in enumerate((address, route_keys(address))
                                                for address in addresses)
            for kind, attributes in kinds_of_socket(n, address)
            if kind != "UDP" or n % 4 == 0
            for is_fib_match in (True, False)]


class Twins(Closing):
    """Both hosts, the driver on one of them, and the queries by which they are compared. The
    driver's environment chooses its backend: see driver.c."""

    def __init__(self, addresses):
        self.has_routes = os.environ.get("DRIVER_APPLY") != "program"
        self.reader = Reader()
        self.questions = questions(addresses)
        self.batch = Batch([question.body for question in self.questions])
        self.counts = collections.Counter()  # see invariant.py
        self.silent_until = 0  # until then the kernel may change something without a notification
        self.is_silence_over = True  # and a minute has passed since
        self.without_us, self.with_us = Side("without"), Side("with")
        for side in (self.without_us, self.with_us):
            side.settle()
        self.driver = Driver(self.with_us.host).wait_ready()

    def close(self):
        self.driver.kill()
        self.without_us.close()
        self.with_us.close()

    def happen(self, line):
        """Executes a line on both hosts or on one. Returns the error text of ip(8)."""
        return self.tell_host(line, self.tell_twin(line))

    def tell_twin(self, line):
        """Executes a line on the host without Riptide, if it is for that; returns its error."""
        if SILENT.search(line):
            self.silent_until = time.monotonic() + SILENT_S
            self.is_silence_over = False
        return self.without_us.tell(line) if line.startswith(("sysctl ", "ip ")) else None

    def tell_host(self, line, expected):
        """Executes the line on the host with Riptide, where the error must be the same."""
        side, got = self.with_us, None
        if line.startswith("wait "):
            time.sleep(float(line.split()[1]))
        elif line.startswith("set "):
            self.driver.send([line])
        elif line.startswith("ours: "):
            got = side.tell(line[len("ours: "):])
        else:
            got = side.tell(line)
            for _ in range(20):
                # Riptide reacts to each deleted rule: ip may find one of ours deleted already.
                if got != expected and " rule flush" in line:
                    got = side.tell(line)
            if got != expected:
                raise Violation(f"{line}\n  with us: {got or 'done'}\n  "
                                f"without us: {expected or 'done'}")
        return got

    def ask(self, side, batch=None):
        return side.link.ask(batch or self.batch)

    def read(self, raw, n):
        return self.reader.read(raw, self.questions[n].is_fib_match)

    def mtus(self):
        """The MTUs of links on the host without Riptide."""
        return link_mtus(self.without_us.link)

    def differences(self, ours, base):
        """The numbers of the queries that the twins answer differently."""
        found = []
        table = rtnetlink.routes_of_table(self.with_us.link)
        mtus = self.mtus()
        for n, (a, b) in enumerate(zip(ours, base)):
            if a == b:
                continue
            route = self.read(a, n)
            if not is_alike(route, self.read(b, n), mtus):
                found.append(n)
            elif route[0].table == OUR_TABLE:
                # A connection must get the window of its own route, not of another destination's.
                window = next((table[key][0][1] for key in self.questions[n].keys if key in table), None)
                if route[0].windows.get(RTAX_INITCWND) != window:
                    found.append(n)
        return found

    def judge(self, base=None):
        """Compares the twins once Riptide is idle, and reports a lasting difference as a Violation.
        `base`: the present answers of the host without Riptide. Returns its answers. Later changes
        by the kernel itself may reach one twin before the other: only lasting differences count.
        What the kernel does not announce is found within a minute: the driver takes that as passed.
        If the kernel without us alternates between routes, any of them is right."""
        end = time.monotonic() + DEADLINE_S
        tries = 0
        while True:
            self.driver.quiet()
            ours, base = self.ask(self.with_us), base or self.ask(self.without_us)
            found = [n for n in self.differences(ours, base) if not self._is_taking_turns(n)]
            if not found:
                break
            tries += 1
            # On a busy machine one answer may take as long as the silence: a minute passes after it.
            if not self.is_silence_over:
                self.is_silence_over = time.monotonic() >= self.silent_until
                base = None
                self.counts["silent"] += 1
                self.driver.send(["later"])
                continue
            if time.monotonic() > end:
                description = self._describe(found, ours, base)
                raise (Parted if self.is_without_riptide(found) else Violation)(description)
            base = None
            time.sleep(min(0.01 * 2 ** tries, 0.5))
        self.counts["late"] += tries > 0
        if self.has_routes:
            self._judge_table(ours, base)
        self.driver.send(["later"])
        return base

    def is_without_riptide(self, found):
        """Removes Riptide: whether the differences remain, and main has the same routes. Links that go
        down and up quickly can leave hops of a route dead in only one of the kernels."""
        self.driver.end()
        both = self.ask(self.with_us), self.ask(self.without_us)
        routes = [rtnetlink.routes_of_table(side.link, RT_TABLE_MAIN) for side in (self.with_us, self.without_us)]
        return routes[0] == routes[1] and all(
            not is_alike(*(self.read(answers[n], n) for answers in both), self.mtus()) for n in found)

    def _is_taking_turns(self, n):
        batch = Batch([self.questions[n].body] * 8)
        ours, base = ({self.read(raw, n)[0] for raw in self.ask(side, batch)}
                      for side in (self.with_us, self.without_us))
        mtus = self.mtus()
        is_it = (len({route.likeness for route in base}) > 1
                 and all(any(a.is_like(b, mtus) for b in base) for a in ours)
                 and all(any(a.is_like(b, mtus) for a in ours) for b in base))
        self.counts["undecided"] += is_it
        return is_it

    def _judge_table(self, ours, base):
        """TCP takes no route of ours if the answer without us is not a unicast route of main, and none
        whose window is not larger. While a family is off its routes may be older."""
        table = rtnetlink.routes_of_table(self.with_us.link)
        for routes in table.values():
            if len(routes) > 1:
                raise Violation(f"several routes of ours for one destination: {routes}")
        for n, question in enumerate(self.questions):
            if question.kind != "plain" or not question.is_fib_match:
                continue
            self.counts["asked"] += 1
            route, _ = self.read(base[n], n)
            has_ours = question.keys[0] in table
            is_taken = self.read(ours[n], n)[0].table == OUR_TABLE
            self.counts["ours"] += is_taken
            if is_taken and (route.type != RTN_UNICAST or route.table != RT_TABLE_MAIN):
                raise Violation(f"{question.address} has a route of ours, but its base is {route}")
            window = table[question.keys[0]][0][1] if has_ours else 0
            # The table was read after the answers: a route may be gone since.
            if is_taken and has_ours and window <= route.windows.get(RTAX_INITCWND, 0):
                raise Violation(f"{question.address} starts with {window}, its base is {route} "
                                f"{route.windows}")

    def _describe(self, found, ours, base):
        lines = [f"{len(found)} of {len(self.questions)} answers differ, among them:"]
        for n in found[:: max(1, len(found) // 4)][:5]:
            with_us, without_us = self.read(ours[n], n), self.read(base[n], n)
            lines += [f"  {self.questions[n]}",
                      f"    with us    {with_us[0]} {with_us[0].windows} {with_us[1] or ''}",
                      f"    without us {without_us[0]} {without_us[0].windows} "
                      f"{without_us[1] or ''}",
                      f"    router: {self.driver.routes.get(self.questions[n].address)}"]
        lines.append(f"  counters: {self.driver.stats}")
        return "\n".join(lines)


def probe_kinds():
    """Optional features of kernels, lightweight tunnels and VRFs: those of this one, and those
    that it lacks."""
    with Host("probe") as host:
        for line in link_lines(0):
            host.run(*line.split())
        there = [name for name in sorted(ENCAPS)
                 if host.run("ip", "-6", "route", "add", "2001:db8::1", *tunnel(name, "fd00::1", 0).split(),
                             check=False).returncode == 0
                 and host.run("ip", "-6", "route", "del", "2001:db8::1").returncode == 0]
        if host.run("ip", "link", "add", VRF, "type", "vrf", "table", "9",
                    check=False).returncode == 0:
            there.append("vrf")
    return there, sorted({*ENCAPS, "vrf"} - set(there))


