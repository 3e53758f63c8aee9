/* SPDX-License-Identifier: MIT */
/*
 * Connections that come and go, for the soak of the daemon (churn.py):
 *
 *     churn serve PORT                     takes what is sent to any address, until it is killed
 *     churn open PORT RATE KEEP PREFIX N ...   opens RATE connections a second to the first N
 * addresses of each prefix, keeps the latest KEEP of them and as many for long, on which it sends
 * now and then
 *
 * `open` prints a line each second: connections opened, failed, open now.
 */
#include "program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MAX_PREFIXES = 8,
    MAX_EVENTS = 256,
    BUFFER_BYTES = 1 << 16,
    MAX_BYTES = 1 << 17, /* that one connection sends at once */
    LONG_EVERY = 50,     /* one of so many replaces one of those that are kept for long */
    SEND_EVERY = 4,      /* beside one of so many a kept one sends again */
    ORDERLY_EVERY = 8,   /* one of so many ends in order, the others are reset */
};

static char buffer[BUFFER_BYTES];

static void watch(int epoll_fd, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = { .events = events, .data.u64 = what };

    check(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

/* Until it is killed. */
static void serve(uint16_t port)
{
    const struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    struct epoll_event events[MAX_EVENTS];
    int listener = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int epoll_fd = epoll_create1(0);

    check(bind(listener, (const struct sockaddr *)&address, sizeof(address)), "bind");
    check(listen(listener, 4096), "listen");
    watch(epoll_fd, listener, EPOLLIN, (uint64_t)listener);
    for (;;) {
        int n = epoll_wait(epoll_fd, events, MAX_EVENTS, -1);

        for (int i = 0; i < n; i++) {
            int fd = (int)events[i].data.u64;
            ssize_t got = 1;

            if (fd != listener)
                got = recv(fd, buffer, sizeof(buffer), MSG_TRUNC);
            else if ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0)
                watch(epoll_fd, fd, EPOLLIN, (uint64_t)fd);
            if (got == 0 || (got < 0 && errno != EAGAIN))
                close(fd);
        }
    }
}

struct connection {
    int fd;       /* -1: none */
    int to_send;  /* bytes */
    bool is_open; /* the peer has answered */
};

static struct {
    int epoll_fd;
    uint16_t port;
    uint32_t n_prefixes, n_addresses;
    struct {
        int family;
        unsigned char address[16];
        uint32_t n;
    } prefixes[MAX_PREFIXES];
    uint32_t n_kept;
    struct connection *kept; /* the short ones, then the long ones */
    uint64_t opened, failed, turns;
    uint32_t open_now;
} load;

static void end(struct connection *connection)
{
    const struct linger reset = { .l_onoff = random() % ORDERLY_EVERY != 0 };

    if (connection->fd < 0)
        return;
    setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(connection->fd);
    load.open_now -= connection->is_open;
    *connection = (struct connection){ .fd = -1 };
}

/* One of the addresses, as a socket address. */
static socklen_t draw_address(struct sockaddr_in6 *address)
{
    uint32_t n = (uint32_t)random() % load.n_addresses, i = 0;
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    uint32_t low;

    while (n >= load.prefixes[i].n)
        n -= load.prefixes[i++].n;
    *address = (struct sockaddr_in6){ .sin6_family = (sa_family_t)load.prefixes[i].family,
                                      .sin6_port = htons(load.port) };
    n = htonl(n + 1);
    if (load.prefixes[i].family == AF_INET) {
        memcpy(&low, load.prefixes[i].address, sizeof(low));
        v4->sin_addr.s_addr = low | n;
        return sizeof(*v4);
    }
    memcpy(&address->sin6_addr, load.prefixes[i].address, 12);
    memcpy(address->sin6_addr.s6_addr + 12, &n, sizeof(n));
    return sizeof(*address);
}

static void begin(uint32_t slot)
{
    struct connection *connection = &load.kept[slot];
    struct sockaddr_in6 address;
    socklen_t n_bytes = draw_address(&address);

    end(connection);
    connection->fd = socket(address.sin6_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    check(connection->fd, "socket");
    connection->to_send = 1 + (int)(random() % MAX_BYTES);
    load.opened++;
    if (connect(connection->fd, (struct sockaddr *)&address, n_bytes) < 0 && errno != EINPROGRESS) {
        load.failed++;
        end(connection);
        return;
    }
    watch(load.epoll_fd, connection->fd, EPOLLOUT | EPOLLET, slot);
}

/* As much as there is room for. */
static void push(struct connection *connection)
{
    while (connection->to_send > 0) {
        int most = connection->to_send < BUFFER_BYTES ? connection->to_send : BUFFER_BYTES;
        ssize_t n = send(connection->fd, buffer, (size_t)most, MSG_NOSIGNAL);

        if (n < 0)
            return;
        connection->to_send -= (int)n;
    }
}

static void on_event(const struct epoll_event *event)
{
    struct connection *connection = &load.kept[event->data.u64];

    if (connection->fd < 0)
        return;
    if (event->events & (EPOLLERR | EPOLLHUP)) {
        load.failed++;
        end(connection);
        return;
    }
    load.open_now += !connection->is_open;
    connection->is_open = true;
    push(connection);
}

static void take_turn(void)
{
    struct connection *one;

    load.turns++;
    begin((uint32_t)(load.turns % load.n_kept));
    if (load.turns % LONG_EVERY == 0)
        begin(load.n_kept + (uint32_t)random() % load.n_kept);
    one = &load.kept[load.n_kept + (uint32_t)random() % load.n_kept];
    if (load.turns % SEND_EVERY == 0 && one->is_open && one->to_send == 0) {
        one->to_send = 1 + (int)(random() % MAX_BYTES);
        push(one);
    }
}

static int open_all(double rate)
{
    struct epoll_event events[MAX_EVENTS];
    double start_s = now_s(), said_s = start_s, turn_s = start_s;

    for (;;) {
        int n = epoll_wait(load.epoll_fd, events, MAX_EVENTS, 1);
        double now = now_s();

        for (int i = 0; i < n; i++)
            on_event(&events[i]);
        /* What a busy machine did not get to is not made up for. */
        if (now - turn_s > 0.1)
            turn_s = now - 0.1;
        for (; turn_s < now; turn_s += 1 / rate)
            take_turn();
        if (now - said_s < 1)
            continue;
        said_s = now;
        printf("%llu %llu %u\n", (unsigned long long)load.opened, (unsigned long long)load.failed,
               load.open_now);
        if (fflush(stdout) != 0)
            return EXIT_FAILURE;
    }
}

static bool read_prefixes(int argc, char **argv)
{
    for (int i = 0; i + 1 < argc && load.n_prefixes < MAX_PREFIXES; i += 2) {
        uint32_t n = load.n_prefixes++;

        load.prefixes[n].family = strchr(argv[i], ':') ? AF_INET6 : AF_INET;
        load.prefixes[n].n = (uint32_t)atoi(argv[i + 1]);
        load.n_addresses += load.prefixes[n].n;
        if (inet_pton(load.prefixes[n].family, argv[i], load.prefixes[n].address) != 1)
            return false;
    }
    return load.n_addresses > 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        serve((uint16_t)atoi(argv[2]));
    if (argc < 7 || strcmp(argv[1], "open") != 0 || !read_prefixes(argc - 5, argv + 5)) {
        fprintf(stderr, "churn serve PORT | churn open PORT RATE KEEP PREFIX N ...\n");
        return 2;
    }
    load.port = (uint16_t)atoi(argv[2]);
    load.n_kept = (uint32_t)atoi(argv[4]);
    load.kept = calloc(2 * load.n_kept, sizeof(*load.kept));
    load.epoll_fd = epoll_create1(0);
    for (uint32_t i = 0; load.kept && i < 2 * load.n_kept; i++)
        load.kept[i].fd = -1;
    return load.kept ? open_all(atof(argv[3])) : EXIT_FAILURE;
}
