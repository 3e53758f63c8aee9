# SPDX-License-Identifier: MIT
"""The cost of a router: few writes under steady traffic, as a window within a step is not
rewritten; memory for base routes of their real size, and equal ones only once."""

import random
import time

import pytest
from control import wait_rounds
from netns import IS_SANITIZED, RIPTIDE, Daemon, Host, wait_until, windows
from programs import Driver

N_DESTINATIONS = 1000
N_TICKS = 60
NOISE = 0.03  # of the window between ticks, as in a moving average over many connections


def test_noise_of_steady_traffic_is_written_a_tenth_of_the_time(net, driver, capsys):
    seed = time.time_ns() % 10 ** 9
    rng = random.Random(seed)
    dsts = [f"198.51.{n // 256}.{n % 256}" for n in range(N_DESTINATIONS)]
    means = {dst: rng.uniform(20, 100) for dst in dsts}
    asked = {}
    n_changes = 0
    for tick in range(N_TICKS):
        wanted = {dst: min(100, max(10, round(rng.gauss(mean, NOISE * mean))))
                  for dst, mean in means.items()}
        changed = [dst for dst in dsts if wanted[dst] != asked.get(dst)]
        driver.send(f"set {dst} {wanted[dst]}" for dst in changed)
        asked = wanted
        written = driver.quiet()["written"]
        n_changes += len(changed) if tick else 0
        n_first = n_first if tick else written
    n_written = written - n_first
    with capsys.disabled():
        print(f"\nfew writes: seed {seed}; {n_changes} changes of {N_DESTINATIONS} windows in"
              f" {N_TICKS} ticks, {n_written} routes written: "
              f"{100 * (1 - n_written / n_changes):.1f} % fewer")
    assert n_first == N_DESTINATIONS
    assert n_written <= 0.1 * n_changes
    for dst, cwnd in windows(net.host).items():
        assert abs(cwnd - asked[dst]) <= max(2, cwnd * 0.1)


def test_hint_is_written_whatever_the_step(net):
    def hint(prefix, *options):
        net.host.run(RIPTIDE, "hint", prefix, *options, "--for", "10min")

    with Daemon.learned(net, {"203.0.113.1": 40}):
        for cwnd in (39, 38):  # within a step
            hint("203.0.113.0/25", "--max", cwnd)
            wait_until(lambda: windows(net.host) == {"203.0.113.1": cwnd}, "the hint")


N = 10000


def memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line.split()[1] for line in file if line.startswith("VmHWM")))


@pytest.mark.parametrize("is_one", [True, False], ids=["one", "each its own"])
def test_base_routes_cost_what_they_are(is_one, capsys):
    host = Host("host")
    try:
        host.batch("link add eth0 type veth peer name far0\nlink set far0 up\nlink set eth0 up\n"
                   "addr add 10.0.0.10/24 dev eth0\nroute add default via 10.0.0.1\n")
        if not is_one:
            host.batch("".join(f"route add 20.{n >> 8}.{n & 255}.0/24 via 10.0.0.1\n"
                               for n in range(N)))
        wait_until(host.is_ready, "links up")
        with Driver(host) as driver:
            driver.send(f"set 20.{n >> 8}.{n & 255}.7 40" for n in range(N))
            assert driver.quiet()["routes"] == N
            used_kb = memory_kb(driver.process.pid)
    finally:
        host.close()
    with capsys.disabled():
        print(f"\n{N} destinations behind {1 if is_one else N} base routes: {used_kb} kB at most")
    assert IS_SANITIZED or used_kb < 20000  # a sanitizer keeps freed memory
