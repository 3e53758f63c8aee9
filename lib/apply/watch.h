/* SPDX-License-Identifier: MIT */
/*
 * Notifications of the kernel about what can move a route.
 */
#ifndef RIPTIDE_LIB_APPLY_WATCH_H
#define RIPTIDE_LIB_APPLY_WATCH_H

#include "plan.h"

struct mnl_socket;

/* Subscribes, but for changes by the socket of that port. Errors: -ENOMEM, those of socket(2). */
int watch_open(struct mnl_socket **socketp, uint32_t own_port);

/* For the end: nothing more is read, and the kernel need not tell us of each route that goes. */
void watch_unsubscribe(struct mnl_socket *socket);

/* Reads one buffer of notifications. Returns 1 where there was one. Errors: those of recv(2). */
int watch_read(struct mnl_socket *socket, struct plan *plan);

#endif
