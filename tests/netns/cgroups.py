# SPDX-License-Identifier: MIT
"""Cgroups that tests make and enter, so that the test's connections belong to them; and programs
of other owners on these cgroups."""

import contextlib
import ctypes
import mmap
import os
import platform
import re
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from waiting import wait_until


@contextlib.contextmanager
def mounted(directory, kind="cgroup2", options="rw"):
    """The mount point of cgroup2, which a sandbox may lack, or of another kind."""
    subprocess.run(["mount", "-t", kind, "-o", options, "none", directory], check=True)
    yield directory
    subprocess.run(["umount", directory], check=True)


def enter(cgroup):
    (cgroup / "cgroup.procs").write_text(str(os.getpid()))


@contextlib.contextmanager
def made(root):
    """Makes a cgroup for the time of a `with`; this process enters it."""
    with open("/proc/self/cgroup") as file:
        home = root / next(line[3:] for line in file if line.startswith("0::")).strip().lstrip("/")
    cgroup = Path(tempfile.mkdtemp(prefix="riptide-", dir=home))
    enter(cgroup)
    try:
        yield cgroup
    finally:
        enter(home)
        wait_until(lambda: _remove(cgroup), f"no process left in {cgroup}")


def _remove(cgroup):
    with contextlib.suppress(OSError):
        for below in cgroup.iterdir():
            if below.is_dir():
                below.rmdir()
        cgroup.rmdir()
    return not cgroup.exists()


def refusing(error, condition, function="long syscall(long number, long a, long b, long c)"):
    """C of a function of libc's that refuses with an errno where the condition on its parameters holds."""
    name = re.search(r"(\w+)\(", function)[1]
    arguments = ", ".join(re.findall(r"(\w+)(?=[,)])", function))
    return f"""
        #include <dlfcn.h>
        #include <errno.h>
        #include <linux/bpf.h>
        #include <sys/socket.h>
        #include <sys/syscall.h>
        int access(const char *path, int mode); /* unistd.h has another syscall() */
        {function}
        {{
            __typeof__({name}) *next = (__typeof__(next))dlsym(RTLD_NEXT, "{name}");

            if ({condition}) {{
                errno = {error};
                return -1;
            }}
            return next({arguments});
        }}
    """


def refusing_bpf(error, condition):
    """The same for calls of bpf(2)."""
    return refusing(error, f"number == SYS_bpf && {condition}")


def instruction(code, dst=0, src=0, offset=0, value=0):
    return struct.pack("<BBhi", code, dst | src << 4, offset, value)


class OtherProgram:
    """Another owner's program, attached to a cgroup. With `takes_callbacks` it clears the callbacks
    of all others."""

    SYSCALL = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    PROG_LOAD, PROG_ATTACH, PROG_DETACH = 5, 8, 9
    SOCK_OPS, CGROUP_SOCK_OPS, ALLOW_MULTI = 13, 3, 2
    RETURN_1 = instruction(0xb7, value=1) + instruction(0x95)
    # r2 = 0; call bpf_sock_ops_cb_flags_set
    NO_CALLBACKS = instruction(0xb7, 2) + instruction(0x85, value=59)

    def __init__(self, cgroup, is_alone=False, takes_callbacks=False, code=RETURN_1):
        self.cgroup_fd = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
        code = self.NO_CALLBACKS * takes_callbacks + code
        insns, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
        self.fd = self._bpf(self.PROG_LOAD, "=IIQQIIQII16sII", self.SOCK_OPS, len(code) // 8,
                            ctypes.addressof(insns), ctypes.addressof(licence), 0, 0, 0, 0, 0,
                            b"other", 0, self.CGROUP_SOCK_OPS)
        self._bpf(self.PROG_ATTACH, "=IIII", self.cgroup_fd, self.fd, self.CGROUP_SOCK_OPS,
                  0 if is_alone else self.ALLOW_MULTI)

    def _bpf(self, command, layout, *members):
        attr = ctypes.create_string_buffer(struct.pack(layout, *members), 128)
        libc = ctypes.CDLL(None, use_errno=True)
        r = libc.syscall(self.SYSCALL, command, attr, 128)
        if r < 0:
            raise OSError(ctypes.get_errno(), "bpf")
        return r

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._bpf(self.PROG_DETACH, "=IIII", self.cgroup_fd, self.fd, self.CGROUP_SOCK_OPS, 0)
        os.close(self.fd)
        os.close(self.cgroup_fd)


