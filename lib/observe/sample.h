/* SPDX-License-Identifier: MIT */
/*
 * One inet_diag message becomes one sample, or the reason why it is none. Pure. The observer
 * decides which destinations are the host's own and which are in scope.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SAMPLE_H
#define RIPTIDE_LIB_OBSERVE_SAMPLE_H

#include <riptide/observe.h>

enum sample_verdict {
    SAMPLE_OK,
    SAMPLE_LOCAL, /* loopback, link-local; multicast, broadcast and unspecified, as of listeners */
    SAMPLE_NO_INFO,
    SAMPLE_MALFORMED,
};

/*
 * Reads the payload of a message about a socket: struct inet_diag_msg and its attributes, aligned
 * to four bytes. Writes `sample` only with SAMPLE_OK.
 */
enum sample_verdict sample_parse(struct riptide_sample *sample, const void *payload, size_t len);

/* Whether the address, of one of both families, is of SAMPLE_LOCAL. */
bool sample_is_local(uint8_t family, const void *address);

#endif
