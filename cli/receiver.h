/* SPDX-License-Identifier: MIT */
/*
 * What a receiver must be set to so that it takes a first flight. Pure.
 */
#ifndef CLI_RECEIVER_H
#define CLI_RECEIVER_H

#include <stdint.h>

/* The segment size of Ethernet without options, for figures that must not depend on a path. */
#define TYPICAL_MSS_BYTES 1460

/* The middle value of net.ipv4.tcp_rmem; the kernel keeps half of it for its own overhead. */
static inline uint64_t receiver_rmem_bytes(uint32_t segments)
{
    return UINT64_C(2) * segments * TYPICAL_MSS_BYTES;
}

#endif
