/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* That arms can be drawn in the kernel: nothing here that its compiler refuses. */
#include "verdict/arm.h"

int draw(__u64 cookie, __u64 seed, __u32 holdout);

int draw(__u64 cookie, __u64 seed, __u32 holdout)
{
    return arm_of(cookie, seed, holdout);
}
