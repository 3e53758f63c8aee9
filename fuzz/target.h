/* SPDX-License-Identifier: MIT */
/*
 * A target, for libFuzzer and for replay.c: a function that takes any bytes, aborts if a property
 * does not hold, and returns 0.
 */
#ifndef RIPTIDE_FUZZ_TARGET_H
#define RIPTIDE_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
