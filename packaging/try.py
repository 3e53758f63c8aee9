# SPDX-License-Identifier: MIT
"""Installs the packages of one directory, runs what they bring, upgrades to those of another, removes
and purges them, and looks for what is left: try.py OLD NEW, in a system that packaging/boot.sh has booted."""

import contextlib
import ctypes
import importlib.metadata
import os
import platform
import socket
import subprocess
import sys
import time
from pathlib import Path

PEER, GATEWAY = "203.0.113.1", "10.0.0.2"
SERVER = """
import socket
server = socket.create_server(("203.0.113.1", 4000), backlog=1000)
print("ready", flush=True)
peer = server.accept()[0]
peer.recv(1 << 20, socket.MSG_WAITALL)
peer.send(b"!")
peer.recv(1) # others stay in the backlog
"""
HOST = """
#include <riptide/agent.h>
#include <stdio.h>
int main(void)
{
    struct riptide_agent_config config;
    struct riptide_agent *agent;
    struct riptide_error error;

    riptide_agent_config_init(&config, sizeof(config));
    if (riptide_agent_new(&agent, &config, &error) < 0)
        return 1;
    riptide_agent_free(agent);
    return puts("linked") < 0;
}
"""
# Of the package manager and of logs, whatever is installed.
OTHERS = ("/var/lib/dpkg/", "/var/log/", "/var/cache/", "/var/lib/systemd/", "/run/systemd/", "/srv/")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=120, **options)
    if done.returncode:
        sys.exit(f"{' '.join(done.args)}: {done.returncode}: {done.stdout}\n{journal()}")
    return done.stdout


def journal():
    return subprocess.run(["journalctl", "--no-pager", "--unit=riptide*", "--lines=40"], stdout=subprocess.PIPE,
                          universal_newlines=True).stdout


def check(is_right, what, seen=""):
    if not is_right:
        sys.exit(f"try.py: not so: {what}: {seen}\n{journal()}")
    print(f"  {what}", flush=True)


def files():
    """All of the root's own file system and of /run."""
    return {path for path in run("find", "/", "/run", "-xdev").splitlines()
            if not path.startswith(OTHERS)}


def programs():
    """How many programs of the kernel are on this system's cgroups: BPF_PROG_QUERY, BPF_CGROUP_SOCK_OPS."""
    call = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    fd = os.open("/sys/fs/cgroup", os.O_RDONLY)
    query = (ctypes.c_uint32 * 8)(fd, 3)
    done = ctypes.CDLL(None, use_errno=True).syscall(call, 16, ctypes.byref(query), ctypes.sizeof(query))
    os.close(fd)
    if done:
        sys.exit(f"try.py: bpf(2): {os.strerror(ctypes.get_errno())}")
    return query[6]


def kernel():
    """Rules, routes and programs."""
    return "".join(run("ip", *words.split()) for words in (
        "rule", "-6 rule", "route show table all", "-6 route show table all")) + f"programs: {programs()}"


def make_network():
    """A peer beyond a gateway, to which connections can be opened."""
    for words in ("netns add peer", "link add v0 type veth peer name v1 netns peer", "link set v0 addrgenmode none",
                  "-n peer link set v1 addrgenmode none",
                  "address add 10.0.0.1/24 dev v0", "link set v0 up", "-n peer address add 10.0.0.2/24 dev v1",
                  "-n peer address add 203.0.113.1 dev v1", "-n peer link set v1 up", "-n peer link set lo up",
                  f"route add 203.0.113.0/24 via {GATEWAY}"):
        run("ip", *words.split())


@contextlib.contextmanager
def connection():
    """Open, and has sent enough to be learned from."""
    server = subprocess.Popen(["ip", "netns", "exec", "peer", sys.executable, "-c", SERVER], stdout=subprocess.PIPE)
    server.stdout.readline()
    try:
        with socket.create_connection((PEER, 4000)) as ours:
            ours.sendall(bytes(1 << 20))
            ours.recv(1)
            yield
    finally:
        server.kill()
        server.wait()


