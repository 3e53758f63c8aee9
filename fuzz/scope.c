/* SPDX-License-Identifier: MIT */
/*
 * Any scope on any socket: the filter's byte code agrees with the plain evaluation, and the kernel
 * accepts it. tests/unit/scope_case.h describes the bytes.
 */
#include "scope_case.h"

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scope_case_run(data, n);
    return 0;
}
