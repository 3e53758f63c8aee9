# SPDX-License-Identifier: MIT
"""More changes than the notification queue holds: our rules are removed until all is correct.

The queue is shrunk to the kernel's minimum by the driver, from outside the library, or the driver
is stopped while the storm fills the one that it has.
"""

import contextlib
import time

import pytest
from invariant import Run
from netns import rules
from routing_base import OUR_TABLE
from rtnetlink import Rtnetlink, attributes, messages, u32
from programs import Driver
from waiting import stopped

CHANGES = 50000
RTM_NEWRULE, RTM_DELRULE = 32, 33
RULE_GROUPS = 1 << 7 | 1 << 18  # RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE
FRA_TABLE = 15


def rule_changes(link):
    """Additions and deletions of our rule that the kernel has announced: {family: "+-..."}."""
    found = {2: "", 10: ""}
    while True:
        try:
            data = link.socket.recv(1 << 16)
        except BlockingIOError:
            return found
        for kind, _, body in messages(data):
            table = dict(attributes(body[12:])).get(FRA_TABLE, bytes(4))
            if u32.unpack(table)[0] == OUR_TABLE:
                found[body[0]] += {RTM_NEWRULE: "+", RTM_DELRULE: "-"}.get(kind, "")


def storm(host):
    """50,000 changes of routes to our destinations; only the last one of each route stays."""
    lines = []
    for n in range(CHANGES // 2):
        link = n % 3 + 1
        lines.append(f"route replace 198.{18 + n % 2}.{n % 8}.{n // 8 % 256} via 10.0.{link}.1")
        lines.append(f"route replace 2001:db8:0:{n % 2}::{n // 2 % 512:x} "
                     f"via fd00:0:0:{link}::1 dev eth{link}")
    host.batch("\n".join(lines))


@pytest.mark.parametrize("is_stopped", [False, True], ids=["smallest-queue", "stopped"])
def test_overrun_removes_the_rules_and_makes_all_right(is_stopped, say):
    with Run(7, n_hosts=90) as case, Rtnetlink(case.twins.with_us.host, RULE_GROUPS) as watch:
        twins, host = case.twins, case.twins.with_us.host
        watch.socket.setblocking(False)
        twins.happen("sysctl ipv6/conf/all/forwarding 1")  # or IPv6 is left alone, as it has several gateways
        if not is_stopped:
            twins.driver.kill()
            twins.driver = Driver(host, 1).wait_ready()
        case.happen([], case.windows)
        before = twins.driver.stats
        rule_changes(watch)
        storm(twins.without_us.host)
        with stopped(twins.driver.pid) if is_stopped else contextlib.nullcontext():
            storm(host)
            over = time.perf_counter()
            assert not is_stopped or rule_changes(watch) == {2: "", 10: ""}
        after = twins.driver.quiet()
        lasted_ms = (time.perf_counter() - over) * 1000
        happened = rule_changes(watch)
        twins.judge()
    assert after["overruns"] > before["overruns"]
    for rules in happened.values():
        # Removed, and restored at the end.
        assert rules.startswith("-+") and rules == "-+" * (len(rules) // 2), happened
    say(f"overrun, {'stopped' if is_stopped else 'smallest queue'}: {CHANGES} changes, "
        f"{after['overruns'] - before['overruns']} overruns, rules removed "
        f"{len(happened[2]) // 2} times, quiet {lasted_ms:.0f} ms after the last")


# Runs a command once the kernel has begun to answer a request for all links: once, if FLAG
# exists, which it removes.
CHANGING = """
    #include <linux/rtnetlink.h>
    #include <stdlib.h>
    #include <sys/socket.h>
    #include <unistd.h>
    ssize_t sendto(int fd, const void *bytes, size_t n, int flags, __CONST_SOCKADDR_ARG to,
                   socklen_t n_to)
    {
        const struct nlmsghdr *message = bytes;
        ssize_t sent = send(fd, bytes, n, flags);
        (void)to, (void)n_to;
        if (message->nlmsg_type == RTM_GETLINK && unlink(getenv("FLAG")) == 0) {
            unsetenv("LD_PRELOAD");
            if (system(getenv("CHANGE")) != 0)
                abort();
        }
        return sent;
    }
"""


@pytest.mark.parametrize("change", ["true", "ip link add late type veth"])
def test_interrupted_look_is_made_again(net, tmp_path, preload, change):
    """A link is added while links are dumped, and affects no route of ours: the dump may be
    incomplete. At the start, and later, when the rules are removed meanwhile."""
    # More than fit into the first part of the kernel's answer.
    net.host.batch("".join(f"link add near{n} type veth peer name far{n}\n" for n in range(60)))
    flag = tmp_path / "flag"
    flag.touch()
    with Driver(net.host, prefix=("env", preload(CHANGING), f"FLAG={flag}",
                                  f"CHANGE={change}")) as driver:
        assert not flag.exists()
        before = driver.follow("set 198.18.0.1 40")
        if change != "true":
            net.host.ip("link", "del", "late")
            before = driver.quiet()
        flag.touch()
        after = driver.later()
        assert not flag.exists()
        assert bool(after["rule_removals"] - before["rule_removals"]) == (change != "true")
        assert len(rules(net.host)) == 2
