/* SPDX-License-Identifier: MIT */
/*
 * One inet_diag message becomes one sample, or none. Pure. The observer decides which destinations
 * are the host's own and which are in scope.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SAMPLE_H
#define RIPTIDE_LIB_OBSERVE_SAMPLE_H

#include <riptide/observe.h>

/*
 * Reads the payload of a message about a socket: struct inet_diag_msg and its attributes, aligned
 * to four bytes. False, with `sample` as it was, if its peer is local, or it has no tcp_info, as
 * listeners have none, or is malformed.
 */
bool sample_parse(struct riptide_sample *sample, const void *payload, size_t len);

#endif
