/* SPDX-License-Identifier: MIT */
#include "transfer.h"

#include "connection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define REQUEST_BYTES 100 /* about a request line and a few headers */
#define CHUNK_BYTES   (UINT64_C(1) << 18)
#define SETTLE_NS     UINT64_C(2000000)

int traffic_init(struct traffic *traffic)
{
    *traffic = (struct traffic){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
    STAILQ_INIT(&traffic->waiting);
    return traffic->epoll_fd < 0 ? -errno : 0;
}

int traffic_add_order(struct traffic *traffic, const struct order *order)
{
    struct transfer *transfer;
    int r = order->bytes ? listen_for(traffic, order) : 0;

    if (r < 0)
        return r;
    transfer = calloc(1, sizeof(*transfer));
    if (!transfer)
        return -ENOMEM;
    transfer->order = *order;
    STAILQ_INSERT_TAIL(&traffic->waiting, transfer, next);
    return 0;
}

bool traffic_is_busy(const struct traffic *traffic)
{
    return !STAILQ_EMPTY(&traffic->waiting) || !LIST_EMPTY(&traffic->running);
}

static uint64_t due_ns(const struct traffic *traffic, const struct transfer *transfer)
{
    return traffic->go_ns + 1000 * transfer->order.at_us;
}

/* Since the start of the transfer; 0: not reached. */
static uint64_t us(const struct transfer *transfer, uint64_t at_ns)
{
    return at_ns ? (at_ns - transfer->start_ns) / 1000 : 0;
}

/* The columns are those of traffic.py. */
static void report(const struct traffic *traffic, const struct transfer *transfer)
{
    struct tcp_info end = { .tcpi_snd_cwnd = 0 };

    if (transfer->connection)
        end = info_of(&transfer->connection->sender);
    printf("%u,%d,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u,%u,%u,%" PRIu64 "\n",
           transfer->order.number, transfer->is_reused, transfer->done_ns != 0,
           (transfer->start_ns - traffic->go_ns) / 1000, us(transfer, transfer->first_ns),
           us(transfer, transfer->done_ns), transfer->first.tcpi_snd_cwnd,
           end.tcpi_data_segs_out - transfer->before.tcpi_data_segs_out,
           end.tcpi_total_retrans - transfer->before.tcpi_total_retrans,
           transfer->first_flight_retrans, end.tcpi_min_rtt, end.tcpi_snd_mss,
           (uint64_t)(end.tcpi_busy_time - transfer->before.tcpi_busy_time));
}

static void finish(struct traffic *traffic, struct transfer *transfer, uint64_t now_ns)
{
    struct connection *connection = transfer->connection;

    report(traffic, transfer);
    LIST_REMOVE(transfer, others);
    if (connection && transfer->done_ns && transfer->order.idle_us) {
        connection->transfer = NULL;
        connection->idle_until_ns = now_ns + 1000 * transfer->order.idle_us;
        if (connection->idle_until_ns < traffic->idle_check_ns)
            traffic->idle_check_ns = connection->idle_until_ns;
    } else if (connection) {
        close_connection(connection);
    }
    free(transfer);
}

/* Sends as much as the socket accepts; the rest when it has room. */
static void send_more(struct traffic *traffic, struct transfer *transfer)
{
    static const char zeros[CHUNK_BYTES];
    struct end *end = &transfer->connection->sender;
    uint64_t total = transfer->order.bytes;
    bool is_first = transfer->sent_bytes == 0;

    if (is_first)
        transfer->before = info_of(end);
    while (transfer->sent_bytes < total) {
        uint64_t left = total - transfer->sent_bytes;
        ssize_t sent =
            send(end->fd, zeros, left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES, MSG_NOSIGNAL);

        if (sent < 0)
            break;
        transfer->sent_bytes += (uint64_t)sent;
    }
    if (is_first)
        transfer->first = info_of(end);
    /* As servers do: a later FIN of its own would add a round trip of busy time. */
    if (transfer->sent_bytes == total && !transfer->order.reuse && !transfer->order.idle_us)
        (void)shutdown(end->fd, SHUT_WR);
    watch(traffic, end, EPOLLIN | (transfer->sent_bytes < total ? EPOLLOUT : 0));
}

static void send_request(const struct transfer *transfer)
{
    static const char request[REQUEST_BYTES];

    (void)send(transfer->connection->receiver.fd, request, sizeof(request), MSG_NOSIGNAL);
}

/* What was retransmitted until all of the first flight was acknowledged. */
static void look_at_first_flight(struct transfer *transfer)
{
    uint64_t flight_bytes = (uint64_t)transfer->first.tcpi_snd_cwnd * transfer->first.tcpi_snd_mss;
    struct tcp_info info;

    if (transfer->is_first_flight_acked || transfer->sent_bytes == 0)
        return;
    if (flight_bytes > transfer->order.bytes)
        flight_bytes = transfer->order.bytes;
    info = info_of(&transfer->connection->sender);
    transfer->first_flight_retrans = info.tcpi_total_retrans - transfer->before.tcpi_total_retrans;
    transfer->is_first_flight_acked =
        info.tcpi_bytes_acked - transfer->before.tcpi_bytes_acked >= flight_bytes;
}

/* Refused, reset or closed: no more events of this end; the next tick reports it. */
static void give_up_end(const struct traffic *traffic, const struct end *end)
{
    (void)epoll_ctl(traffic->epoll_fd, EPOLL_CTL_DEL, end->fd, NULL);
    if (end->connection->transfer)
        end->connection->transfer->has_failed = true;
}

static void count_received(struct traffic *traffic, const struct end *end, uint64_t n_bytes,
                           uint64_t now_ns)
{
    struct transfer *transfer = end->connection->transfer;

    if (end == &end->connection->sender) {
        transfer->requested_bytes += n_bytes;
        if (transfer->requested_bytes == REQUEST_BYTES)
            send_more(traffic, transfer);
        return;
    }
    if (!transfer->first_ns)
        transfer->first_ns = now_ns;
    transfer->received_bytes += n_bytes;
    if (transfer->received_bytes == transfer->order.bytes)
        transfer->done_ns = now_ns;
}

static void receive(struct traffic *traffic, struct end *end, uint64_t now_ns)
{
    static char buffer[CHUNK_BYTES];
    struct transfer *transfer = end->connection->transfer;
    ssize_t received;

    while ((received = recv(end->fd, buffer, sizeof(buffer), MSG_TRUNC)) > 0) {
        if (transfer)
            count_received(traffic, end, (uint64_t)received, now_ns);
    }
    if (received == 0 || errno != EAGAIN)
        give_up_end(traffic, end);
    if (transfer)
        look_at_first_flight(transfer);
}

static void end_connect(struct traffic *traffic, struct end *end, uint32_t events)
{
    if (events & EPOLLERR) {
        give_up_end(traffic, end);
        return;
    }
    end->connection->is_connected = true;
    watch(traffic, end, EPOLLIN);
    if (end->connection->transfer)
        send_request(end->connection->transfer);
}

void traffic_handle(struct traffic *traffic, struct end *end, uint32_t events, uint64_t now_ns)
{
    struct connection *connection = end->connection;

    if (!connection) {
        accept_all(traffic, (struct listener *)end);
        return;
    }
    if (end == &connection->receiver && !connection->is_connected) {
        end_connect(traffic, end, events);
        return;
    }
    if ((events & EPOLLOUT) && connection->transfer)
        send_more(traffic, connection->transfer);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        receive(traffic, end, now_ns);
}

static void start(struct traffic *traffic, struct transfer *transfer, uint64_t now_ns)
{
    struct connection *connection = NULL;

    transfer->start_ns = now_ns;
    LIST_INSERT_HEAD(&traffic->running, transfer, others);
    if (transfer->order.reuse)
        connection = find_idle(traffic, &transfer->order);
    transfer->is_reused = connection;
    if (!connection)
        connection = connect_for(traffic, &transfer->order);
    if (!connection) {
        finish(traffic, transfer, now_ns);
        return;
    }
    transfer->connection = connection;
    connection->transfer = transfer;
    connection->idle_until_ns = 0;
    if (transfer->is_reused)
        send_request(transfer);
}

/* The windows of all senders that have sent. */
static void look(const struct traffic *traffic)
{
    const struct connection *connection;

    LIST_FOREACH(connection, &traffic->connections, others) {
        struct tcp_info info = info_of(&connection->sender);

        if (info.tcpi_bytes_acked > 0)
            printf("look,%u,%u,%u\n", connection->from, connection->to, info.tcpi_snd_cwnd);
    }
}

static void start_due(struct traffic *traffic, uint64_t now_ns, bool give_up)
{
    struct transfer *transfer;

    while ((transfer = STAILQ_FIRST(&traffic->waiting)) &&
           (give_up || due_ns(traffic, transfer) <= now_ns)) {
        STAILQ_REMOVE_HEAD(&traffic->waiting, next);
        if (transfer->order.bytes) {
            start(traffic, transfer, now_ns);
        } else {
            look(traffic);
            free(transfer);
        }
    }
}

/* Returns when the next one will have been idle for long enough. */
static uint64_t close_idle(struct traffic *traffic, uint64_t now_ns)
{
    struct connection *connection, *following;

    if (now_ns < traffic->idle_check_ns)
        return traffic->idle_check_ns;
    traffic->idle_check_ns = UINT64_MAX;
    for (connection = LIST_FIRST(&traffic->connections); connection; connection = following) {
        following = LIST_NEXT(connection, others);
        if (!connection->idle_until_ns)
            continue;
        if (connection->idle_until_ns <= now_ns)
            close_connection(connection);
        else if (connection->idle_until_ns < traffic->idle_check_ns)
            traffic->idle_check_ns = connection->idle_until_ns;
    }
    return traffic->idle_check_ns;
}

static bool has_settled(struct transfer *transfer)
{
    if (!transfer->done_ns)
        return transfer->has_failed;
    look_at_first_flight(transfer);
    return info_of(&transfer->connection->sender).tcpi_unacked == 0;
}

/* Asks only every other millisecond whether all is acknowledged, however often it is called. */
static uint64_t finish_settled(struct traffic *traffic, uint64_t now_ns, bool give_up)
{
    struct transfer *transfer, *following;
    bool is_any_done = false;

    if (!give_up && now_ns < traffic->settle_check_ns)
        return traffic->settle_check_ns;
    for (transfer = LIST_FIRST(&traffic->running); transfer; transfer = following) {
        following = LIST_NEXT(transfer, others);
        if (give_up || has_settled(transfer))
            finish(traffic, transfer, now_ns);
        else
            is_any_done = is_any_done || transfer->done_ns;
    }
    traffic->settle_check_ns = now_ns + SETTLE_NS;
    return is_any_done ? traffic->settle_check_ns : UINT64_MAX;
}

uint64_t traffic_tick(struct traffic *traffic, uint64_t now_ns, bool give_up)
{
    uint64_t idle_ns = close_idle(traffic, now_ns), next_ns;
    const struct transfer *first;

    start_due(traffic, now_ns, give_up);
    next_ns = finish_settled(traffic, now_ns, give_up);
    first = STAILQ_FIRST(&traffic->waiting);
    if (first && due_ns(traffic, first) < next_ns)
        next_ns = due_ns(traffic, first);
    return idle_ns < next_ns ? idle_ns : next_ns;
}
