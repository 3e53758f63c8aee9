# SPDX-License-Identifier: MIT
"""One destination with several paths: the window is the one that fits the worst path."""

import contextlib

import wanbox
from control import riptide_json
from netns import RIPTIDE, Daemon, Host, wait_until
from test_step_back import Load

# Connections each second; those over the second path lose most of a first flight.
FAST, SLOW = ("10.9.2.1", 3, 60_000, ",rate=100mbit,buffer=600kb"), ("10.9.2.2", 0.9, 60_000, ",rate=2mbit,buffer=20kb")


def test_an_address_of_several_paths_is_seen_and_keeps_its_window(cgroup):
    with contextlib.ExitStack() as stack:
        near, fast, slow = (stack.enter_context(contextlib.closing(Host(name))) for name in ("near", "fast", "slow"))
        addresses = {near.name: ["10.9.1.1"], fast.name: [FAST[0]], slow.name: [SLOW[0]]}
        ports = [f"name={name},netns={name},net={address}/32" for name, (address,) in addresses.items()]
        paths = [f"to={to.name},delay=25ms{link}" for to, link in ((near, ""), (fast, FAST[3]), (slow, SLOW[3]))]
        stack.enter_context(wanbox.Wan(ports, paths, addresses))
        stack.enter_context(Daemon(near, "--apply", "connections", "--cgroup", cgroup, "--prefix-len4", 24, "--policy", "careful",
                                   "--interval", "1s", "--holdout-percent", 0, has_rules=False))
        for to, path in ((fast, FAST), (slow, SLOW)):
            stack.enter_context(Load(near, to, path[0], per_second=path[1], n_bytes=path[2]))

        def window():
            found = riptide_json(near, "explain", FAST[0], check=False)
            return found["window"] if found and found["window"] else {"cwnd": 0, "bounds": []}
        found = wait_until(lambda: "many_paths" in window()["bounds"] and window(), "to be seen as several paths", 120)
        assert found["cwnd"] >= 24
        assert "; limited by: many_paths\n" in near.run(RIPTIDE, "explain", FAST[0]).stdout
