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

/* An attribute's payload; at 0 there is none. */
struct sample_span {
    uint32_t at; /* in the message */
    uint32_t n_bytes;
};

/*
 * Where the attributes of the last message lay. They lie alike in nearly all messages of a kernel,
 * and to see that they do takes less than half of finding them. All zero: nothing is known.
 */
struct sample_layout {
    size_t len; /* of the message; 0: it is not to be compared with */
    uint32_t n;
    struct {
        uint32_t at;
        uint32_t header; /* length and type */
    } attributes[8];
    struct sample_span info, mark, congestion_control;
};

/*
 * Reads the payload of a message about a socket: struct inet_diag_msg and its attributes,
 * aligned to four bytes. `sample` is written with SAMPLE_OK alone; what comes out does not depend
 * on `layout`, whatever it was.
 */
enum sample_verdict sample_parse(struct riptide_sample *sample, struct sample_layout *layout,
                                 const void *payload, size_t len);

#endif
