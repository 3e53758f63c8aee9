/* SPDX-License-Identifier: MIT */
#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_PORT 9000
#define BACKLOG    4096

int traffic_add_host(struct traffic *traffic, const char *name, const char *address)
{
    struct host host;
    char path[64];

    if (traffic->n_hosts == HOSTS_MAX)
        return -ENOSPC;
    if (inet_pton(AF_INET, address, &host.address) != 1)
        return -EINVAL;
    snprintf(path, sizeof(path), "/run/netns/%s", name);
    host.netns_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (host.netns_fd < 0)
        return -errno;
    traffic->hosts[traffic->n_hosts++] = host;
    return 0;
}

void watch(const struct traffic *traffic, struct end *end, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = end };

    if (epoll_ctl(traffic->epoll_fd, EPOLL_CTL_MOD, end->fd, &event) < 0)
        (void)epoll_ctl(traffic->epoll_fd, EPOLL_CTL_ADD, end->fd, &event);
}

/* The process has only these sockets, so it need not return to its namespace. */
static int open_socket(const struct host *host, const char *congestion)
{
    socklen_t length = (socklen_t)strlen(congestion);
    int fd, on = 1, error;

    if (setns(host->netns_fd, CLONE_NEWNET) < 0)
        return -errno;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, length) == 0 &&
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) == 0)
        return fd;
    error = -errno;
    close(fd);
    return error;
}

static struct sockaddr_in address_of(const struct host *host, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr = host->address,
    };
}

/* A connection has its initial window when it is established, so that its congestion control must
 * be the listener's: one listener for each. */
static struct listener *find_listener(const struct traffic *traffic, const struct order *order)
{
    struct listener *listener;

    LIST_FOREACH(listener, &traffic->listeners, others) {
        if (listener->host == order->from && !strcmp(listener->congestion, order->congestion))
            return listener;
    }
    return NULL;
}

static uint16_t free_port(const struct traffic *traffic, unsigned int host)
{
    const struct listener *listener;
    uint16_t port = FIRST_PORT;

    LIST_FOREACH(listener, &traffic->listeners, others)
        port = (uint16_t)(port + (listener->host == host));
    return port;
}

int listen_for(struct traffic *traffic, const struct order *order)
{
    const struct host *host = &traffic->hosts[order->from];
    struct listener *listener;
    struct sockaddr_in address;

    if (find_listener(traffic, order))
        return 0;
    listener = calloc(1, sizeof(*listener));
    if (!listener)
        return -ENOMEM;
    listener->host = order->from;
    listener->port = free_port(traffic, order->from);
    strcpy(listener->congestion, order->congestion);
    listener->end.fd = open_socket(host, order->congestion);
    if (listener->end.fd < 0)
        return listener->end.fd;
    address = address_of(host, listener->port);
    if (bind(listener->end.fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener->end.fd, BACKLOG) < 0)
        return -errno;
    LIST_INSERT_HEAD(&traffic->listeners, listener, others);
    watch(traffic, &listener->end, EPOLLIN);
    return 0;
}

struct connection *find_idle(const struct traffic *traffic, const struct order *order)
{
    struct connection *connection;

    LIST_FOREACH(connection, &traffic->connections, others) {
        if (connection->idle_until_ns && connection->from == order->from &&
            connection->to == order->to && !strcmp(connection->congestion, order->congestion))
            return connection;
    }
    return NULL;
}

struct connection *connect_for(struct traffic *traffic, const struct order *order)
{
    const struct listener *listener = find_listener(traffic, order);
    struct sockaddr_in remote = address_of(&traffic->hosts[order->from], listener->port);
    struct sockaddr_in local = address_of(&traffic->hosts[order->to], 0);
    struct connection *connection = calloc(1, sizeof(*connection));
    socklen_t length = sizeof(local);

    if (!connection)
        return NULL;
    connection->from = order->from;
    connection->to = order->to;
    strcpy(connection->congestion, order->congestion);
    connection->sender = (struct end){ -1, connection };
    connection->receiver =
        (struct end){ open_socket(&traffic->hosts[order->to], order->congestion), connection };
    LIST_INSERT_HEAD(&traffic->connections, connection, others);
    if (connection->receiver.fd < 0 ||
        bind(connection->receiver.fd, (struct sockaddr *)&local, sizeof(local)) < 0 ||
        (connect(connection->receiver.fd, (struct sockaddr *)&remote, sizeof(remote)) < 0 &&
         errno != EINPROGRESS) ||
        getsockname(connection->receiver.fd, (struct sockaddr *)&local, &length) < 0) {
        close_connection(connection);
        return NULL;
    }
    connection->local_port = ntohs(local.sin_port);
    watch(traffic, &connection->receiver, EPOLLOUT);
    return connection;
}

static struct connection *find_accepted(const struct traffic *traffic,
                                        const struct listener *listener,
                                        const struct sockaddr_in *peer)
{
    struct connection *connection;

    LIST_FOREACH(connection, &traffic->connections, others) {
        if (connection->local_port == ntohs(peer->sin_port) && connection->sender.fd < 0 &&
            connection->from == listener->host &&
            traffic->hosts[connection->to].address.s_addr == peer->sin_addr.s_addr)
            return connection;
    }
    return NULL;
}

void accept_all(struct traffic *traffic, const struct listener *listener)
{
    struct sockaddr_in peer;
    socklen_t length = sizeof(peer);
    int fd, on = 1;

    while ((fd = accept4(listener->end.fd, (struct sockaddr *)&peer, &length,
                         SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = find_accepted(traffic, listener, &peer);

        if (!connection) { /* given up meanwhile */
            close(fd);
            continue;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        connection->sender.fd = fd;
        watch(traffic, &connection->sender, EPOLLIN);
    }
}

void close_connection(struct connection *connection)
{
    LIST_REMOVE(connection, others);
    if (connection->receiver.fd >= 0)
        close(connection->receiver.fd);
    if (connection->sender.fd >= 0)
        close(connection->sender.fd);
    free(connection);
}

struct tcp_info info_of(const struct end *end)
{
    struct tcp_info info = { .tcpi_snd_cwnd = 0 };
    socklen_t length = sizeof(info);

    if (end->fd >= 0)
        (void)getsockopt(end->fd, IPPROTO_TCP, TCP_INFO, &info, &length);
    return info;
}
