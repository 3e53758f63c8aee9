/* SPDX-License-Identifier: MIT */
/*
 * Windows by routes, and what they cost; apply.py and storm.py run this and compare. Lines of a name and
 * a number:
 *
 *     routes library N      the library: N windows set at first, then every one of them changed
 *     routes hand N         the same change by finished messages, straight to a netlink socket
 *     routes storm N S      N destinations of lines of addresses; then its share of a core in each of S
 *                           seconds
 *     routes floor S        likewise, of a reader of notifications that does nothing else
 *
 * Destinations are behind the default route via 10.0.0.2 dev link0.
 */
#include "routes.h"

#include <linux/rtnetlink.h>
#include <net/if.h>

/* Two windows whose difference exceeds a step. */
enum {
    FIRST_CWND = 20,
    SECOND_CWND = 60,
    TABLE = 7230,
    PROTOCOL = 230,
    GATEWAY = 0x0a000002,
    LINK_BYTES = 1500,
    CHUNK_BYTES = 64 * 1024,
};

static double spent_ms(uint64_t since_ns)
{
    return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - since_ns) / 1e6;
}

static void set_all(struct riptide_applier *applier, uint32_t n, uint32_t cwnd, const char *name)
{
    uint64_t start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

    for (uint32_t i = 0; i < n; i++)
        set(applier, DESTINATIONS + i, cwnd);
    settle(applier);
    printf("%s %.3f\n", name, spent_ms(start_ns));
}

static void by_library(uint32_t n)
{
    struct riptide_applier *applier = start_applier(RIPTIDE_ROUTES, n, NULL);

    settle(applier);
    set_all(applier, n, FIRST_CWND, "first");
    set_all(applier, n, SECOND_CWND, "change");
    riptide_applier_stop(applier);
    riptide_applier_free(applier);
}

struct attribute {
    struct rtattr header;
    uint32_t value;
};

struct request {
    struct nlmsghdr header;
    struct rtmsg route;
    struct attribute table, dst, gateway, oif;
    struct rtattr metrics;
    struct attribute initcwnd, mtu;
};

static struct attribute attribute_of(unsigned short type, uint32_t value)
{
    return (struct attribute){ { RTA_LENGTH(sizeof(value)), type }, value };
}

static struct request request_of(uint32_t address, uint32_t cwnd, uint32_t ifindex)
{
    return (struct request){
        .header = { .nlmsg_len = sizeof(struct request),
                    .nlmsg_type = RTM_NEWROUTE,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE },
        .route = { .rtm_family = AF_INET,
                   .rtm_dst_len = 32,
                   .rtm_protocol = PROTOCOL,
                   .rtm_type = RTN_UNICAST },
        .table = attribute_of(RTA_TABLE, TABLE),
        .dst = attribute_of(RTA_DST, htonl(address)),
        .gateway = attribute_of(RTA_GATEWAY, htonl(GATEWAY)),
        .oif = attribute_of(RTA_OIF, ifindex),
        .metrics = { (unsigned short)RTA_LENGTH(2 * sizeof(struct attribute)), RTA_METRICS },
        .initcwnd = attribute_of(RTAX_INITCWND, cwnd),
        .mtu = attribute_of(RTAX_MTU, LINK_BYTES),
    };
}

static int open_socket(uint32_t groups)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = groups };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        die("socket", errno);
    return fd;
}

/* In chunks, of whose last message the kernel acknowledges each. */
static void send_all(int fd, struct request *requests, uint32_t n)
{
    const uint32_t per_chunk = CHUNK_BYTES / sizeof(*requests);
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[512];
    } answer;

    for (uint32_t i = 0; i < n; i += per_chunk) {
        uint32_t n_now = n - i < per_chunk ? n - i : per_chunk;

        requests[i + n_now - 1].header.nlmsg_flags |= NLM_F_ACK;
        if (send(fd, &requests[i], n_now * sizeof(*requests), 0) < 0)
            die("send", errno);
        if (recv(fd, &answer, sizeof(answer), 0) < 0)
            die("recv", errno);
        if (answer.error.error)
            die("kernel", answer.error.error);
    }
}

