# SPDX-License-Identifier: MIT
"""A riptided under all kinds of changes at once, for a given time: ./dev soak runs this.

Connections open and close; routes, rules, links and addresses change; other programs change its
table; operators pause it and give hints; and in the first third of the time it is killed again and
again. After each event the routes of TCP and UDP to the same addresses are compared: our rules select
TCP only, and no event depends on the protocol, so every difference is Riptide's; with windows by the
program alone (--apply) there is none at any time.
"""

import argparse
import collections
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cgroups  # noqa: E402
from control import count_fds, is_served, resident_kb, status  # noqa: E402
from netns import BUILD, RIPTIDE, RIPTIDED, TABLE, Daemon, Network, mount_build, routes, rules, wait_until  # noqa: E402
from programs import Violation  # noqa: E402
from rtnetlink import Ways, is_alike, link_mtus  # noqa: E402
from waiting import Closing, percentile  # noqa: E402

CHURN = BUILD / "lab" / "bench" / "connections"
PREFIXES = "203.0.113.", "198.51.100.", "2001:db8::", "2001:db8:1::"
HOSTS = 200          # of each
KEPT = 40            # connections that stay open
ASKED = 200          # addresses whose routes are compared after each event
LASTS_S = 10         # a difference that lasts longer is a violation
MTU = 1400           # of some base routes
EVENT_EVERY_S = 0.1
GROWTH_KB = 256      # of memory, after the warm-up
WARM_UP_S = 40
MIN_ROWS = 30        # after the warm-up, for a judgement
MORE_FILES = 8       # than the fewest of the daemon: clients, those that it writes
GATEWAYS = {4: ("10.0.0.1 dev eth0", "10.0.0.2 dev eth0", "10.0.1.1 dev eth1"),
            6: ("fd00::1 dev eth0", "fd00::2 dev eth0", "fd00:0:0:1::1 dev eth1")}
CONFIGS = ("", "cwnd-max = 60\n", "max-destinations = 300\n", "[prefix 203.0.113.0/25]\ncwnd-max = 20\n",
           "scope = 203.0.113.0/24, 2001:db8::/64\n")
WORDS = "", "", "", f"mtu {MTU}", "advmss 1200", "initcwnd 33", "metric 50"
# How often; what breaks something; what repairs it.
ROUTING = (
    (18, ["-{family} route replace {prefix} via {hop} {words}"], ["-{family} route del {prefix}"]),
    (2, ["-{family} route replace {kind} {prefix}"], ["-{family} route del {kind} {prefix}"]),
    (8, ["-{family} rule add to {prefix} lookup 100 pref {priority}"],
     ["-{family} rule del to {prefix} lookup 100 pref {priority}"]),
    (6, ["-{family} route replace default via {hop}"], []),
    (4, ["link set eth1 down"],
     ["link set eth1 up", "addr add 10.0.1.10/24 dev eth1",
      "addr add fd00:0:0:1::10/64 dev eth1 nodad",
      "route add default via 10.0.1.1 table 100", "route add default via fd00:0:0:1::1 table 100",
      "route add default via 10.0.0.1", "-6 route add default via fd00::1"]),
    (4, ["addr add 10.0.0.{n}/24 dev eth0", "addr add fd00::{n:x}/64 dev eth0 nodad"],
     ["addr del 10.0.0.{n}/24 dev eth0", "addr del fd00::{n:x}/64 dev eth0"]),
)


def addresses(n):
    """n of those to which connections go."""
    step = HOSTS * len(PREFIXES) // n
    forms = [prefix + ("{:x}" if ":" in prefix else "{}") for prefix in PREFIXES]
    return [form.format(i) for form in forms for i in range(1, HOSTS + 1, step)]


