/* SPDX-License-Identifier: MIT */
/*
 * One inet_diag message -> one sample, or the reason why it is none. Pure. Which destinations are
 * the host's own and which are in scope is the observer's question.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SAMPLE_H
#define RIPTIDE_LIB_OBSERVE_SAMPLE_H

#include <riptide/observe.h>

enum sample_verdict {
    SAMPLE_OK,
    SAMPLE_LOOPBACK,
    SAMPLE_MULTICAST, /* broadcast and unspecified too */
    SAMPLE_LINK_LOCAL,
    SAMPLE_NO_INFO,
    SAMPLE_MALFORMED,
};

/*
 * Reads the payload of a message about a socket: struct inet_diag_msg and its attributes,
 * aligned to four bytes. `sample` is written with SAMPLE_OK alone.
 */
enum sample_verdict sample_parse(struct riptide_sample *sample, const void *payload, size_t len);

#endif
