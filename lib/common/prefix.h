/* SPDX-License-Identifier: MIT */
/* Functions on prefixes beyond the public ones. Pure. */
#ifndef RIPTIDE_LIB_PREFIX_H
#define RIPTIDE_LIB_PREFIX_H

#include <riptide/riptide.h>
#include <string.h>
#include <sys/socket.h>

/* Both families, in the order of arrays with one element for each. */
extern const uint8_t families[2];

/* Index of a family in such arrays. */
static inline int family_index(uint8_t family)
{
    return family == AF_INET6;
}

/* Bits of an address of that family; 0 for a family that is neither IPv4 nor IPv6. */
static inline uint8_t prefix_family_bits(uint8_t family)
{
    return family == AF_INET ? 32 : family == AF_INET6 ? 128 : 0;
}

static inline bool prefix_is_host(const struct riptide_prefix *prefix)
{
    return prefix->len == prefix_family_bits(prefix->family);
}

/* Whether `outer` contains every address of `inner`. */
bool prefix_contains(const struct riptide_prefix *outer, const struct riptide_prefix *inner);

/* Known family, length within it, no host bits. */
bool prefix_is_valid(const struct riptide_prefix *prefix);

static inline bool prefix_is_valid_host(const struct riptide_prefix *prefix)
{
    return prefix_is_valid(prefix) && prefix_is_host(prefix);
}

/* Whether both are the same prefix. Inline, as it runs once for every socket of the host. */
static inline bool prefix_equal(const struct riptide_prefix *a, const struct riptide_prefix *b)
{
    uint64_t words_a[2], words_b[2];
    uint16_t head_a, head_b; /* family and length */

    memcpy(words_a, a->addr, sizeof(words_a));
    memcpy(words_b, b->addr, sizeof(words_b));
    memcpy(&head_a, a, sizeof(head_a));
    memcpy(&head_b, b, sizeof(head_b));
    return words_a[0] == words_b[0] && words_a[1] == words_b[1] && head_a == head_b;
}

/*
 * For qsort(3), of structs that begin with their prefix: IPv4 before IPv6, then by address, wider
 * prefixes first.
 */
int prefix_compare(const void *a, const void *b);

/*
 * Of n structs of that size, sorted by prefix_compare: the index of the last one that is not beyond
 * `dst`, as the one around it; UINT32_MAX, the index before 0: there is none.
 */
uint32_t prefix_find_last(const void *sorted, uint32_t n, size_t size,
                          const struct riptide_prefix *dst);

/* Shortens to `len` bits. */
void prefix_truncate(struct riptide_prefix *prefix, uint8_t len);

/* Of 16 bytes: whether they are an IPv4-mapped address, with IPv4 in the last four. */
static inline bool address_is_v4_mapped(const void *address)
{
    static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

    return memcmp(address, v4_mapped, sizeof(v4_mapped)) == 0;
}

/*
 * The address in network byte order as a prefix of full length; IPv4-mapped becomes IPv4. Written
 * in the words in which prefix_equal and the hash read it next: a load wider than the store
 * before it stalls.
 */
static inline void prefix_from_address(struct riptide_prefix *prefix, uint8_t family,
                                       const void *address)
{
    uint64_t words[2] = { 0 };

    if (family == AF_INET6 && address_is_v4_mapped(address)) {
        family = AF_INET;
        address = (const uint8_t *)address + 12;
    }
    if (family == AF_INET6)
        memcpy(words, address, sizeof(words));
    else
        memcpy(words, address, 4);
    prefix->family = family;
    prefix->len = prefix_family_bits(family);
    memcpy(prefix->addr, &words[0], sizeof(words[0]));
    memcpy(prefix->addr + sizeof(words[0]), &words[1], sizeof(words[1]));
}

/* Loopback, link-local, multicast, broadcast or unspecified: no peer on a path has it. */
bool address_is_local(uint8_t family, const void *address);

#endif