class Links(OtherProgram):
    """The links of a process's program to the cgroup."""

    LINK_UPDATE, LINK_BY_ID, LINK_DETACH = 29, 30, 34

    def __init__(self, pid):
        self.links = []
        for number in os.listdir(f"/proc/{pid}/fdinfo"):
            with open(f"/proc/{pid}/fdinfo/{number}") as file:
                words = dict(line.split(":", 1) for line in file if ":" in line)
            if "link_id" in words:
                self.links.append(self._bpf(self.LINK_BY_ID, "=III", int(words["link_id"]), 0, 0))

    def detach(self):
        for fd in self.links:
            self._bpf(self.LINK_DETACH, "=I", fd)

    def replace(self, other):
        """Replaces the process's program on the cgroup by another one."""
        for fd in self.links:
            self._bpf(self.LINK_UPDATE, "=IIII", fd, other.fd, 0, 0)

    def __exit__(self, *_):
        for fd in self.links:
            os.close(fd)


class Notes(OtherProgram):
    """The table of notes of a process's program (window.h), which is its last memory."""

    MAP_BY_ID, N, UNIT_NS = 14, 8 << 15, 1 << 30

    def __init__(self, pid):
        for path in Path(f"/proc/{pid}/fdinfo").iterdir():
            text = ""
            with contextlib.suppress(FileNotFoundError):  # the process has closed it meanwhile
                text = path.read_text(encoding="ascii")
            words = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
            if int(words.get("map_type", 0)) == 2:  # an array
                self.fd = self._bpf(self.MAP_BY_ID, "=III", int(words["map_id"]), 0, 0)
                self.n_bytes = int(words["value_size"])

    def fill(self, age):
        """With notes of no connection of the test's, so many seconds old."""
        time_units = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // self.UNIT_NS - age
        note = 1 << 24 | (time_units & 0x3fff) << 4
        with mmap.mmap(self.fd, -(-self.n_bytes // mmap.PAGESIZE) * mmap.PAGESIZE) as memory:
            memory[self.n_bytes - 8 * self.N:self.n_bytes] = struct.pack("Q", note) * self.N

    def __exit__(self, *_):
        os.close(self.fd)


class CountingProgram(OtherProgram):
    """A program that sets callback flags, and counts calls for one operation in a map."""

    LOSSES, RTT, WRITE_HDR_OPT, PARSE_UNKNOWN_HDR_OPT = 3, 8, 64, 32
    RTO_CB, RTT_CB, HDR_OPT_LEN_CB = 8, 12, 14

    def __init__(self, cgroup, callbacks=RTT, operation=RTT_CB):
        self.map_fd = self._bpf(0, "=IIIII", 2, 4, 8, 1, 0)  # an array of one u64
        ask = instruction(0xb7, 2, value=callbacks or 0) + instruction(0x85, value=59)
        code = b"".join((
            instruction(0xbf, 6, 1), instruction(0x61, 1, 6),  # r6 = ctx; r1 = op
            instruction(0x57, 1, value=-2), instruction(0x55, 1, offset=3, value=4),  # established: 4, 5
            instruction(0xbf, 1, 6), ask if callbacks else instruction(0xb7, 0) * 2,
            instruction(0x61, 1, 6), instruction(0x55, 1, offset=9, value=operation),
            instruction(0x62, 10, offset=-4), instruction(0xbf, 2, 10), instruction(0x07, 2, value=-4),
            instruction(0x18, 1, 1, value=self.map_fd), instruction(0), instruction(0x85, value=1),
            instruction(0x15, 0, offset=2), instruction(0xb7, 1, value=1), instruction(0xdb, 0, 1),
            instruction(0xb7, value=1), instruction(0x95)))
        super().__init__(cgroup, code=code)

    def count(self):
        key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(8)
        self._bpf(1, "=IIQQQ", self.map_fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0)
        return int.from_bytes(value.raw, "little")
