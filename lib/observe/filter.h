/* SPDX-License-Identifier: MIT */
/*
 * A scope, for the observer and as byte code for the kernel (INET_DIAG_REQ_BYTECODE). Pure except
 * for memory.
 */
#ifndef RIPTIDE_LIB_OBSERVE_FILTER_H
#define RIPTIDE_LIB_OBSERVE_FILTER_H

#include "prefix_set.h"

#include <riptide/observe.h>

enum {
    /* The kernel checks the code before each dump, in a time that grows with the square of it. */
    FILTER_MAX_PREFIXES = 256,
    FILTER_MAX_PORT_RANGES = 256, /* of each side */
    FILTER_MAX_BYTES = 32768,
};

/* None: all ports. */
struct ports {
    struct riptide_port_range ranges[FILTER_MAX_PORT_RANGES];
    size_t n;
};

struct filter {
    struct ports local, remote;
    struct prefix_set prefixes;
    bool is_partial; /* too many prefixes: the code tests only ports */
    int n_bytes;     /* of the code, which is written from the end of its room */
    _Alignas(4) unsigned char code[FILTER_MAX_BYTES];
};

/* From all zero, by a checked scope. Errors: -ENOMEM; call filter_deinit even then. */
int filter_init(struct filter *filter, const struct riptide_scope *scope);
void filter_deinit(struct filter *filter);

/* The code, for sockets of both families; 0 bytes: it accepts all. */
const void *filter_get(const struct filter *filter, size_t *n_bytesp);

/* Whether the scope contains this connection. */
bool filter_matches(const struct filter *filter, const struct riptide_sample *sample);

#endif
