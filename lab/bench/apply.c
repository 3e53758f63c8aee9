/* SPDX-License-Identifier: MIT */
/*
 * Applies N windows in one of two ways and prints what that cost, for apply.py to compare:
 *
 *     apply router N    the library: all windows set at first, then every one of them changed
 *     apply socket N    the second batch by hand: finished messages, straight to a netlink socket
 *     apply batch N     prints the second batch as commands for ip -batch
 *
 * Destinations are 10.64.0.0/10, behind the default route via 10.0.0.2 dev link0.
 */
#include "tools.h"

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

/* Two windows that are more than a step apart. */
enum {
    FIRST_CWND = 20,
    SECOND_CWND = 60,
    CHUNK_BYTES = 64 * 1024,
    TABLE = 7230,
    PROTOCOL = 230,
    GATEWAY = 0x0a000002,
    LINK_BYTES = 1500
};

static double clock_ms(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double start_cpu_ms, start_wall_ms;

static void begin(void)
{
    start_cpu_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    start_wall_ms = clock_ms(CLOCK_MONOTONIC);
}

static void end(const char *what)
{
    printf("%s %.3f %.3f\n", what, clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ms,
           clock_ms(CLOCK_MONOTONIC) - start_wall_ms);
}

static void die(const char *what, int error)
{
    fprintf(stderr, "apply: %s: %s\n", what, strerror(error < 0 ? -error : error));
    exit(1);
}

static uint32_t address_of(uint32_t i)
{
    return htonl(0x0a400000 + i);
}

static void set_all(struct riptide_router *router, uint32_t n, uint32_t cwnd)
{
    for (uint32_t i = 0; i < n; i++) {
        struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 32 },
                                         .initcwnd = cwnd };
        uint32_t address = address_of(i);
        int r;

        memcpy(wanted.dst.addr, &address, sizeof(address));
        r = riptide_router_set(router, &wanted);
        if (r != 0)
            die("set", r);
    }
}

static void work(struct riptide_router *router)
{
    struct pollfd fd = { .fd = riptide_router_get_fd(router), .events = POLLIN };
    const struct riptide_route *route;

    while (!riptide_router_is_idle(router)) {
        int r = poll(&fd, 1, -1) < 0 ? -errno : riptide_router_dispatch(router);

        if (r < 0)
            die("dispatch", r);
        while (riptide_router_pop(router, &route) == 0) {
            if (route->state != RIPTIDE_ROUTE_APPLIED) {
                fprintf(stderr, "apply: a route was not applied: %s\n", route->reason);
                exit(1);
            }
        }
    }
}

static void by_router(uint32_t n)
{
    struct riptide_router_config config;
    struct riptide_router *router;
    struct riptide_error error;

    riptide_router_config_init(&config, sizeof(config));
    config.max_routes = n;
    if (riptide_router_new(&router, &config, &error) || riptide_router_start(router, &error)) {
        fprintf(stderr, "apply: %s\n", error.text);
        exit(1);
    }
    work(router);
    begin();
    set_all(router, n, FIRST_CWND);
    work(router);
    end("first");
    begin();
    set_all(router, n, SECOND_CWND);
    work(router);
    end("change");
    riptide_router_stop(router);
    riptide_router_free(router);
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
    struct rtattr metrics;
    struct rtattr initcwnd;
    uint32_t initcwnd_value;
    struct rtattr mtu;
    uint32_t mtu_value;
};

static struct request request_of(uint32_t i, uint32_t ifindex, uint32_t cwnd)
{
    const unsigned short one = RTA_LENGTH(sizeof(uint32_t));

    return (struct request){
        .header = { .nlmsg_len = sizeof(struct request),
                    .nlmsg_type = RTM_NEWROUTE,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE,
                    .nlmsg_seq = i + 1 },
        .rtm = { .rtm_family = AF_INET,
                 .rtm_dst_len = 32,
                 .rtm_protocol = PROTOCOL,
                 .rtm_type = RTN_UNICAST },
        .table = { one, RTA_TABLE },
        .table_value = TABLE,
        .dst = { one, RTA_DST },
        .dst_value = address_of(i),
        .gateway = { one, RTA_GATEWAY },
        .gateway_value = htonl(GATEWAY),
        .oif = { one, RTA_OIF },
        .oif_value = ifindex,
        .metrics = { (unsigned short)RTA_LENGTH(2 * one), RTA_METRICS },
        .initcwnd = { one, RTAX_INITCWND },
        .initcwnd_value = cwnd,
        .mtu = { one, RTAX_MTU },
        .mtu_value = LINK_BYTES,
    };
}

static void send_all(int fd, struct request *requests, uint32_t n)
{
    const uint32_t per_chunk = CHUNK_BYTES / sizeof(*requests);

    for (uint32_t i = 0; i < n; i += per_chunk) {
        uint32_t n_now = n - i < per_chunk ? n - i : per_chunk;
        struct {
            struct nlmsghdr header;
            struct nlmsgerr error;
            char rest[512];
        } answer;

        requests[i + n_now - 1].header.nlmsg_flags |= NLM_F_ACK;
        if (send(fd, &requests[i], n_now * sizeof(*requests), 0) < 0)
            die("send", errno);
        if (recv(fd, &answer, sizeof(answer), 0) < 0)
            die("recv", errno);
        if (answer.error.error)
            die("kernel", answer.error.error);
    }
}

static void by_socket(uint32_t n)
{
    struct request *first = calloc(n, sizeof(*first)), *second = calloc(n, sizeof(*second));
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    uint32_t ifindex = if_nametoindex("link0");

    if (!first || !second || fd < 0)
        die("socket", errno);
    for (uint32_t i = 0; i < n; i++) {
        first[i] = request_of(i, ifindex, FIRST_CWND);
        second[i] = request_of(i, ifindex, SECOND_CWND);
    }
    send_all(fd, first, n);
    begin();
    send_all(fd, second, n);
    end("change");
    free(first);
    free(second);
    close(fd);
}

static void by_batch(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct in_addr address = { .s_addr = address_of(i) };

        printf("route replace %s table %d proto %d via 10.0.0.2 dev link0 initcwnd %d"
               " mtu %d\n",
               inet_ntoa(address), TABLE, PROTOCOL, SECOND_CWND, LINK_BYTES);
    }
}

int main(int argc, char **argv)
{
    uint32_t n = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

    if (n > 0 && strcmp(argv[1], "router") == 0)
        by_router(n);
    else if (n > 0 && strcmp(argv[1], "socket") == 0)
        by_socket(n);
    else if (n > 0 && strcmp(argv[1], "batch") == 0)
        by_batch(n);
    else {
        fprintf(stderr, "apply: apply router|socket|batch N\n");
        return 2;
    }
    return 0;
}
