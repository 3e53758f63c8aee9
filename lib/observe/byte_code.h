/* SPDX-License-Identifier: MIT */
/*
 * Assembles the byte code of an inet_diag filter (INET_DIAG_REQ_BYTECODE), from its end to its
 * start: the kernel takes forward jumps only, so every place that one leads to is there already.
 * Pure. What to ask in which order is filter.c's.
 */
#ifndef RIPTIDE_LIB_OBSERVE_BYTE_CODE_H
#define RIPTIDE_LIB_OBSERVE_BYTE_CODE_H

#include <riptide/riptide.h>

/* As much as an attribute holds: 16 bits count its header, too. */
#define BYTE_CODE_MAX_BYTES 65528

/*
 * A place is its distance from the end in bytes. To run into the end accepts a socket; to jump four
 * bytes past it, which is as far as the kernel lets us, rejects.
 */
enum { PLACE_ACCEPT = 0, PLACE_REJECT = -4 };

struct byte_code {
    unsigned char *end; /* of a buffer that is aligned to four bytes */
    int max_bytes;
    int n_bytes;  /* so far, and the place of the front */
    bool is_full; /* something did not fit: the code is of no use */
};

enum byte_code_side { SIDE_LOCAL, SIDE_REMOTE };

/* Makes the front lead to that place, if it does not yet. */
void byte_code_lead_to(struct byte_code *code, int place);

/*
 * Each puts a test in front: the socket that passes goes on with what was the front, any other at
 * that place. They return the new front.
 */
int byte_code_test_prefix(struct byte_code *code, const struct riptide_prefix *dst, int otherwise);
int byte_code_test_port(struct byte_code *code, enum byte_code_side side, uint16_t min,
                        int otherwise);
int byte_code_test_mark(struct byte_code *code, uint32_t mark, uint32_t mask, int otherwise);
int byte_code_test_interface(struct byte_code *code, uint32_t ifindex, int otherwise);

#endif
