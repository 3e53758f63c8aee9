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
#include "routes.h"

/* Two windows whose difference exceeds a step. */
enum {
    FIRST_CWND = 20,
    SECOND_CWND = 60,
    TABLE = 7230,
    PROTOCOL = 230,
    LINK_BYTES = 1500
};

static uint64_t start_cpu_ns, start_wall_ns;

static void begin(void)
{
    start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    start_wall_ns = clock_ns(CLOCK_MONOTONIC);
}

static void end(const char *what)
{
    printf("%s %.3f %.3f\n", what,
           (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ns) / 1e6,
           (double)(clock_ns(CLOCK_MONOTONIC) - start_wall_ns) / 1e6);
}

static void set_all(struct riptide_applier *applier, uint32_t n, uint32_t cwnd)
{
    for (uint32_t i = 0; i < n; i++)
        set(applier, DESTINATIONS + i, cwnd);
}

static void by_router(uint32_t n)
{
    struct riptide_applier *applier = start_applier(RIPTIDE_ROUTES, n, NULL);

    settle(applier);
    begin();
    set_all(applier, n, FIRST_CWND);
    settle(applier);
    end("first");
    begin();
    set_all(applier, n, SECOND_CWND);
    settle(applier);
    end("change");
    riptide_applier_stop(applier);
    riptide_applier_free(applier);
}

struct window_request {
    struct request route;
    struct rtattr metrics;
    struct rtattr initcwnd;
    uint32_t initcwnd_value;
    struct rtattr mtu;
    uint32_t mtu_value;
};

static struct window_request window_request_of(uint32_t i, uint32_t cwnd)
{
    const unsigned short one = RTA_LENGTH(sizeof(uint32_t));
    struct window_request request = {
        .route = request_of(TABLE, PROTOCOL, DESTINATIONS + i, 32, GATEWAY),
        .metrics = { (unsigned short)RTA_LENGTH(2 * one), RTA_METRICS },
        .initcwnd = { one, RTAX_INITCWND },
        .initcwnd_value = cwnd,
        .mtu = { one, RTAX_MTU },
        .mtu_value = LINK_BYTES,
    };

    request.route.header.nlmsg_len = sizeof(request);
    return request;
}

static void send_batches(int fd, struct window_request *requests, uint32_t n)
{
    const uint32_t per_chunk = CHUNK_BYTES / sizeof(*requests);

    for (uint32_t i = 0; i < n; i += per_chunk) {
        uint32_t n_now = n - i < per_chunk ? n - i : per_chunk;

        send_all(fd, &requests[i], n_now * sizeof(*requests),
                 &requests[i + n_now - 1].route.header);
    }
}

static void by_socket(uint32_t n)
{
    struct window_request *first = calloc(n, sizeof(*first)), *second = calloc(n, sizeof(*second));
    int fd = open_route_socket(0);

    if (!first || !second)
        die("calloc", errno);
    for (uint32_t i = 0; i < n; i++) {
        first[i] = window_request_of(i, FIRST_CWND);
        second[i] = window_request_of(i, SECOND_CWND);
    }
    send_batches(fd, first, n);
    begin();
    send_batches(fd, second, n);
    end("change");
    free(first);
    free(second);
    close(fd);
}

static void by_batch(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct in_addr address = { .s_addr = htonl(DESTINATIONS + i) };

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
