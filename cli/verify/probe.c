/* SPDX-License-Identifier: MIT */
/* The connection and the route query: system calls in a row. judge.c judges. */
#include "judge.h"

#include "lib/netlink.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int fail(struct riptide_error *error, const char *what, int r)
{
    snprintf(error->text, sizeof(error->text), "%s%s%s%s", what, *what ? ": " : "", strerror(-r),
             r == -EPERM ? " (needs CAP_NET_ADMIN or CAP_NET_RAW)" : "");
    return r;
}

static uint8_t *bytes_of(union address *address)
{
    return address->any.sa_family == AF_INET ? (uint8_t *)&address->v4.sin_addr
                                             : address->v6.sin6_addr.s6_addr;
}

bool probe_is_outside(const char *cgroup)
{
    size_t n = strlen(cgroup), n_mount = n, n_below;
    char own[PATH_MAX] = "", line[PATH_MAX];
    struct statfs found;
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file && fgets(line, sizeof(line), file)) {
        if (!strncmp(line, "0::/", 4))
            snprintf(own, sizeof(own), "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    }
    if (file)
        fclose(file);
    /* Its name follows the last parent that is cgroup2, as in /proc. */
    for (size_t i = n; i > 0; i--) {
        snprintf(line, sizeof(line), "%.*s", (int)i, cgroup);
        if ((i == n || cgroup[i] == '/') &&
            (statfs(line, &found) < 0 || found.f_type != CGROUP2_SUPER_MAGIC))
            break;
        if (i == n || cgroup[i] == '/')
            n_mount = i;
    }
    n_below = n - n_mount;
    return own[0] && n_below > 0 &&
           (strncmp(own, cgroup + n_mount, n_below) != 0 || (own[n_below] && own[n_below] != '/'));
}

/* Families and ports are at the same offset in both. */
static socklen_t to_address(union address *address, const struct riptide_prefix *prefix,
                            uint16_t port, const char *interface)
{
    *address = (union address){ .v6 = { .sin6_family = prefix->family, .sin6_port = htons(port) } };
    memcpy(bytes_of(address), prefix->addr, prefix_family_bits(prefix->family) / 8);
    if (prefix->family == AF_INET)
        return sizeof(address->v4);
    address->v6.sin6_scope_id = interface ? if_nametoindex(interface) : 0;
    return sizeof(address->v6);
}

static void from_address(struct riptide_prefix *prefix, uint16_t *port, union address *address)
{
    const uint8_t family = (uint8_t)address->any.sa_family;

    *prefix = (struct riptide_prefix){ .family = family, .len = prefix_family_bits(family) };
    memcpy(prefix->addr, bytes_of(address), prefix->len / 8);
    *port = ntohs(address->v6.sin6_port);
}

/* Options that an application may have set before connect(2). */
static int prepare(int fd, const struct probe *probe, struct riptide_error *error)
{
    union address source;
    socklen_t n_bytes;

    if (probe->mark && setsockopt(fd, SOL_SOCKET, SO_MARK, &probe->mark, sizeof(probe->mark)) < 0)
        return fail(error, "--mark", -errno);
    if (probe->interface && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, probe->interface,
                                       (socklen_t)strlen(probe->interface)) < 0)
        return fail(error, "--interface", -errno);
    if (probe->source.family == 0)
        return 0;
    n_bytes = to_address(&source, &probe->source, 0, probe->interface);
    if (bind(fd, &source.any, n_bytes) < 0)
        return fail(error, "--source", -errno);
    return 0;
}

static int wait_connected(int fd, uint64_t timeout_ns)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
    uint64_t timeout_ms = timeout_ns / 1000000;
    socklen_t n_bytes = sizeof(int);
    int error = 0;
    int n;

    do
        n = poll(&poll_fd, 1, timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : -ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n_bytes) < 0)
        return -errno;
    return -error;
}

static int look(int fd, struct probe *probe)
{
    struct tcp_info info = { 0 }; /* an older kernel fills less */
    socklen_t info_bytes = sizeof(info);
    socklen_t name_bytes = sizeof(probe->congestion_control);
    socklen_t cookie_bytes = sizeof(probe->cookie);
    union address source = { 0 };
    socklen_t source_bytes = sizeof(source);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_bytes) < 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, probe->congestion_control, &name_bytes) < 0 ||
        getsockname(fd, &source.any, &source_bytes) < 0)
        return -errno;
    if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &probe->cookie, &cookie_bytes) < 0)
        probe->cookie = 0;
    from_address(&probe->source, &probe->source_port, &source);
    probe->cwnd = info.tcpi_snd_cwnd;
    probe->ssthresh = info.tcpi_snd_ssthresh;
    probe->mss_bytes = info.tcpi_snd_mss;
    probe->retrans_segs = info.tcpi_total_retrans;
    probe->snd_wnd_bytes = info.tcpi_snd_wnd;
    return 0;
}

static int connect_and_look(int fd, struct probe *probe, uint64_t timeout_ns,
                            struct riptide_error *error)
{
    union address peer;
    socklen_t n_bytes = to_address(&peer, &probe->peer, probe->peer_port, probe->interface);
    int r = prepare(fd, probe, error);

    if (r < 0)
        return r;
    if (connect(fd, &peer.any, n_bytes) < 0)
        r = errno == EINPROGRESS ? wait_connected(fd, timeout_ns) : -errno;
    if (r == -ETIMEDOUT) {
        snprintf(error->text, sizeof(error->text), "no answer within %" PRIu64 " ms (--timeout)",
                 timeout_ns / 1000000);
        return r;
    }
    if (r == 0)
        r = look(fd, probe);
    return r < 0 ? fail(error, "", r) : 0;
}

int probe_run(struct probe *probe, uint64_t timeout_ns, struct riptide_error *error)
{
    int fd = socket(probe->peer.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0)
        return fail(error, "socket", -errno);
    r = connect_and_look(fd, probe, timeout_ns, error);
    close(fd);
    return r;
}

static void on_answer(void *answer, uint32_t n, const struct nlmsghdr *message, int error,
                      const char *text)
{
    (void)n;
    (void)text;
    /* The acknowledgement after the answer is not one. */
    if (message->nlmsg_type != NLMSG_ERROR || error < 0)
        route_query_read(message, answer);
}

void probe_ask_route(struct netlink *netlink, const struct probe *probe,
                     struct route_answer *answer)
{
    uint32_t ifindex = probe->interface ? if_nametoindex(probe->interface) : 0;
    int r;

    *answer = (struct route_answer){ .error = -EBADMSG };
    netlink_add(netlink, route_query_put(netlink_room(netlink), probe, geteuid(), ifindex));
    r = netlink_exchange(netlink, on_answer, answer);
    if (r < 0)
        answer->error = r;
}
