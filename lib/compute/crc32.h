/*
 * CRC-32 as in Ethernet, gzip and PNG (IEEE 802.3, reflected polynomial 0xedb88320). Pure.
 */
#ifndef RIPTIDE_LIB_COMPUTE_CRC32_H
#define RIPTIDE_LIB_COMPUTE_CRC32_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t crc32(const unsigned char *bytes, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

#endif
