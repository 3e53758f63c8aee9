/* SPDX-License-Identifier: MIT */
/*
 * What an intruder in riptided would try, tried there: LD_PRELOADed into it, this writes the errno
 * of each attempt to the file FORBIDDEN, once before main and again at each SIGUSR1. The arguments
 * are such that a kernel without filter does nothing, or no harm, and says something else than
 * EPERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AT(pointer) ((long)(uintptr_t)(pointer))

static int fd;
static long page; /* of our own memory */

struct attempt {
    const char *name;
    long number;
    long arguments[5];
};

static void try(const struct attempt *attempt)
{
    const long *with = attempt->arguments;
    long r = syscall(attempt->number, with[0], with[1], with[2], with[3], with[4], 0L);
    int code = r < 0 ? errno : 0;

    if (r == 0 && attempt->number == SYS_clone)
        syscall(SYS_exit, 0); /* the child */
    dprintf(fd, "%s %d\n", attempt->name, code);
}

static void try_all(const char *when)
{
    static const char none[] = "/nonexistent/file", existing[] = "/etc/passwd";
    const struct attempt attempts[] = {
        { "execve", SYS_execve, { AT(none) } },
        { "execveat", SYS_execveat, { AT_FDCWD, AT(none) } },
        { "clone", SYS_clone, { SIGCHLD } },
        { "ptrace", SYS_ptrace, { PTRACE_DETACH } },
        { "process_vm_writev", SYS_process_vm_writev, { getppid() } },
        { "kill", SYS_kill, { getpid(), 0 } },
        { "tgkill", SYS_tgkill, { getpid(), gettid(), 0 } },
        { "abort of another", SYS_tgkill, { INT_MAX, INT_MAX, SIGABRT } },
        { "signal of a file", SYS_fcntl, { fd, F_SETOWN, getpid() } },
        { "IPv4 socket", SYS_socket, { AF_INET, SOCK_STREAM, 0 } },
        { "IPv6 socket", SYS_socket, { AF_INET6, SOCK_DGRAM, 0 } },
        { "packet socket", SYS_socket, { AF_PACKET, SOCK_RAW, 0 } },
        { "netfilter socket", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER } },
        { "audit socket", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT } },
        { "write to a file", SYS_openat, { AT_FDCWD, AT(existing), O_WRONLY } },
        { "append", SYS_openat, { AT_FDCWD, AT(existing), O_WRONLY | O_APPEND } },
        { "follow", SYS_openat, { AT_FDCWD, AT(none), O_WRONLY | O_CREAT | O_TRUNC, 0600 } },
        { "make with set-user-ID",
          SYS_openat,
          { AT_FDCWD, AT(none), O_RDWR | O_CREAT | O_EXCL, 04700 } },
        { "set-user-ID", SYS_fchmod, { -1, 04700 } },
        { "ioctl", SYS_ioctl, { fd, FIONREAD, AT(&page) } },
        { "truncate", SYS_truncate, { AT(none), 0 } },
        { "mkdirat", SYS_mkdirat, { AT_FDCWD, AT(none), 0700 } },
        { "fchmodat", SYS_fchmodat, { AT_FDCWD, AT(none), 0700 } },
        { "fchownat", SYS_fchownat, { AT_FDCWD, AT(none), 0, 0, 0 } },
        { "linkat", SYS_linkat, { AT_FDCWD, AT(none), AT_FDCWD, AT(none), 0 } },
        { "symlinkat", SYS_symlinkat, { AT(none), AT_FDCWD, AT(none) } },
        { "mknodat", SYS_mknodat, { AT_FDCWD, AT(none), 0600, 0 } },
        { "mount", SYS_mount, { AT(none), AT(none), AT(none) } },
        { "chroot", SYS_chroot, { AT(none) } },
        { "setns", SYS_setns, { -1 } },
        { "unshare", SYS_unshare, { 0 } },
        { "bpf", SYS_bpf, { -1 } },
        { "prctl", SYS_prctl, { PR_GET_DUMPABLE } },
        { "seccomp", SYS_seccomp, { 99 } },
        { "setuid", SYS_setuid, { getuid() } },
        { "capset", SYS_capset, { 0 } },
        { "umask", SYS_umask, { 022 } },
        { "executable memory", SYS_mmap, { 0, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 } },
        { "memory made executable", SYS_mprotect, { page, 4096, PROT_READ | PROT_EXEC } },
        { "io_uring_setup", SYS_io_uring_setup, { 0 } },
        { "reboot", SYS_reboot, { 0 } },
    };

    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        dprintf(fd, "%s ", when);
        try(&attempts[i]);
    }
    dprintf(fd, "%s over\n", when);
}

static void on_signal(int number)
{
    (void)number;
    try_all("running");
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FORBIDDEN");

    fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    page = AT(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (fd < 0)
        return;
    try_all("starting");
    signal(SIGUSR1, on_signal);
}
