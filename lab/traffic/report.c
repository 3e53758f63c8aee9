/* SPDX-License-Identifier: MIT */
/*
 * Lines of CSV: results of transfers, and windows of open connections.
 */
#include "transfer.h"

#include <inttypes.h>
#include <stdio.h>

struct traffic_end *traffic_sender(const struct traffic_transfer *transfer)
{
    struct traffic_connection *connection = transfer->connection;

    return transfer->order.push ? &connection->opener : &connection->accepter;
}

static uint64_t us(const struct traffic_transfer *transfer, uint64_t at_ns)
{
    return at_ns ? (at_ns - transfer->start_ns) / 1000 : 0;
}

void traffic_report(const struct traffic *traffic, const struct traffic_transfer *transfer)
{
    const struct traffic_order *order = &transfer->order;
    const struct traffic_connection *connection = transfer->connection;
    struct tcp_info end = { .tcpi_snd_cwnd = 0 };

    if (connection && traffic_sender(transfer)->fd >= 0)
        ends_info(traffic_sender(transfer)->fd, &end);
    printf("%s,%s,%s,%s,%" PRIu64 ",%s,%d,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
           ",%u,%u,%u,%u,%u,%u,%u,%" PRIu64 ",%u,%u,%" PRIu64 "\n",
           order->tag, traffic->names[order->from].name, traffic->names[order->to].name,
           order->push ? "push" : "pull", order->bytes, order->congestion, transfer->reused,
           transfer->done_ns != 0, (transfer->start_ns - traffic->go_ns) / 1000,
           us(transfer, transfer->connected_ns), us(transfer, transfer->first_ns),
           us(transfer, transfer->done_ns), transfer->first.tcpi_snd_cwnd,
           transfer->first.tcpi_unacked, transfer->first.tcpi_snd_wnd, end.tcpi_snd_cwnd,
           end.tcpi_data_segs_out - transfer->before.tcpi_data_segs_out,
           end.tcpi_total_retrans - transfer->before.tcpi_total_retrans,
           transfer->first_flight_retrans,
           (uint64_t)(end.tcpi_bytes_retrans - transfer->before.tcpi_bytes_retrans),
           end.tcpi_min_rtt, end.tcpi_snd_mss,
           (uint64_t)(end.tcpi_busy_time - transfer->before.tcpi_busy_time));
}

static void print_end(const struct traffic *traffic, uint64_t now_ns, const struct traffic_end *end,
                      const struct traffic_end *peer)
{
    struct tcp_info info;

    if (end->fd < 0)
        return;
    ends_info(end->fd, &info);
    if (info.tcpi_bytes_acked > TRAFFIC_REQUEST_BYTES + 1)
        printf("look,%" PRIu64 ",%s,%s,%u\n", (now_ns - traffic->go_ns) / 1000,
               traffic->names[end->host].name, traffic->names[peer->host].name, info.tcpi_snd_cwnd);
}

void traffic_look(const struct traffic *traffic, uint64_t now_ns)
{
    const struct traffic_connection *connection;

    for (connection = traffic->connections; connection; connection = connection->next) {
        print_end(traffic, now_ns, &connection->opener, &connection->accepter);
        print_end(traffic, now_ns, &connection->accepter, &connection->opener);
    }
}
