/* SPDX-License-Identifier: MIT */
/*
 * What fails is counted in one place, fails(). Below it a wrapper for each function, with the
 * errors that it can give: EPERM is among them everywhere, as a seccomp filter gives it.
 */
/* With it, clang takes some of these functions for overloads of libc's. */
#undef _FORTIFY_SOURCE

#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MAX_PARTS = 8, MAX_REFUSED = 64, BATCH_BYTES = 256 * 1024 };

static struct shim_plan current;
static uint32_t n_seen;
struct shim shim;

/* Requests whose acknowledgement is to become a refusal. */
static uint32_t refused[MAX_REFUSED];
static uint32_t n_refused;

void shim_start(const struct shim_plan *plan)
{
    current = *plan;
    n_seen = n_refused = 0;
    shim = (struct shim){ .is_following = true };
}

static bool is_turn(void)
{
    n_seen++;
    if (current.n == 0 || n_seen < current.n || n_seen >= current.n + current.n_fail)
        return false;
    shim.n_failed++;
    return true;
}

/* Whether this allocation fails. */
static bool lacks_memory(void)
{
    if (!shim.is_following || current.kind != SHIM_ALLOCATION || !is_turn())
        return false;
    errno = ENOMEM;
    return true;
}

/* Whether this call fails: `errors` are those that it can give beside EPERM, ended by 0. */
static bool fails(const int *errors)
{
    bool can = current.error == EPERM;

    if (!shim.is_following || current.kind != SHIM_CALL)
        return false;
    for (; *errors; errors++)
        can |= *errors == current.error;
    if (!can || !is_turn())
        return false;
    errno = current.error;
    return true;
}

#define CAN_GIVE(...) ((const int[]){ __VA_ARGS__, 0 })

/* The function that ours hides. */
#define REAL(name) ((__typeof__(name) *)real(#name))

static void (*real(const char *name))(void)
{
    void *found = dlsym(RTLD_NEXT, name);
    void (*function)(void);

    if (!found)
        abort();
    memcpy(&function, &found, sizeof(function)); /* ISO C casts no such pointers */
    return function;
}

/* The wrapper of a function that returns a block, and whether that is one more. */
#define ALLOCATE(name, parameters, arguments, is_new)                                              \
    void *name parameters                                                                          \
    {                                                                                              \
        static __typeof__(name) *next;                                                             \
        void *block;                                                                               \
                                                                                                   \
        if (!next)                                                                                 \
            next = REAL(name);                                                                     \
        block = lacks_memory() ? NULL : next arguments;                                            \
        shim.n_blocks += shim.is_following && block && (is_new);                                   \
        return block;                                                                              \
    }

ALLOCATE(malloc, (size_t n), (n), true)
ALLOCATE(calloc, (size_t n, size_t size), (n, size), true)
ALLOCATE(realloc, (void *old, size_t n), (old, n), !old)

void free(void *block)
{
    static __typeof__(free) *next;
    static bool is_looking;

    /* dlsym frees the text of an earlier error. */
    if (!next && is_looking)
        return;
    is_looking = true;
    if (!next)
        next = REAL(free);
    shim.n_blocks -= shim.is_following && block;
    next(block);
}

void *reallocarray(void *old, size_t n, size_t size)
{
    size_t n_bytes;

    if (__builtin_mul_overflow(n, size, &n_bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, n_bytes);
}

char *strdup(const char *text)
{
    char *copy = malloc(strlen(text) + 1);

    if (copy)
        strcpy(copy, text);
    return copy;
}

/* The wrapper of a function that returns `failure`, and its possible errors. */
#define WRAP_AS(failure, type, name, parameters, arguments, ...)                                   \
    type name parameters                                                                           \
    {                                                                                              \
        return fails(CAN_GIVE(__VA_ARGS__)) ? (failure) : REAL(name) arguments;                    \
    }

#define WRAP(type, name, ...) WRAP_AS((type)(-1), type, name, __VA_ARGS__)

/* The formatter takes a pointer in a parameter list that is an argument for a product. */
/* clang-format off */
WRAP(int, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE, ENOBUFS,
     ENOMEM)
WRAP(int, bind, (int fd, const struct sockaddr *address, socklen_t n), (fd, address, n), EADDRINUSE,
     ENOMEM)
WRAP(int, connect, (int fd, const struct sockaddr *address, socklen_t n), (fd, address, n), EINTR,
     EAGAIN, ECONNREFUSED)
WRAP(int, getsockname, (int fd, struct sockaddr *address, socklen_t *n), (fd, address, n), ENOBUFS)
WRAP(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *n),
     (fd, level, name, value, n), ENOMEM)
