/* SPDX-License-Identifier: MIT */
/* Who holds a namespace, by the list of its netlink sockets. */
#include "apply/applier.h"

#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PID_BITS = 22, /* of the port: PID_MAX_LIMIT; the others tell holders of one PID apart */
    PID_MASK = (1 << PID_BITS) - 1,
    MAX_HOLDERS_OF_PID = 1 << (32 - PID_BITS),
    /* The kernel shows the list in parts, between which a closed socket hides another. */
    READINGS = 4,
};

/* In all inode numbers of PID namespaces (PROC_PID_INIT_INO), and in no others' groups so far. */
#define GROUPS_OF_CLAIM UINT32_C(0xe0000000)
#define EVERY_GROUP     UINT32_MAX /* of one that listens to all, as a monitor */

static uint32_t groups_of_us(void)
{
    struct stat found;
    bool is_known = stat("/proc/self/ns/pid", &found) == 0;

    return GROUPS_OF_CLAIM | (is_known ? (uint32_t)found.st_ino : 0);
}

static int join(const struct claim *claim, uint32_t groups)
{
    const struct sockaddr_nl address = { .nl_family = AF_NETLINK,
                                         .nl_pid = claim->port,
                                         .nl_groups = groups };

    return bind(claim->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

int claim_open(struct claim *claim)
{
    struct sockaddr_nl address = { .nl_pid = 0 };
    socklen_t n_bytes = sizeof(address);
    int r = -EADDRINUSE;

    *claim = (struct claim){ .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK),
                             .pid = getpid() };
    if (claim->fd < 0)
        return -errno;
    /* A user can take each port with our PID, but not each from which the kernel chooses (0). */
    for (uint32_t i = 0; i <= MAX_HOLDERS_OF_PID && r == -EADDRINUSE; i++) {
        claim->port = i < MAX_HOLDERS_OF_PID ? i << PID_BITS | (uint32_t)claim->pid : 0;
        r = join(claim, 0);
    }
    if (r < 0)
        return r;
    if (getsockname(claim->fd, (struct sockaddr *)&address, &n_bytes) < 0)
        return -errno;
    claim->port = address.nl_pid;
    claim->sockets = fopen("/proc/thread-self/net/netlink", "re");
    claim->error = claim->sockets ? 0 : -errno;
    /* For each read the kernel walks over all sockets before; stdio would read 1,024 bytes. */
    if (claim->sockets)
        setvbuf(claim->sockets, claim->buffer, _IOFBF, sizeof(claim->buffer));
    return 0;
}

/* In a child by fork(2) the claim is the parent's. */
static void drop(struct claim *claim)
{
    if (claim->pid == getpid())
        join(claim, 0);
}

void claim_close(struct claim *claim)
{
    if (claim->fd >= 0)
        drop(claim);
    if (claim->sockets)
        fclose(claim->sockets);
    claim->sockets = NULL;
    closep(&claim->fd);
}

/* A process that has ended may be a zombie, and a child of it may still have the claim's socket. */
static bool has_ended(pid_t pid)
{
    CLEANUP(closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    /* Before Linux 5.3 a zombie cannot be told from a process. */
    if (fd < 0)
        return kill(pid, 0) < 0 && errno == ESRCH;
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) > 0;
}

int claim_find_holder(const struct claim *claim, int *pidp)
{
    uint32_t port, groups, ours = groups_of_us();
    char line[256];
    int protocol;

    if (!claim->sockets)
        return claim->error;
    for (int i = 0; i < READINGS; i++) {
        /* Without the flush the stream goes back in what it has read before. */
        if (fseek(claim->sockets, 0, SEEK_SET) != 0 || fflush(claim->sockets) != 0)
            return -errno;
        while (fgets(line, sizeof(line), claim->sockets)) {
            if (sscanf(line, "%*s %d %" SCNu32 " %" SCNx32, &protocol, &port, &groups) != 3 ||
                protocol != NETLINK_USERSOCK || (groups & GROUPS_OF_CLAIM) != GROUPS_OF_CLAIM ||
                groups == EVERY_GROUP || port == claim->port)
                continue;
            *pidp = groups == ours && ours != GROUPS_OF_CLAIM ? (int)(port & PID_MASK) : 0;
            if (*pidp == 0 || !has_ended(*pidp))
                return 0;
        }
        if (ferror(claim->sockets))
            return -EIO;
    }
    return RIPTIDE_E_UNKNOWN;
}

int claim_take(struct claim *claim, struct riptide_error *error)
{
    int holder = 0, r;

    /* From a port that the kernel chose nobody can tell our PID. */
    r = join(claim,
             (claim->port & PID_MASK) == (uint32_t)claim->pid ? groups_of_us() : GROUPS_OF_CLAIM);
    if (r == -EPERM)
        error_set(error, "CAP_NET_ADMIN is missing");
    if (r < 0)
        return r;
    /* First the claim, then the look: of two that begin at once none misses the other. */
    r = claim_find_holder(claim, &holder);
    if (r == RIPTIDE_E_UNKNOWN)
        return 0;
    drop(claim);
    if (r < 0) {
        error_set(error, "/proc/net/netlink: %s: who manages this network namespace cannot be seen",
                  strerror(-r));
        return r;
    }
    if (holder == 0)
        error_set(error, "a process that cannot be seen from here already manages this network "
                         "namespace; stop it first");
    else if (holder == getpid())
        error_set(error, "this process already manages this network namespace, with another "
                         "applier or agent, or a child of it from before exec; stop that first");
    else
        error_set(error, "process %d already manages this network namespace; stop it first",
                  holder);
    return -EBUSY;
}
