/* SPDX-License-Identifier: MIT */
/*
 * A scope, and a slice of the connections, as byte code for the kernel. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_OBSERVE_FILTER_H
#define RIPTIDE_LIB_OBSERVE_FILTER_H

#include "observe/byte_code.h"
#include "observe/scope_tree.h"

/*
 * How much code a scope may become. Before each dump the kernel checks the code, in a time that
 * grows with its square: see docs/decisions.md for the figures.
 */
#define FILTER_MAX_SCOPE_BYTES 49152

struct filter {
    const struct riptide_scope *scope; /* not ours */
    struct scope_tree tree;
    unsigned char *buffer;    /* of BYTE_CODE_MAX_BYTES */
    struct byte_code code;    /* of the slice compiled last; of all at first */
    int max_len;              /* longest prefix told exactly, bits; IPv4 ones count from 96 on */
    enum riptide_filter kind; /* how much of the scope is in the code */
};

/* The scope must stay. Errors: -ENOMEM; the filter is to be freed nevertheless. */
int filter_init(struct filter *filter, const struct riptide_scope *scope);
void filter_deinit(struct filter *filter);

/* Compiles for slice number `slice` of `slices`. Each connection is in one of them. */
void filter_take_slice(struct filter *filter, uint32_t slice, uint32_t slices);

/* In which of `slices` the connection is. */
uint32_t filter_slice_of(const struct riptide_sample *sample, uint32_t slices);

/* The code, for sockets of both families; of no bytes where it accepts everything. */
const void *filter_get(const struct filter *filter, size_t *n_bytesp);

/* The same as riptide_scope_matches, but quick for many prefixes. */
bool filter_matches(const struct filter *filter, const struct riptide_sample *sample);

#endif