def packages(directory):
    return sorted(str(path) for path in Path(directory).glob("*.deb"))


def main_pid(unit="riptided"):
    return run("systemctl", "show", "--property=MainPID", "--value", unit).strip()


def wait_window(what):
    deadline = time.monotonic() + 30
    while True:
        done = subprocess.run(["riptide", "verify", PEER, "4000"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True)
        if done.returncode == 0 or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    check(done.returncode == 0 and "applied" in done.stdout, what, done.stdout)


def main(old, new):
    names = [run("dpkg-deb", "--field", path, "Package").strip() for path in packages(old)]
    make_network()
    files_before, kernel_before = files(), kernel()

    print(f"install {' '.join(names)}")
    run("dpkg", "--install", *packages(old))
    check(main_pid() == "0" and not list(Path("/etc/systemd/system").rglob("riptide*")),
          "riptided is neither started nor enabled")
    check(kernel() == kernel_before, "nothing in the kernel is changed")
    check(run("dpkg", "--verify", *names) == "", "all files are there")

    print("run")
    program, version = run("riptided", "--version").split()
    check(program == "riptided" and version == run("riptide", "version").split()[1], f"riptided {version}")
    check(run(sys.executable, "-c", "import riptide; print(riptide.__version__, len(riptide.observe()))") ==
          f"{version} 0\n", "the Python package observes")
    check(importlib.metadata.version("riptide") == version, "Python's tools find it and its version")
    Path("/tmp/host.c").write_text(HOST)
    flags = run("pkg-config", "--cflags", "--libs", "riptide").split()
    run("cc", "-o", "/tmp/host", "/tmp/host.c", *flags)
    check(run("/tmp/host") == "linked\n", "a program links the shared library")
    run("cc", "-o", "/tmp/host", "/tmp/host.c", *("-l:libriptide.a" if flag == "-lriptide" else flag for flag in flags),
        "-lmnl", "-lm")
    check(run("/tmp/host") == "linked\n", "and the static one")
    run("riptided", "--once")
    run("riptide", "flush")
    check(kernel() == kernel_before, "riptided --once and riptide flush leave nothing in the kernel")

    print("start")
    Path("/etc/riptide").mkdir()
    Path("/etc/riptide/riptided.conf").write_text("policy = paper\ncwnd-max = 40\n")
    with connection():
        run("systemctl", "enable", "--now", "riptided")
        wait_window("a connection starts with its window")
        check(programs() == 1 and "lookup riptide" in run("ip", "rule") and "initcwnd" in
              run("ip", "route", "show", "table", "riptide"), "rules, routes and a program are in the kernel")

        print("upgrade")
        first = main_pid()
        run("dpkg", "--install", *packages(new))
        check(main_pid() not in ("0", first), "riptided is another process")
        check("destinations loaded: 1" in journal(), "which goes on with what the first has learned")
        wait_window("a connection starts with its window")
        check(programs() == 1, "of the two programs one is left")

        print("remove")
        run("dpkg", "--remove", *names)
        check(main_pid() == "0", "riptided does not run")
        check(kernel() == kernel_before, "nothing is left in the kernel")
        check(Path("/var/lib/private/riptide/state").exists() and Path("/etc/riptide/riptided.conf").exists(),
              "state and configuration are kept")

        print("install again, and purge as it runs")
        Path("/etc/riptide/riptided.conf").write_text("apply = routes\npolicy = paper\ncwnd-max = 40\n")
        run("dpkg", "--install", *packages(new))
        run("systemctl", "restart", "riptided")
        wait_window("a connection starts with its window by routes alone")
        check(programs() == 0, "without a program")
        run("dpkg", "--purge", *names)
    check(main_pid() == "0", "riptided does not run")
    check(kernel() == kernel_before, "nothing is left in the kernel")
    left = sorted(files() - files_before)
    check(not left, "nothing is left on disk", left)
    check(not files_before - files(), "nothing else is gone", files_before - files())


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    main(*sys.argv[1:])
