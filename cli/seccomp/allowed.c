/* SPDX-License-Identifier: MIT */
/*
 * Runs when riptided is built, and is not installed: prints the program that the kernel runs before
 * each system call of a riptided that has started. Here is the list of what it may still ask for;
 * libseccomp knows the numbers and writes the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Whatever their arguments. Names that this architecture does not have are passed over. */
static const char *const allowed[] = {
    /* files and sockets that are open, and more sockets of the kinds below */
    "accept", "accept4", "bind", "close", "connect", "getsockname", "getsockopt", "_llseek",
    "lseek", "pread64", "read", "readv", "recv", "recvfrom", "recvmmsg", "recvmmsg_time64",
    "recvmsg", "send", "sendmsg", "sendto", "setsockopt", "write", "writev",
    /* the state and the metrics, written beside themselves */
    "fsync", "rename", "renameat", "renameat2", "unlink", "unlinkat",
    /* what a path leads to */
    "fstat", "fstat64", "fstatat64", "lstat", "lstat64", "newfstatat", "stat", "stat64", "statx",
    /* waiting */
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2", "poll", "ppoll",
    "ppoll_time64", "restart_syscall", "timerfd_create", "timerfd_settime", "timerfd_settime64",
    /* clocks, where they are no part of the process */
    "clock_gettime", "clock_gettime64", "gettimeofday", "time",
    /* memory */
    "brk", "futex", "futex_time64", "madvise", "mremap", "munmap",
    /* what the C library asks for on its own: random names, the room that qsort has, abort */
    "exit", "exit_group", "getegid", "geteuid", "getgid", "getpid", "getrandom", "gettid", "getuid",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn", "sysinfo"
};

#define HAS(n, mask, bits)                                                                         \
    {                                                                                              \
        (n), SCMP_CMP_MASKED_EQ, (mask), (bits)                                                    \
    }
#define IS(n, value) HAS(n, 0xffffffff, value)

/* What the flags of an open are judged by, and the one way in which files are made: mkostemp(3). */
#define OPENING   (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NOFOLLOW)
#define MAKE_FILE (O_RDWR | O_CREAT | O_EXCL)

/* No mode lends its owner's rights to who executes the file. */
#define NO_SET_ID(n) HAS(n, S_ISUID | S_ISGID, 0)

/* No process has this number: it stands in the rules for riptided's own, known only as it runs. */
#define OWN_PID 0x7fffffff

/* Of these only what one of the rows says of their arguments. */
static const struct {
    const char *name;
    unsigned int n;
    struct scmp_arg_cmp arguments[2];
} bounded[] = {
    { "socket", 1, { IS(0, AF_UNIX) } },
    { "socket", 2, { IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE) } },
    { "socket", 2, { IS(0, AF_NETLINK), IS(2, NETLINK_SOCK_DIAG) } },
    { "open", 1, { HAS(1, OPENING, O_RDONLY) } },
    { "open", 2, { HAS(1, OPENING, MAKE_FILE), NO_SET_ID(2) } },
    { "openat", 1, { HAS(2, OPENING, O_RDONLY) } },
    { "openat", 2, { HAS(2, OPENING, MAKE_FILE), NO_SET_ID(3) } },
    { "fchmod", 1, { NO_SET_ID(1) } },
    /* the numbers of interfaces and their names; whether a stream is a terminal */
    { "ioctl", 1, { IS(1, SIOCGIFINDEX) } },
    { "ioctl", 1, { IS(1, SIOCGIFNAME) } },
    { "ioctl", 1, { IS(1, TCGETS) } },
    { "mmap", 1, { HAS(2, PROT_EXEC, 0) } },
    { "mmap2", 1, { HAS(2, PROT_EXEC, 0) } },
    { "mprotect", 1, { HAS(2, PROT_EXEC, 0) } },
    { "tgkill", 2, { IS(0, OWN_PID), IS(2, SIGABRT) } },
};

/* Of fcntl(2). F_SETOWN is none of them: the kernel would signal in our name whom it names. */
static const unsigned int commands[] = { F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC };

static bool allow(scmp_filter_ctx filter, const char *name, unsigned int n,
                  const struct scmp_arg_cmp *arguments)
{
    int number = seccomp_syscall_resolve_name(name);
    int r = number == __NR_SCMP_ERROR
                ? -ENOSYS
                : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, n, arguments);

    if (r < 0)
        fprintf(stderr, "allowed: %s: %s\n", name, strerror(-r));
    return r == 0;
}

static bool allow_all(scmp_filter_ctx filter)
{
    bool is_done = true;

    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        is_done &= allow(filter, allowed[i], 0, NULL);
    for (size_t i = 0; i < sizeof(bounded) / sizeof(bounded[0]); i++)
        is_done &= allow(filter, bounded[i].name, bounded[i].n, bounded[i].arguments);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const struct scmp_arg_cmp command = IS(1, commands[i]);

        is_done &= allow(filter, "fcntl", 1, &command) && allow(filter, "fcntl64", 1, &command);
    }
    return is_done;
}

/* As a row of an array in C, in which own_pid is known. */
static bool print_row(const struct sock_filter *row)
{
    char operand[16] = "own_pid";

    if (row->k != OWN_PID)
        snprintf(operand, sizeof(operand), "0x%08x", row->k);
    return printf("{ 0x%02x, %u, %u, %s },\n", row->code, row->jt, row->jf, operand) > 0;
}

static bool print(scmp_filter_ctx filter)
{
    FILE *file = tmpfile();
    struct sock_filter row;
    bool is_done;

    if (!file)
        return false;
    is_done = seccomp_export_bpf(filter, fileno(file)) == 0 && fseek(file, 0, SEEK_SET) == 0;
    while (is_done && fread(&row, sizeof(row), 1, file) == 1)
        is_done = print_row(&row);
    fclose(file);
    return is_done && fflush(stdout) == 0;
}

int main(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    bool is_done = filter && seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2) == 0 &&
                   allow_all(filter) && print(filter);

    seccomp_release(filter);
    if (!is_done)
        fprintf(stderr, "allowed: no filter\n");
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