class Figures:
    """Figures of a whole run; the text reports those so far."""

    def __init__(self):
        self.rows = []  # resident kB and files of the present daemon, each second
        self.lasted_ms, self.late_ms = [], []
        self.events = collections.Counter()
        self.last = collections.deque(maxlen=8)
        self.n_kills = 0

    def growth_kb(self):
        """Growth of the median from the first third to the last behind the warm-up, while tables
        grow; 0: too short to judge."""
        resident = [row[0] for row in self.rows[max(WARM_UP_S, len(self.rows) // 4):]]
        third = len(resident) // 3
        if third < MIN_ROWS // 3:
            return 0
        return statistics.median(resident[-third:]) - statistics.median(resident[:third])

    def judge(self):
        """Raises Violation if memory or files grow."""
        files = [row[1] for row in self.rows] or [0]
        if self.growth_kb() > GROWTH_KB or max(files) - min(files) > MORE_FILES:
            raise Violation(f"memory grew by {self.growth_kb():.0f} kB after the warm-up, "
                            f"files went from {min(files)} to {max(files)}")

    def __str__(self):
        kinds = ", ".join(f"{name} {n}" for name, n in self.events.most_common())
        lasted, late = (
            "median {:.1f}, p99 {:.1f}, max {:.1f}".format(*(percentile(values, share) for share in (0.5, 0.99, 1)))
            for values in (self.lasted_ms, self.late_ms))
        return (f"{sum(self.events.values())} events ({kinds}), {self.n_kills} kills; from an event to "
                f"the right answers ms: {lasted}; rounds late ms: {late}; growth kB: {self.growth_kb():.0f}")


class Watch(Ways):
    """Judges the host's routes of TCP by those of UDP."""

    def __init__(self, host, lasts_s):
        super().__init__(host, addresses(ASKED))
        self.lasts_s = lasts_s

    def differences(self):
        # The MTU of a former base route, which connections still report, and our route then sets.
        learned = dict.fromkeys(link_mtus(self.link), MTU)
        return [way for way in super().differences() if not is_alike(*way[1:], learned)]

    def judge(self):
        """Waits until there is no difference; returns how long that took, in ms."""
        start = time.monotonic()
        while True:
            found = self.differences()
            lasted = time.monotonic() - start
            if not found:
                return lasted * 1000
            if lasted > self.lasts_s:
                ways = [f"  {address}\n    TCP {ours[0]}\n    UDP {base[0]}" for address, ours, base in found[:4]]
                raise Violation("\n".join([f"{len(found)} ways differ, among them:", *ways]))


class Soak(Closing):
    """The hosts, the daemon, and the events."""

    def __init__(self, seed, figures, apply, cgroup):
        self.rng = random.Random(seed)
        self.figures = figures
        self.apply, self.cgroup = apply, cgroup
        self.net = Network()
        self.host = self.net.host
        self.host.sysctl("ipv6/conf/all/forwarding", 1)  # or IPv6 is left alone, as it has several gateways
        self.net.world.batch("route add local 2001:db8:1::/64 dev lo\n")
        self.host.batch("route add default via 10.0.1.1 table 100\n"
                        "route add default via fd00:0:0:1::1 table 100\n")
        self.watch = Watch(self.host, LASTS_S * (apply != "program"))
        self.undo = []   # commands that repair the damage
        near, far = self.host.path, self.net.world.path
        load = f"""n=0; while :; do
            n=$((n % {HOSTS} + 1))
            for net in cb0071 c63364; do {CHURN} churn {near} {far} $net$(printf %02x $n) 50; done
        done"""
        self.load = subprocess.Popen(["sh", "-c", load], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     start_new_session=True)
        self.kept = [self.net.learned(address) for address in addresses(KEPT)]
        self.start()
        self.kinds = {self.routing: 48, self.hint: 2, self.pause: 1, self.stop_for_a_while: 1}
        if apply != "program":
            self.kinds[self.foreign_hand] = 4
        if apply != "routes":
            self.kinds[self.other_program] = 3

    def close(self):
        os.killpg(self.load.pid, signal.SIGKILL)
        self.load.wait()
        self.net.close()

    def start(self):
        cgroup = ("--cgroup", self.cgroup) if self.apply != "routes" else ()
        self.daemon = Daemon(self.host, "--policy", "careful", "--holdout-percent", "0", "--apply", self.apply, *cgroup,
                             "--state", "/run/churn.state", "--metrics", "/run/churn.prom", "--log-level", "warning",
                             interval="200ms", config=self.rng.choice(CONFIGS))
        wait_until(lambda: self.check() or is_served(), "the control socket")
        wait_until(lambda: self.check() or len(rules(self.host)) == 2 * (self.apply != "program"), "our rules")
        self.figures.rows = []

    def check(self):
        if not self.daemon.is_running():
            raise Violation(f"riptided ended with {self.daemon.process.returncode}")

    def kill(self):
        """Kills riptided. Then a flush, as by a service manager, or only the next start."""
        self.daemon.kill()
        if self.rng.random() < 0.5:
            self.host.run(RIPTIDED, "--flush")
            self.check_nothing_left("a flush")
        self.start()
        self.figures.n_kills += 1

    def end(self):
        self.daemon.stop()
        self.check_nothing_left("riptided ended with 0, and")
        self.figures.judge()

    def check_nothing_left(self, what):
        left = rules(self.host) + list(routes(self.host))[:5]
        if left:
            raise Violation(f"{what} left: {left}")

    def sample(self):
        self.figures.rows.append((resident_kb(self.daemon.pid), count_fds(self.daemon.pid)))
        self.figures.late_ms.append(wait_until(lambda: status()["round"], "a round")["late_ms"])

    # What happens

    def happen(self):
        (kind,) = self.rng.choices(list(self.kinds), self.kinds.values())
        for connection in self.kept:  # those that are idle are no evidence
            with contextlib.suppress(OSError):
                connection.near.send(bytes(1000))
            with contextlib.suppress(OSError):
                connection.far.recv(1 << 16)
        kind()
        self.figures.events[kind.__name__] += 1
        self.figures.last.append(kind.__name__)
        self.figures.lasted_ms.append(self.watch.judge())
        self.check()

    def ip(self, *lines):
        """Runs lines of ip(8), which may be refused."""
        for line in lines:
            self.host.run("ip", *line.split(), check=False)

    def prefix(self):
        prefix, n = self.rng.choice(PREFIXES), self.rng.randrange(HOSTS)
        few = self.rng.randrange(8)  # bits
        address = f"{n >> few << few:x}" if ":" in prefix else n >> few << few
        return (6, f"{prefix}{address}/{128 - few}") if ":" in prefix else (4, f"{prefix}{address}/{32 - few}")

    def routing(self):
        """One of ROUTING; some are repaired at once, others later."""
        family, prefix = self.prefix()
        fields = {"family": family, "prefix": prefix,
                  "hop": self.rng.choice(GATEWAYS[family]), "words": self.rng.choice(WORDS),
                  "kind": self.rng.choice(("blackhole", "unreachable", "prohibit")), "n": self.rng.randrange(20, 250),
                  "priority": self.rng.randrange(2000, 30000)}
        weights = [weight for weight, _, _ in ROUTING]
        ((_, broken, mended),) = self.rng.choices(ROUTING, weights)
        broken, mended = ([line.format(**fields) for line in lines] for lines in (broken, mended))
        self.ip(*broken)
        if "link set" in broken[0]:
            self.watch.judge()
            self.ip(*mended)
            return
        self.undo.append(mended)
        if len(self.undo) > 6:
            self.ip(*self.undo.pop(0))

    def foreign_hand(self):
        self.ip(self.rng.choice((f"-4 route flush table {TABLE}", f"-6 route flush table {TABLE}",
                                 f"-4 rule del lookup {TABLE}", f"-6 rule del lookup {TABLE}",
                                 f"-4 route add 203.0.113.{self.rng.randrange(200)} via 10.0.0.2 "
                                 f"table {TABLE} proto 230")))

    def other_program(self):
        """Another program's rule, before or after ours, for the time of one event."""
        with cgroups.OtherProgram(self.cgroup, takes_callbacks=True):
            self.watch.judge()

    def hint(self):
        self.host.run(RIPTIDE, "hint", self.prefix()[1], "--max", "15", "--for", "2s", check=False)

    def pause(self):
        self.host.run(RIPTIDE, "pause")
        self.watch.judge()
        self.host.run(RIPTIDE, "resume")

    def stop_for_a_while(self):
        with self.daemon.stopped():
            time.sleep(self.rng.random())


def run(soak, seconds, figures):
    """Runs events until the time is over; kills only in its first third."""
    start = killed = sampled = said = now = time.monotonic()
    while now - start <= seconds:
        if now - sampled >= 1:
            sampled = now
            soak.sample()
        if now - said >= 60:
            said = now
            print(f"{(now - start) / 60:.0f} min: {figures}", flush=True)
        if now - start < seconds / 3 and now - killed > min(20, seconds / 12):
            killed = now
            soak.kill()
        soak.happen()
        time.sleep(max(0, EVENT_EVERY_S - (time.monotonic() - now)))
        now = time.monotonic()
    soak.end()


def main():
    """Prints figures; 1 after a violation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10 ** 9)
    parser.add_argument("--apply", choices=("routes", "program", "both"), default="routes")
    options = parser.parse_args()
    print(f"churn: seed {options.seed}", flush=True)
    mount_build()
    figures, violation = Figures(), None
    with contextlib.ExitStack() as stack:
        directory = Path("/run/churn.cgroups")
        directory.mkdir()
        cgroup = stack.enter_context(cgroups.made(stack.enter_context(cgroups.mounted(directory))))
        soak = stack.enter_context(Soak(options.seed, figures, options.apply, cgroup))
        try:
            run(soak, options.minutes * 60, figures)
        except (Violation, AssertionError, TimeoutError) as found:
            violation = found
            print(f"VIOLATION: {found}\nthe last events: {figures.last}\n"
                  f"riptided said: {soak.daemon.said()}", flush=True)
    print(figures, flush=True)
    return 1 if violation else 0


if __name__ == "__main__":
    sys.exit(main())