WRAP(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t n),
     (fd, level, name, value, n), ENOBUFS, ENOMEM)
WRAP(int, stat, (const char *path, struct stat *found), (path, found), ENOMEM)
WRAP(int, lstat, (const char *path, struct stat *found), (path, found), ENOMEM)
WRAP(int, fstat, (int fd, struct stat *found), (fd, found), ENOMEM)
WRAP(int, fstatfs, (int fd, struct statfs *found), (fd, found), ENOMEM)
WRAP(int, statfs, (const char *path, struct statfs *found), (path, found), ENOMEM)
WRAP(int, fstatat, (int fd, const char *path, struct stat *found, int flags),
     (fd, path, found, flags), ENOMEM)
WRAP(void *, mmap, (void *at, size_t n, int protection, int flags, int fd, off_t offset),
     (at, n, protection, flags, fd, offset), EAGAIN, ENOMEM)
WRAP(int, munmap, (void *at, size_t n), (at, n), ENOMEM)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), EINTR, EIO)
WRAP(int, fsync, (int fd), (fd), EINTR, EIO, ENOSPC)
WRAP(int, rename, (const char *from, const char *to), (from, to), ENOSPC, EBUSY, EIO)
WRAP(int, unlink, (const char *path), (path), EBUSY, EIO)
WRAP(int, poll, (struct pollfd *fds, nfds_t n, int timeout_ms), (fds, n, timeout_ms), EINTR, ENOMEM)
WRAP(int, epoll_create1, (int flags), (flags), EMFILE, ENOMEM)
WRAP(int, epoll_ctl, (int epoll_fd, int action, int fd, struct epoll_event *event),
     (epoll_fd, action, fd, event), ENOMEM, ENOSPC)
WRAP(int, epoll_wait, (int fd, struct epoll_event *events, int n, int timeout_ms),
     (fd, events, n, timeout_ms), EINTR)
WRAP(int, eventfd, (unsigned int value, int flags), (value, flags), EMFILE, ENODEV, ENOMEM)
WRAP(int, eventfd_read, (int fd, eventfd_t *value), (fd, value), EINTR, EAGAIN)
WRAP(int, eventfd_write, (int fd, eventfd_t value), (fd, value), EINTR, EAGAIN)
WRAP(int, timerfd_create, (clockid_t clock, int flags), (clock, flags), EMFILE, ENODEV, ENOMEM)
WRAP(int, timerfd_settime,
     (int fd, int flags, const struct itimerspec *value, struct itimerspec *old),
     (fd, flags, value, old), ECANCELED)

WRAP(int, fflush, (FILE *file), (file), EINTR, ENOSPC, EIO)
WRAP_AS(NULL, FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, ENOMEM)
WRAP_AS(NULL, FILE *, fdopen, (int fd, const char *mode), (fd, mode), ENOMEM)
WRAP_AS(NULL, FILE *, open_memstream, (char **text, size_t *n), (text, n), ENOMEM)
/* clang-format on */

/* A request that the kernel only acknowledges, once its type says nothing. */
static void refuse(struct nlmsghdr *message)
{
    if (n_refused == MAX_REFUSED)
        abort();
    refused[n_refused++] = message->nlmsg_seq;
    message->nlmsg_type = NLMSG_NOOP;
    message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
}

/* Requests in a copy of the sent data, with the planned ones refused. */
static const void *with_refusals(const void *bytes, size_t n)
{
    static _Alignas(struct nlmsghdr) unsigned char copy[BATCH_BYTES];

    if (!shim.is_following || current.kind != SHIM_REQUEST || n > sizeof(copy))
        return bytes;
    memcpy(copy, bytes, n);
    for (size_t at = 0; at + sizeof(struct nlmsghdr) <= n;) {
        struct nlmsghdr *message = (struct nlmsghdr *)(copy + at);

        if (is_turn())
            refuse(message);
        at += NLMSG_ALIGN(message->nlmsg_len);
    }
    return copy;
}

