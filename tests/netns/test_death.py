# SPDX-License-Identifier: MIT
"""SIGKILL at any point: the next start corrects everything, and flush leaves nothing."""

import time

from invariant import Run
from netns import PROTOCOL, RIPTIDE, TABLE, snapshot
from routing_base import default_line
from rtnetlink import routes_of_table
from programs import Driver
from twins import prefix_key

KILLS = 200
FLUSH_EVERY = 10


class Life(Run):
    """A driver that is killed again and again, between hosts that are compared."""

    def __init__(self, seed):
        super().__init__(seed, n_hosts=60)
        self.host = self.twins.with_us.host
        self.hosts = [dst for dst in self.dsts if "/" not in dst]
        self.twins.driver.kill()
        self.flush()
        self.before = snapshot(self.host)
        self.start_s = 0.02

    def flush(self):
        self.host.run(RIPTIDE, "flush")

    def live(self):
        """Starts it with windows for some; returns these."""
        dsts = self.rng.sample(self.hosts, self.rng.randrange(20, len(self.hosts)))
        wanted = {dst: self.rng.randrange(11, 101) for dst in dsts}
        self.twins.driver = Driver(self.host)
        self.twins.driver.send(f"set {dst} {cwnd}" for dst, cwnd in wanted.items())
        return wanted

    def check(self, wanted):
        """Exactly the requested routes exist, by the right hops, with no difference to the twin."""
        self.twins.judge()
        found = {key: [route[1:] for route in list_] for key, list_ in routes_of_table(self.twins.with_us.link).items()}
        assert found == {prefix_key(dst): [(cwnd, PROTOCOL)] for dst, cwnd in wanted.items()}
        for family, length in (("-4", 31), ("-6", 127)):
            ours, main, *_ = self.host.ip(family, "rule").splitlines()[1:]
            assert ours == (f"32765:\tfrom all iif lo ipproto tcp lookup {TABLE} "
                            f"suppress_prefixlength {length} proto {PROTOCOL}")
            assert main == "32766:\tfrom all lookup main"
        assert f"proto {PROTOCOL}" not in self.host.ip("nexthop")

    def disturb(self, dsts):
        """Makes the router write; it is killed meanwhile."""
        if self.rng.random() < 0.5:
            self.twins.happen(default_line(self.rng.choice((4, 6)), "replace", self.rng.randrange(4)))
        else:
            self.twins.driver.send(f"set {dst} {self.rng.randrange(0, 101)}" for dst in dsts)

    def kill_while(self, longest_s):
        end = time.perf_counter() + self.rng.uniform(0, longest_s)
        while time.perf_counter() < end:
            pass
        self.twins.driver.kill()


def test_sigkill_anywhere_is_made_good():
    seed = time.time_ns() % 10 ** 9
    print(f"seed {seed}")
    with Life(seed) as life:
        for n in range(KILLS):
            began = time.perf_counter()
            wanted = life.live()
            if n % 4 == 3:  # during its start
                life.kill_while(life.start_s)
            else:
                life.twins.driver.quiet()
                life.start_s = time.perf_counter() - began
                life.check(wanted)
                if n % 4 == 2:  # while it removes everything
                    life.twins.driver.process.stdin.close()
                else:
                    life.disturb(wanted)
                life.kill_while(life.start_s / 2)
            if n % FLUSH_EVERY == 0:
                life.flush()
                life.twins.happen(default_line(4))
                life.twins.happen(default_line(6))
                assert snapshot(life.host) == life.before