static void by_hand(uint32_t n)
{
    struct request *first = calloc(n, sizeof(*first)), *second = calloc(n, sizeof(*second));
    uint32_t ifindex = if_nametoindex("link0");
    int fd = open_socket(0);
    uint64_t start_ns;

    if (!first || !second)
        die("calloc", errno);
    for (uint32_t i = 0; i < n; i++) {
        first[i] = request_of(DESTINATIONS + i, FIRST_CWND, ifindex);
        second[i] = request_of(DESTINATIONS + i, SECOND_CWND, ifindex);
    }
    send_all(fd, first, n);
    start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    send_all(fd, second, n);
    printf("change %.3f\n", spent_ms(start_ns));
    free(first);
    free(second);
    close(fd);
}

/* The share of a core that was spent since then. */
static void print_share(uint64_t cpu_ns, uint64_t wall_ns)
{
    printf("core %.5f\n", spent_ms(cpu_ns) * 1e6 / (double)(clock_ns(CLOCK_MONOTONIC) - wall_ns));
    fflush(stdout);
}

static void work_until(struct riptide_applier *applier, uint64_t end_ns)
{
    uint64_t now_ns;

    while ((now_ns = clock_ns(CLOCK_MONOTONIC)) < end_ns)
        dispatch(applier, (int)((end_ns - now_ns) / 1000000 + 1));
}

static uint32_t read_address(void)
{
    char line[64];
    struct in_addr address;

    if (!fgets(line, sizeof(line), stdin))
        die("input", errno);
    line[strcspn(line, "\n")] = '\0';
    if (inet_pton(AF_INET, line, &address) != 1)
        die(line, EINVAL);
    return ntohl(address.s_addr);
}

/* The last line is a new destination: it comes after a change of main that covers none. */
static void storm(uint32_t n, uint32_t seconds)
{
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    struct riptide_applier *applier = start_applier(RIPTIDE_ROUTES, 2 * n, NULL);

    settle(applier);
    printf("start_ms %.1f\n", (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e6);
    for (uint32_t i = 0; i < n; i++)
        set(applier, read_address(), FIRST_CWND);
    settle(applier);
    puts("ready");
    fflush(stdout);
    start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    set(applier, read_address(), FIRST_CWND);
    settle(applier);
    printf("newcomer_ms %.2f\n", spent_ms(start_ns));
    for (uint32_t i = 0; i < seconds; i++) {
        uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

        start_ns = clock_ns(CLOCK_MONOTONIC);
        work_until(applier, start_ns + NS_PER_S);
        print_share(cpu_ns, start_ns);
    }
    riptide_applier_stop(applier);
    riptide_applier_free(applier);
}

static void read_notifications(uint32_t seconds)
{
    struct pollfd fd = { .fd = open_socket(RTMGRP_IPV4_ROUTE), .events = POLLIN };
    static char buffer[32 * 1024];

    puts("ready");
    fflush(stdout);
    for (uint32_t i = 0; i < seconds; i++) {
        uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), start_ns = clock_ns(CLOCK_MONOTONIC);

        while (clock_ns(CLOCK_MONOTONIC) < start_ns + NS_PER_S) {
            poll(&fd, 1, 10);
            while (recv(fd.fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
                ;
        }
        print_share(cpu_ns, start_ns);
    }
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

    if (n > 0 && strcmp(argv[1], "library") == 0)
        by_library(n);
    else if (n > 0 && strcmp(argv[1], "hand") == 0)
        by_hand(n);
    else if (argc == 4 && strcmp(argv[1], "storm") == 0)
        storm(n, (uint32_t)strtoul(argv[3], NULL, 10));
    else if (n > 0 && strcmp(argv[1], "floor") == 0)
        read_notifications(n);
    else {
        fprintf(stderr, "usage: see the head of lab/bench/routes.c\n");
        return 2;
    }
    return 0;
}
