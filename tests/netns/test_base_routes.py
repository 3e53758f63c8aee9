# SPDX-License-Identifier: MIT
"""What a router keeps of base routes: as much as they are, and equal ones once."""

import pytest

from netns import IS_SANITIZED, Host, wait_until
from twins import Driver

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
    assert IS_SANITIZED or used_kb < 20000  # a sanitizer keeps what was freed
