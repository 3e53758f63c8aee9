/* SPDX-License-Identifier: MIT */
/*
 * Any scope on any socket: the byte code of the filter says what the plain evaluation says, and is
 * what the kernel takes. What the bytes mean is in tests/unit/scope_case.h.
 */
#include "scope_case.h"

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scope_case_run(data, n);
    return 0;
}
