/* SPDX-License-Identifier: MIT */
/*
 * Makes calls of the library fail, each in its turn. The functions of libc that the library and its
 * netlink libraries call are defined in shim.c; a program that links it has them in libc's place.
 */
#ifndef RIPTIDE_TESTS_SHIM_H
#define RIPTIDE_TESTS_SHIM_H

#include <stdbool.h>
#include <stdint.h>

enum shim_kind {
    SHIM_ALLOCATION, /* malloc and its kin; always ENOMEM */
    SHIM_CALL,       /* a system call, where `error` is one that it can give */
    SHIM_REQUEST,    /* a netlink request: the kernel does nothing and answers with `error` */
    SHIM_SHORT,      /* a read or write of a file: one byte, as a signal may leave it; no error */
};

struct shim_plan {
    enum shim_kind kind;
    int error;       /* errno */
    uint32_t n;      /* which of them is the first to fail, from 1; 0: none */
    uint32_t n_fail; /* how many fail, one after the other */
};

extern struct shim {
    bool is_following; /* else what the test does itself succeeds */
    uint32_t n_failed; /* calls */
    int64_t n_blocks;  /* that were allocated while the plan was followed, less those freed */
} shim;

/* From now on, follow the plan. */
void shim_start(const struct shim_plan *plan);

#endif
