/* SPDX-License-Identifier: MIT */
/*
 * CRC-32 as in Ethernet, gzip and PNG (IEEE 802.3, reflected polynomial 0xedb88320). Pure.
 */
#ifndef RIPTIDE_LIB_COMPUTE_CRC32_H
#define RIPTIDE_LIB_COMPUTE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Four bits at a time: a state of 10,000 destinations is half a megabyte, and rounds wait for it.
 */
static inline uint32_t crc32(const unsigned char *bytes, size_t n)
{
    static const uint32_t of_nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ of_nibble[crc & 15];
        crc = crc >> 4 ^ of_nibble[crc & 15];
    }
    return ~crc;
}

#endif
