/* SPDX-License-Identifier: MIT */
/*
 * Transfers between hosts, with both ends in this process: the sender's TCP_INFO and the time at
 * which the receiver has its bytes are read with one clock.
 *
 * Pull: the receiver connects and asks, as a client of HTTP does. Push: the sender connects.
 */
#include "transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_PORT  9000
#define CHUNK_BYTES (UINT64_C(1) << 18)
#define SETTLE_NS   UINT64_C(2000000)

static void watch(const struct traffic *traffic, struct traffic_end *end, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = end };

    if (epoll_ctl(traffic->epoll_fd, EPOLL_CTL_MOD, end->fd, &event) < 0)
        (void)epoll_ctl(traffic->epoll_fd, EPOLL_CTL_ADD, end->fd, &event);
}

int traffic_init(struct traffic *traffic)
{
    *traffic = (struct traffic){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
    return traffic->epoll_fd < 0 ? -errno : 0;
}

int traffic_add_host(struct traffic *traffic, const struct traffic_host *host)
{
    int r;

    if (traffic->n_hosts == TRAFFIC_HOSTS_MAX)
        return -ENOSPC;
    r = ends_host_open(&traffic->hosts[traffic->n_hosts], host);
    if (r < 0)
        return r;
    traffic->names[traffic->n_hosts++] = *host;
    return 0;
}

/* A connection has its initial window when it is established, so that its congestion control must
 * be the listener's: one listener for each. */
static int find_port(struct traffic *traffic, unsigned int host, const char *congestion,
                     uint16_t *portp)
{
    struct traffic_end *listener;
    uint16_t port = FIRST_PORT;
    int fd;

    for (listener = traffic->listeners; listener; listener = listener->next) {
        if (listener->host != host)
            continue;
        *portp = listener->port;
        if (!strcmp(listener->congestion, congestion))
            return 0;
        port++;
    }
    fd = ends_listen(&traffic->hosts[host], port, congestion);
    if (fd < 0)
        return fd;
    listener = calloc(1, sizeof(*listener));
    if (!listener) {
        close(fd);
        return -ENOMEM;
    }
    *listener = (struct traffic_end){ .fd = fd, .host = host, .port = port };
    strcpy(listener->congestion, congestion);
    listener->next = traffic->listeners;
    traffic->listeners = listener;
    watch(traffic, listener, EPOLLIN);
    *portp = port;
    return 0;
}

int traffic_add_order(struct traffic *traffic, const struct traffic_order *order)
{
    struct traffic_transfer **place = &traffic->waiting, *transfer;
    uint16_t port;
    int r = 0;

    if (!order->look)
        r = find_port(traffic, order->push ? order->to : order->from, order->congestion, &port);
    if (r < 0)
        return r;
    transfer = calloc(1, sizeof(*transfer));
    if (!transfer)
        return -ENOMEM;
    transfer->order = *order;
    /* Plans are long, and mostly sorted. */
    if (traffic->waiting && traffic->last_waiting->order.at_us <= order->at_us)
        place = &traffic->last_waiting->next;
    while (*place && (*place)->order.at_us <= order->at_us)
        place = &(*place)->next;
    transfer->next = *place;
    *place = transfer;
    if (!transfer->next)
        traffic->last_waiting = transfer;
    return 0;
}

static void close_connection(struct traffic *traffic, struct traffic_connection *connection)
{
    struct traffic_connection **place = &traffic->connections;

    while (*place != connection)
        place = &(*place)->next;
    *place = connection->next;
    close(connection->opener.fd);
    if (connection->accepter.fd >= 0)
        close(connection->accepter.fd);
    free(connection);
}

static void finish(struct traffic *traffic, struct traffic_transfer *transfer, uint64_t now_ns)
{
    struct traffic_transfer **place = &traffic->running;
    struct traffic_connection *connection = transfer->connection;

    traffic_report(traffic, transfer);
    while (*place != transfer)
        place = &(*place)->next;
    *place = transfer->next;
    if (connection) {
        connection->transfer = NULL;
        connection->idle_until_ns = now_ns + 1000 * transfer->order.idle_us;
        if (connection->idle_until_ns < traffic->idle_check_ns)
            traffic->idle_check_ns = connection->idle_until_ns;
        if (!transfer->done_ns || !transfer->order.idle_us)
            close_connection(traffic, connection);
    }
    free(transfer);
}

/* Sends as much as the socket accepts; the rest when it has room. */
static void send_more(struct traffic *traffic, struct traffic_transfer *transfer,
                      struct traffic_end *end)
{
    static const char zeros[CHUNK_BYTES];
    uint64_t total = transfer->order.bytes;
    bool is_first = transfer->sent_bytes == 0;

    if (is_first)
        ends_info(end->fd, &transfer->before);
    while (transfer->sent_bytes < total) {
        uint64_t left = total - transfer->sent_bytes;
        ssize_t sent = send(end->fd, zeros, left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES,
                            MSG_NOSIGNAL);

        if (sent < 0)
            break;
        transfer->sent_bytes += (uint64_t)sent;
    }
    if (is_first)
        ends_info(end->fd, &transfer->first);
    /* As servers do: a later FIN of its own would add a round trip of busy time. */
    if (transfer->sent_bytes == total && !transfer->order.reuse && !transfer->order.idle_us)
        (void)shutdown(end->fd, SHUT_WR);
    watch(traffic, end, EPOLLIN | (transfer->sent_bytes < total ? EPOLLOUT : 0));
}

static void send_request(struct traffic_transfer *transfer)
{
    static const char request[TRAFFIC_REQUEST_BYTES];

    (void)send(transfer->connection->opener.fd, request, sizeof(request), MSG_NOSIGNAL);
}

static void begin(struct traffic *traffic, struct traffic_transfer *transfer)
{
    if (transfer->order.push)
        send_more(traffic, transfer, &transfer->connection->opener);
    else
        send_request(transfer);
}

/* What was retransmitted until all of the first flight was acknowledged. */
static void look_at_first_flight(struct traffic_transfer *transfer)
{
    uint64_t flight_bytes = (uint64_t)transfer->first.tcpi_snd_cwnd * transfer->first.tcpi_snd_mss;
    struct tcp_info info;

    if (transfer->first_flight_acked || transfer->sent_bytes == 0)
        return;
    if (flight_bytes > transfer->order.bytes)
        flight_bytes = transfer->order.bytes;
    ends_info(traffic_sender(transfer)->fd, &info);
    transfer->first_flight_retrans = info.tcpi_total_retrans - transfer->before.tcpi_total_retrans;
    transfer->first_flight_acked =
        info.tcpi_bytes_acked - transfer->before.tcpi_bytes_acked >= flight_bytes;
}

/* Refused, reset or closed: no more events of this end; the next tick reports it. */
static void give_up_end(const struct traffic *traffic, const struct traffic_end *end)
{
    (void)epoll_ctl(traffic->epoll_fd, EPOLL_CTL_DEL, end->fd, NULL);
    if (end->connection->transfer)
        end->connection->transfer->failed = true;
}

static void receive(struct traffic *traffic, struct traffic_end *end, uint64_t now_ns)
{
    static char buffer[CHUNK_BYTES];
    struct traffic_transfer *transfer = end->connection->transfer;
    ssize_t received;

    while ((received = recv(end->fd, buffer, sizeof(buffer), MSG_TRUNC)) > 0) {
        if (!transfer)
            continue;
        if (end == traffic_sender(transfer)) {
            transfer->requested_bytes += (uint64_t)received;
            if (transfer->requested_bytes == TRAFFIC_REQUEST_BYTES)
                send_more(traffic, transfer, end);
            continue;
        }
        transfer->first_ns = transfer->first_ns ? transfer->first_ns : now_ns;
        transfer->received_bytes += (uint64_t)received;
        if (transfer->received_bytes == transfer->order.bytes)
            transfer->done_ns = now_ns;
    }
    if (transfer)
        look_at_first_flight(transfer);
    if (received == 0 || errno != EAGAIN)
        give_up_end(traffic, end);
}

static void accept_all(struct traffic *traffic, const struct traffic_end *listener)
{
    struct sockaddr_in peer;
    int fd;

    while ((fd = ends_accept(listener->fd, &peer)) >= 0) {
        struct traffic_connection *connection = traffic->connections;

        while (connection &&
               (connection->local_port != ntohs(peer.sin_port) || connection->accepter.fd >= 0 ||
                connection->accepter.host != listener->host ||
                traffic->hosts[connection->opener.host].address.s_addr != peer.sin_addr.s_addr))
            connection = connection->next;
        if (!connection) { /* given up meanwhile */
            close(fd);
            continue;
        }
        connection->accepter.fd = fd;
        watch(traffic, &connection->accepter, EPOLLIN);
    }
}

void traffic_handle(struct traffic *traffic, struct traffic_end *end, uint32_t events,
                    uint64_t now_ns)
{
    struct traffic_connection *connection = end->connection;
    struct traffic_transfer *transfer;

    if (!connection) {
        accept_all(traffic, end);
        return;
    }
    transfer = connection->transfer;
    if (end == &connection->opener && !connection->connected) {
        if (events & EPOLLERR) {
            give_up_end(traffic, end);
            return;
        }
        connection->connected = true;
        watch(traffic, end, EPOLLIN);
        if (transfer) {
            transfer->connected_ns = now_ns;
            begin(traffic, transfer);
        }
        return;
    }
    if ((events & EPOLLOUT) && transfer && end == traffic_sender(transfer))
        send_more(traffic, transfer, end);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        receive(traffic, end, now_ns);
}

static bool fits(const struct traffic_connection *connection, const struct traffic_order *order)
{
    unsigned int opener = order->push ? order->from : order->to;
    unsigned int accepter = order->push ? order->to : order->from;

    return connection->idle_until_ns && connection->opener.host == opener &&
           connection->accepter.host == accepter &&
           !strcmp(connection->opener.congestion, order->congestion);
}

static int connect_new(struct traffic *traffic, struct traffic_transfer *transfer)
{
    const struct traffic_order *order = &transfer->order;
    unsigned int opener = order->push ? order->from : order->to;
    unsigned int accepter = order->push ? order->to : order->from;
    struct traffic_connection *connection = calloc(1, sizeof(*connection));
    uint16_t port;
    int r = connection ? find_port(traffic, accepter, order->congestion, &port) : -ENOMEM;

    if (r == 0)
        r = ends_connect(&traffic->hosts[opener], &traffic->hosts[accepter], port,
                         order->congestion, &connection->local_port);
    if (r < 0) {
        free(connection);
        return r;
    }
    connection->opener = (struct traffic_end){ .fd = r, .host = opener, .connection = connection };
    connection->accepter =
        (struct traffic_end){ .fd = -1, .host = accepter, .connection = connection };
    strcpy(connection->opener.congestion, order->congestion);
    connection->next = traffic->connections;
    traffic->connections = connection;
    transfer->connection = connection;
    connection->transfer = transfer;
    watch(traffic, &connection->opener, EPOLLOUT);
    return 0;
}

static void start(struct traffic *traffic, struct traffic_transfer *transfer, uint64_t now_ns)
{
    struct traffic_connection *connection = traffic->connections;

    transfer->start_ns = now_ns;
    while (connection && !(transfer->order.reuse && fits(connection, &transfer->order)))
        connection = connection->next;
    if (connection) {
        transfer->reused = true;
        transfer->connection = connection;
        connection->transfer = transfer;
        connection->idle_until_ns = 0;
        begin(traffic, transfer);
    } else if (connect_new(traffic, transfer) < 0) {
        finish(traffic, transfer, now_ns);
    }
}

static bool has_settled(struct traffic_transfer *transfer)
{
    struct tcp_info info;

    if (!transfer->done_ns)
        return transfer->failed;
    look_at_first_flight(transfer);
    ends_info(traffic_sender(transfer)->fd, &info);
    return info.tcpi_unacked == 0;
}

/* Returns when the next one will have been idle for long enough. */
static uint64_t close_idle(struct traffic *traffic, uint64_t now_ns)
{
    struct traffic_connection *connection, *following;

    if (now_ns < traffic->idle_check_ns)
        return traffic->idle_check_ns;
    traffic->idle_check_ns = UINT64_MAX;
    for (connection = traffic->connections; connection; connection = following) {
        following = connection->next;
        if (connection->idle_until_ns && connection->idle_until_ns <= now_ns)
            close_connection(traffic, connection);
        else if (connection->idle_until_ns && connection->idle_until_ns < traffic->idle_check_ns)
            traffic->idle_check_ns = connection->idle_until_ns;
    }
    return traffic->idle_check_ns;
}

static void start_due(struct traffic *traffic, uint64_t now_ns, bool give_up)
{
    struct traffic_transfer *transfer;

    while ((transfer = traffic->waiting) &&
           (give_up || traffic->go_ns + 1000 * transfer->order.at_us <= now_ns)) {
        traffic->waiting = transfer->next;
        if (transfer->order.look) {
            traffic_look(traffic, now_ns);
            free(transfer);
            continue;
        }
        transfer->next = traffic->running;
        traffic->running = transfer;
        start(traffic, transfer, now_ns);
    }
}

/* Asks only every other millisecond whether all is acknowledged, however often it is called. */
static uint64_t finish_settled(struct traffic *traffic, uint64_t now_ns, bool give_up)
{
    struct traffic_transfer *transfer, *after;
    bool any_done = false;

    if (!give_up && now_ns < traffic->settle_check_ns)
        return traffic->settle_check_ns;
    for (transfer = traffic->running; transfer; transfer = after) {
        after = transfer->next;
        if (give_up || has_settled(transfer))
            finish(traffic, transfer, now_ns);
        else
            any_done = any_done || transfer->done_ns;
    }
    traffic->settle_check_ns = now_ns + SETTLE_NS;
    return any_done ? traffic->settle_check_ns : UINT64_MAX;
}

uint64_t traffic_tick(struct traffic *traffic, uint64_t now_ns, bool give_up)
{
    uint64_t idle_ns = close_idle(traffic, now_ns);
    uint64_t next_ns;

    start_due(traffic, now_ns, give_up);
    next_ns = finish_settled(traffic, now_ns, give_up);
    if (traffic->waiting && traffic->go_ns + 1000 * traffic->waiting->order.at_us < next_ns)
        next_ns = traffic->go_ns + 1000 * traffic->waiting->order.at_us;
    return idle_ns < next_ns ? idle_ns : next_ns;
}
