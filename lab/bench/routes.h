/* SPDX-License-Identifier: MIT */
/*
 * What the benchmarks of lib/apply share: routes of IPv4 as finished messages, and an applier.
 */
#ifndef LAB_BENCH_ROUTES_H
#define LAB_BENCH_ROUTES_H


#include "internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <riptide/apply.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    DESTINATIONS = 0x0a400000, /* 10.64.0.0/10 */
    GATEWAY = 0x0a000002,      /* 10.0.0.2, through link0 */
    CHUNK_BYTES = 64 * 1024,
};


static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline void die(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
            strerror(error < 0 ? -error : error));
    exit(1);
}

struct request {
    struct nlmsghdr header;
    struct rtmsg rtm;
    struct rtattr table;
    uint32_t table_value;
    struct rtattr dst;
    uint32_t dst_value;
    struct rtattr gateway;
    uint32_t gateway_value;
    struct rtattr oif;
    uint32_t oif_value;
};

/* Another attribute may follow, according to the header's length. */
static inline struct request request_of(uint32_t table, uint8_t protocol, uint32_t address,
                                        uint8_t len, uint32_t gateway)
{
    const unsigned short one = RTA_LENGTH(sizeof(uint32_t));
    static uint32_t ifindex;

    if (ifindex == 0)
        ifindex = if_nametoindex("link0");
    return (struct request){
        .header = { .nlmsg_len = sizeof(struct request),
                    .nlmsg_type = RTM_NEWROUTE,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE },
        .rtm = { .rtm_family = AF_INET,
                 .rtm_dst_len = len,
                 .rtm_protocol = protocol,
                 .rtm_type = RTN_UNICAST },
        .table = { one, RTA_TABLE },
        .table_value = table,
        .dst = { one, RTA_DST },
        .dst_value = htonl(address),
        .gateway = { one, RTA_GATEWAY },
        .gateway_value = htonl(gateway),
        .oif = { one, RTA_OIF },
        .oif_value = ifindex,
    };
}

static inline int open_route_socket(uint32_t groups)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = groups };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        die("socket", errno);
    return fd;
}

/* n messages in a row, the last of which the kernel acknowledges. */
static inline void send_all(int fd, const void *messages, size_t n_bytes, struct nlmsghdr *last)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[512];
    } answer;

    last->nlmsg_flags |= NLM_F_ACK;
    if (send(fd, messages, n_bytes, 0) < 0)
        die("send", errno);
    if (recv(fd, &answer, sizeof(answer), 0) < 0)
        die("recv", errno);
    if (answer.error.error)
        die("kernel", answer.error.error);
}

static inline struct riptide_applier *start_applier(enum riptide_backend backend,
                                                    uint32_t max_windows, const char *cgroup)
{
    struct riptide_applier_config config;
    struct riptide_applier *applier;
    struct riptide_error error;

    riptide_applier_config_init(&config, sizeof(config));
    config.backend = backend;
    config.max_windows = max_windows;
    config.cgroup = cgroup;
    if (riptide_applier_new(&applier, &config, &error) || riptide_applier_start(applier, &error)) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.text);
        exit(1);
    }
    return applier;
}

static inline void set(struct riptide_applier *applier, uint32_t address, uint32_t initcwnd)
{
    struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 32 },
                                     .initcwnd = initcwnd };
    int r;

    address = htonl(address);
    memcpy(wanted.dst.addr, &address, sizeof(address));
    r = riptide_applier_set(applier, &wanted);
    if (r != 0)
        die("set", r);
}

static inline bool is_idle(const struct riptide_applier *applier)
{
    struct riptide_applier_stats stats;

    riptide_applier_get_stats(applier, &stats, sizeof(stats));
    return stats.is_idle;
}

static inline void dispatch(struct riptide_applier *applier, int timeout_ms)
{
    struct pollfd fd = { .fd = riptide_applier_get_fd(applier), .events = POLLIN };
    const struct riptide_route *route;
    int r = poll(&fd, 1, timeout_ms);

    if (r < 0 || (r > 0 && (r = riptide_applier_dispatch(applier)) < 0))
        die("dispatch", r < -1 ? r : errno);
    while (riptide_applier_pop(applier, &route) == 0) {
        if (route->state == RIPTIDE_ROUTE_FAILED || route->state == RIPTIDE_ROUTE_LEFT_ALONE) {
            fprintf(stderr, "%s: %s\n", program_invocation_short_name, route->reason);
            exit(1);
        }
    }
}

static inline void settle(struct riptide_applier *applier)
{
    while (!is_idle(applier))
        dispatch(applier, -1);
}

#endif
