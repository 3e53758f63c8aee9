/* SPDX-License-Identifier: MIT */
/*
 * A scope as byte code for the kernel (INET_DIAG_REQ_BYTECODE). Pure but for memory.
 */
#ifndef RIPTIDE_LIB_OBSERVE_FILTER_H
#define RIPTIDE_LIB_OBSERVE_FILTER_H

#include "observe/prefix_set.h"

#include <riptide/observe.h>

/*
 * How much code a scope may become. Before each dump the kernel checks the code, in a time that
 * grows with its square: see docs/decisions.md for the figures.
 */
#define FILTER_MAX_BYTES 49152

/* Byte code as far as it is written: from its end to its start. */
struct byte_code {
    unsigned char *end; /* of a buffer that is aligned to four bytes */
    int n_bytes;  /* so far, and the place of the front */
    bool is_full; /* something did not fit: the code is of no use */
};

struct filter {
    const struct riptide_scope *scope; /* not ours */
    struct prefix_set prefixes;
    unsigned char *buffer;    /* of FILTER_MAX_BYTES */
    struct byte_code code;
    int max_len;              /* longest span matched exactly, bits; IPv4 ones count from 96 on */
    int span_len;             /* of all prefixes of a family, bits */
    double blurred;           /* share of that span that is let through unmatched */
    bool pays;                /* less than half of it, in one family at least */
    enum riptide_filter kind; /* how much of the scope is in the code */
};

/* The scope must stay. Errors: -ENOMEM; the filter is to be freed nevertheless. */
int filter_init(struct filter *filter, const struct riptide_scope *scope);
void filter_deinit(struct filter *filter);

/* The code, for sockets of both families; of no bytes where it accepts everything. */
const void *filter_get(const struct filter *filter, size_t *n_bytesp);

/* The same as riptide_scope_matches, but quick for many prefixes. */
bool filter_matches(const struct filter *filter, const struct riptide_sample *sample);

#endif