/* The acknowledgements of refused requests become those of the plan. */
static void answer_refused(void *bytes, ssize_t n)
{
    struct nlmsghdr *message = bytes;

    for (int64_t left = n; left > 0 && NLMSG_OK(message, (size_t)left);
         message = NLMSG_NEXT(message, left)) {
        struct nlmsgerr *answer = NLMSG_DATA(message);

        for (uint32_t i = 0; i < n_refused; i++) {
            if (message->nlmsg_type != NLMSG_ERROR || message->nlmsg_seq != refused[i])
                continue;
            answer->error = -current.error;
            refused[i] = refused[--n_refused]; /* other sockets count from the same number */
        }
    }
}

#define TALKING CAN_GIVE(EINTR, EAGAIN, ENOBUFS, ENOMEM, EBUSY, ENODEV)

ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *address,
               socklen_t n_address)
{
    if (fails(TALKING))
        return -1;
    return REAL(sendto)(fd, with_refusals(bytes, n), n, flags, address, n_address);
}

/* A message begins in the first part; the others stay as they are. */
ssize_t sendmsg(int fd, const struct msghdr *header, int flags)
{
    struct iovec parts[MAX_PARTS];
    struct msghdr copy = *header;

    if (fails(TALKING))
        return -1;
    if (header->msg_iovlen == 0 || header->msg_iovlen > MAX_PARTS)
        abort();
    memcpy(parts, header->msg_iov, header->msg_iovlen * sizeof(parts[0]));
    parts[0].iov_base = (void *)with_refusals(parts[0].iov_base, parts[0].iov_len);
    copy.msg_iov = parts;
    return REAL(sendmsg)(fd, &copy, flags);
}

ssize_t recvmsg(int fd, struct msghdr *header, int flags)
{
    ssize_t n;

    if (fails(TALKING))
        return -1;
    n = REAL(recvmsg)(fd, header, flags);
    answer_refused(header->msg_iov[0].iov_base, n);
    return n;
}

/* How much of it is read. Timers and counters are whole or an error. */
static size_t shortened(int fd, size_t n)
{
    struct stat found;

    if (!shim.is_following || current.kind != SHIM_SHORT || n < 2 || REAL(fstat)(fd, &found) < 0 ||
        !S_ISREG(found.st_mode) || !is_turn())
        return n;
    return 1;
}

ssize_t read(int fd, void *bytes, size_t n)
{
    return fails(CAN_GIVE(EINTR, EAGAIN, EIO)) ? -1 : REAL(read)(fd, bytes, shortened(fd, n));
}

/* What read(2) is compiled to where the room is known, with `-D_FORTIFY_SOURCE`. */
ssize_t __read_chk(int fd, void *bytes, size_t n, size_t room);
ssize_t __read_chk(int fd, void *bytes, size_t n, size_t room)
{
    return n > room ? (abort(), -1) : read(fd, bytes, n);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (fails(CAN_GIVE(EINTR, EMFILE, ENOMEM)))
        return -1;
    return REAL(open)(path, flags, mode);
}

int openat(int fd, const char *path, int flags, ...)
{
    return fails(CAN_GIVE(EINTR, EMFILE, ENOMEM)) ? -1 : REAL(openat)(fd, path, flags);
}

/* A file is closed all the same, as Linux does. */
#define WRAP_CLOSE(name, type)                                                                     \
    int name(type file)                                                                            \
    {                                                                                              \
        bool is_failing = fails(CAN_GIVE(EINTR, EIO, ENOSPC));                                     \
        int r = REAL(name)(file);                                                                  \
                                                                                                   \
        if (is_failing)                                                                            \
            errno = current.error;                                                                 \
        return is_failing ? -1 : r;                                                                \
    }

WRAP_CLOSE(close, int)
WRAP_CLOSE(fclose, FILE *)

/* bpf(2) has no function of its own. */
long syscall(long number, ...)
{
    va_list arguments;
    long values[3];

    va_start(arguments, number);
    for (int i = 0; i < 3; i++)
        values[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_bpf && fails(CAN_GIVE(EAGAIN, EBUSY, ENOMEM, EPERM, ENOSPC)))
        return -1;
    return REAL(syscall)(number, values[0], values[1], values[2]);
}

/* And poll(2), by clang. */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t room)
{
    return n * sizeof(*fds) > room ? (abort(), -1) : poll(fds, n, timeout_ms);
}
