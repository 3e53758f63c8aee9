/* SPDX-License-Identifier: MIT */
/* Connections between hosts in other network namespaces: made there, used from here. */
#ifndef TRAFFIC_CONNECTION_H
#define TRAFFIC_CONNECTION_H

#include "transfer.h"

void watch(const struct traffic *traffic, struct end *end, uint32_t events);

/* Makes a listener at the sender for this order, if there is none yet. Negative errno. */
int listen_for(struct traffic *traffic, const struct order *order);

/* An idle connection that fits the order; NULL: there is none. */
struct connection *find_idle(const struct traffic *traffic, const struct order *order);

/* NULL: it cannot be opened. */
struct connection *connect_for(struct traffic *traffic, const struct order *order);

/* All that wait at a listener become the senders of their connections. */
void accept_all(struct traffic *traffic, const struct listener *listener);

void close_connection(struct connection *connection);

/* TCP_INFO of an end; zeros if the kernel does not report it. */
struct tcp_info info_of(const struct end *end);

#endif
