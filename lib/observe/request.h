/* SPDX-License-Identifier: MIT */
/*
 * The two requests of a dump, in bytes: for the host's own prefixes and for its sockets. When to
 * send which is dump.c's.
 */
#ifndef RIPTIDE_LIB_OBSERVE_REQUEST_H
#define RIPTIDE_LIB_OBSERVE_REQUEST_H

#include "observe/channel.h"
#include "observe/filter.h"

/* The routes of the table `local` of that family. Errors: of send(2). */
int request_local(struct channel *channel, uint8_t family);

/*
 * The sockets in these states, as bits, that the filter lets through, with their tcp_info; also
 * with the name of their congestion control. Errors: of send(2).
 */
int request_sockets(struct channel *channel, const struct filter *filter, bool congestion_control,
                    uint32_t states);

#endif
