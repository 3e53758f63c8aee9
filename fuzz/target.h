/* SPDX-License-Identifier: MIT */
/*
 * What each target is, to libFuzzer and to replay.c: a function that takes any bytes and aborts
 * where something does not hold. Returns 0.
 */
#ifndef RIPTIDE_FUZZ_TARGET_H
#define RIPTIDE_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
