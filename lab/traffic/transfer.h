/* SPDX-License-Identifier: MIT */
/*
 * The life of a transfer: opened or reused, moved, settled, reported. I/O, one epoll for all.
 */
#ifndef TRAFFIC_TRANSFER_H
#define TRAFFIC_TRANSFER_H

#include "ends.h"

#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_REQUEST_BYTES 100 /* about a request line and a few headers */

struct traffic_connection;
struct traffic_transfer;

/* One end, as registered in epoll; listeners have no connection. */
struct traffic_end {
    int fd;
    unsigned int host;
    struct traffic_connection *connection;
    struct traffic_end *next; /* of the listeners */
    char congestion[16];
    uint16_t port;
};

struct traffic_connection {
    struct traffic_end opener, accepter;
    uint16_t local_port; /* the opener's; finds the connection that was accepted */
    bool connected;
    uint64_t idle_until_ns; /* 0: in use */
    struct traffic_transfer *transfer;
    struct traffic_connection *next;
};

struct traffic_transfer {
    struct traffic_order order;
    struct traffic_connection *connection;
    uint64_t start_ns, connected_ns, first_ns, done_ns; /* 0: not yet */
    uint64_t sent_bytes, received_bytes, requested_bytes;
    struct tcp_info before, first; /* of the sender: before it sent, and after its first call */
    uint32_t first_flight_retrans;
    bool reused, first_flight_acked, failed;
    struct traffic_transfer *next; /* in the order of time, then among those that run */
};

struct traffic {
    struct traffic_host names[TRAFFIC_HOSTS_MAX];
    struct ends_host hosts[TRAFFIC_HOSTS_MAX];
    size_t n_hosts;
    int epoll_fd;
    uint64_t go_ns;
    struct traffic_end *listeners;
    struct traffic_connection *connections;
    struct traffic_transfer *waiting, *last_waiting, *running;
    uint64_t idle_check_ns, settle_check_ns; /* no connection needs to be checked before */
};

int traffic_init(struct traffic *traffic); /* negative errno */

/* Both negative errno; a transfer is waiting until its time comes. */
int traffic_add_host(struct traffic *traffic, const struct traffic_host *host);
int traffic_add_order(struct traffic *traffic, const struct traffic_order *order);

/* Something happened at an end. */
void traffic_handle(struct traffic *traffic, struct traffic_end *end, uint32_t events,
                    uint64_t now_ns);

/*
 * Starts due transfers, reports finished ones, closes connections that were idle long enough. With
 * `give_up`, running and waiting ones are reported as they are. Returns the time of the next call.
 */
uint64_t traffic_tick(struct traffic *traffic, uint64_t now_ns, bool give_up);

/* The end that sends the object. */
struct traffic_end *traffic_sender(const struct traffic_transfer *transfer);

/* The columns are those of traffic.py. */
void traffic_report(const struct traffic *traffic, const struct traffic_transfer *transfer);

/* The windows of all ends that sent objects; ends that only sent requests are no evidence. */
void traffic_look(const struct traffic *traffic, uint64_t now_ns);

#endif
