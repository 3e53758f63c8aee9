/* SPDX-License-Identifier: MIT */
/*
 * The life of a transfer: a connection opened or reused, asked for, moved, settled, reported. Both ends
 * are in this process: the sender's TCP_INFO and the time at which the receiver has its bytes are read
 * with one clock. The receiver opens the connection and asks, as a client of HTTP does.
 */
#ifndef TRAFFIC_TRANSFER_H
#define TRAFFIC_TRANSFER_H

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define HOSTS_MAX 256

struct host {
    struct in_addr address;
    int netns_fd;
};

/* What the plan asks for. */
struct order {
    unsigned int number;
    uint64_t at_us;        /* after `go` */
    unsigned int from, to; /* hosts; the receiver opens the connection */
    uint64_t bytes;        /* 0: report the windows of all connections instead */
    char congestion[16];
    bool reuse;       /* an idle connection of the same ends, if there is one */
    uint64_t idle_us; /* how long the connection stays open afterwards */
};

/* One end, as registered in epoll; a listener has no connection. */
struct end {
    int fd;
    struct connection *connection;
};

struct listener {
    struct end end; /* first: epoll's pointer is this one */
    unsigned int host;
    char congestion[16];
    uint16_t port;
    LIST_ENTRY(listener) others;
};

struct connection {
    struct end sender, receiver;
    unsigned int from, to;
    char congestion[16];
    uint16_t local_port; /* the receiver's; finds the connection that was accepted */
    bool is_connected;
    uint64_t idle_until_ns; /* 0: in use */
    struct transfer *transfer;
    LIST_ENTRY(connection) others;
};

struct transfer {
    struct order order;
    struct connection *connection;
    uint64_t start_ns, first_ns, done_ns; /* 0: not yet */
    uint64_t sent_bytes, received_bytes, requested_bytes;
    struct tcp_info before, first; /* of the sender: before it sent, and after its first call */
    uint32_t first_flight_retrans;
    bool is_reused, is_first_flight_acked, has_failed;
    STAILQ_ENTRY(transfer) next; /* that waits */
    LIST_ENTRY(transfer) others; /* that run */
};

struct traffic {
    struct host hosts[HOSTS_MAX];
    unsigned int n_hosts;
    int epoll_fd;
    uint64_t go_ns;
    LIST_HEAD(, listener) listeners;
    LIST_HEAD(, connection) connections;
    STAILQ_HEAD(, transfer) waiting; /* in the order of time, as the plan has them */
    LIST_HEAD(, transfer) running;
    uint64_t idle_check_ns, settle_check_ns; /* no connection needs to be checked before */
};

/* Each negative errno. */
int traffic_init(struct traffic *traffic);
int traffic_add_host(struct traffic *traffic, const char *name, const char *address);
int traffic_add_order(struct traffic *traffic, const struct order *order);

/* Whether a transfer waits or runs. */
bool traffic_is_busy(const struct traffic *traffic);

/* Something happened at an end. */
void traffic_handle(struct traffic *traffic, struct end *end, uint32_t events, uint64_t now_ns);

/*
 * Starts due transfers, reports finished ones, closes connections that were idle long enough. With
 * `give_up`, running and waiting ones are reported as they are. Returns the time of the next call.
 */
uint64_t traffic_tick(struct traffic *traffic, uint64_t now_ns, bool give_up);

#endif
