/* SPDX-License-Identifier: MIT */
/*
 * Address prefixes: text to bytes and back, containment. Pure.
 */
#include "prefix.h"

#include "internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

const uint8_t families[2] = { AF_INET, AF_INET6 };

bool prefix_is_valid(const struct riptide_prefix *prefix)
{
    uint8_t bits = prefix_family_bits(prefix->family);

    /* With bits after its length it would not be in the range that it spans. */
    return bits > 0 && prefix->len <= bits && prefix_contains(prefix, prefix);
}

int prefix_compare(const void *a, const void *b)
{
    const struct riptide_prefix *left = a, *right = b;
    uint64_t a_words[2], b_words[2];

    if (left->family != right->family)
        return left->family == AF_INET ? -1 : 1;
    memcpy(a_words, left->addr, sizeof(a_words));
    memcpy(b_words, right->addr, sizeof(b_words));
    for (int i = 0; i < 2; i++) {
        if (a_words[i] != b_words[i])
            return be64toh(a_words[i]) < be64toh(b_words[i]) ? -1 : 1;
    }
    return left->len - right->len;
}

uint32_t prefix_find_last(const void *sorted, uint32_t n, size_t size,
                          const struct riptide_prefix *dst)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (prefix_compare((const char *)sorted + middle * size, dst) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

void prefix_truncate(struct riptide_prefix *prefix, uint8_t len)
{
    size_t whole = len / 8;

    prefix->len = len;
    if (whole >= sizeof(prefix->addr))
        return;
    prefix->addr[whole] &= (uint8_t)(0xff00 >> (len % 8));
    memset(prefix->addr + whole + 1, 0, sizeof(prefix->addr) - whole - 1);
}

RIPTIDE_PUBLIC int riptide_prefix_parse(struct riptide_prefix *prefix, const char *text)
{
    uint8_t bytes[16], family = strchr(text, ':') ? AF_INET6 : AF_INET;
    char address[RIPTIDE_PREFIX_TEXT_BYTES];
    size_t n = strcspn(text, "/");
    struct riptide_prefix parsed;
    unsigned long len;
    char *end;

    if (n >= sizeof(address))
        return -EINVAL;
    memcpy(address, text, n);
    address[n] = '\0';
    if (inet_pton(family, address, bytes) != 1)
        return -EINVAL;
    len = prefix_family_bits(family);
    if (text[n]) {
        len = strtoul(text + n + 1, &end, 10);
        /* strtoul would accept a sign or a blank. */
        if (!isdigit((unsigned char)text[n + 1]) || *end || len > prefix_family_bits(family))
            return -EINVAL;
    }
    prefix_from_address(&parsed, family, bytes);
    /* Of a shorter one this wraps to a length that no IPv4 prefix has. */
    if (parsed.family != family)
        len -= 96;
    parsed.len = (uint8_t)len;
    if (!prefix_is_valid(&parsed))
        return -EINVAL;
    *prefix = parsed;
    return 0;
}

RIPTIDE_PUBLIC void riptide_prefix_format(const struct riptide_prefix *prefix,
                                          char text[RIPTIDE_PREFIX_TEXT_BYTES])
{
    char address[INET6_ADDRSTRLEN];

    if (!inet_ntop(prefix->family, prefix->addr, address, sizeof(address)))
        snprintf(text, RIPTIDE_PREFIX_TEXT_BYTES, "?");
    else if (prefix->len == prefix_family_bits(prefix->family))
        snprintf(text, RIPTIDE_PREFIX_TEXT_BYTES, "%s", address);
    else
        snprintf(text, RIPTIDE_PREFIX_TEXT_BYTES, "%s/%u", address, prefix->len);
}

bool prefix_contains(const struct riptide_prefix *outer, const struct riptide_prefix *inner)
{
    struct riptide_prefix around = *inner;

    if (outer->len > inner->len)
        return false;
    prefix_truncate(&around, outer->len);
    return prefix_equal(outer, &around);
}

static bool is_local_v4(const uint8_t address[4])
{
    uint32_t word;

    memcpy(&word, address, sizeof(word));
    return word == INADDR_ANY || word == INADDR_BROADCAST || address[0] == 127 ||
           (address[0] & 0xf0) == 224 || (address[0] == 169 && address[1] == 254);
}

static bool is_local_v6(const uint8_t address[16])
{
    static const uint8_t zero[15];

    return address[0] == 0xff || (address[0] == 0xfe && (address[1] & 0xc0) == 0x80) ||
           (address[15] <= 1 && memcmp(address, zero, sizeof(zero)) == 0);
}

bool address_is_local(uint8_t family, const void *address)
{
    if (family == AF_INET)
        return is_local_v4(address);
    if (address_is_v4_mapped(address))
        return is_local_v4((const uint8_t *)address + 12);
    return is_local_v6(address);
}
