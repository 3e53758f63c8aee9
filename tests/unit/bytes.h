/* SPDX-License-Identifier: MIT */
/*
 * Netlink messages built attribute by attribute, for tests of what reads them.
 */
#ifndef RIPTIDE_TESTS_BYTES_H
#define RIPTIDE_TESTS_BYTES_H

#include "unit.h"

#include <linux/netlink.h>
#include <riptide/riptide.h>
#include <sys/socket.h>

struct bytes {
    _Alignas(NLMSG_ALIGNTO) unsigned char data[8192];
};

static inline struct nlmsghdr *bytes_message(struct bytes *bytes)
{
    return (struct nlmsghdr *)bytes->data;
}

/* What stands behind the netlink header: struct rtmsg, struct fib_rule_hdr, struct nhmsg. */
static inline void *bytes_header(struct bytes *bytes)
{
    return bytes->data + NLMSG_HDRLEN;
}

static inline void bytes_begin(struct bytes *bytes, uint16_t type, const void *header, size_t n)
{
    /* Not zero: what is read behind the end must show. */
    memset(bytes->data, 0xdd, sizeof(bytes->data));
    *bytes_message(bytes) =
        (struct nlmsghdr){ .nlmsg_len = (uint32_t)NLMSG_LENGTH(n), .nlmsg_type = type };
    memcpy(bytes_header(bytes), header, n);
}

static inline void bytes_put(struct bytes *bytes, int type, const void *payload, size_t n)
{
    struct nlmsghdr *message = bytes_message(bytes);
    uint16_t header[2] = { (uint16_t)(sizeof(struct nlattr) + n), (uint16_t)type };
    size_t at = NLMSG_ALIGN(message->nlmsg_len);

    assert_true(at + sizeof(struct nlattr) + NLMSG_ALIGN(n) <= sizeof(bytes->data));
    memset(bytes->data + at, 0, sizeof(struct nlattr) + NLMSG_ALIGN(n));
    memcpy(bytes->data + at, header, sizeof(header));
    if (n > 0)
        memcpy(bytes->data + at + sizeof(struct nlattr), payload, n);
    message->nlmsg_len = (uint32_t)(at + sizeof(struct nlattr) + NLMSG_ALIGN(n));
}

static inline void bytes_put_u8(struct bytes *bytes, int type, uint8_t value)
{
    bytes_put(bytes, type, &value, sizeof(value));
}

static inline void bytes_put_u32(struct bytes *bytes, int type, uint32_t value)
{
    bytes_put(bytes, type, &value, sizeof(value));
}

/* Where the attribute begins whose payload the next ones are. */
static inline size_t bytes_nest(struct bytes *bytes, int type)
{
    size_t at = bytes_message(bytes)->nlmsg_len;

    bytes_put(bytes, type, NULL, 0);
    return at;
}

static inline void bytes_nest_end(struct bytes *bytes, size_t at)
{
    uint16_t len = (uint16_t)(bytes_message(bytes)->nlmsg_len - at);

    memcpy(bytes->data + at, &len, sizeof(len));
}

static inline struct riptide_prefix prefix(const char *text)
{
    struct riptide_prefix parsed;

    assert_int_equal(riptide_prefix_parse(&parsed, text), 0);
    return parsed;
}

/* An address in as many bytes as its family has. */
static inline void bytes_put_address(struct bytes *bytes, int type, const char *text)
{
    struct riptide_prefix address = prefix(text);

    bytes_put(bytes, type, address.addr, address.family == AF_INET ? 4 : 16);
}

/* Whether a message of n bytes ends where an attribute does: no reader can tell it from a whole. */
static inline bool bytes_is_boundary(const struct bytes *bytes, size_t header_n, size_t n)
{
    size_t at = NLMSG_SPACE(header_n);
    uint16_t len;

    while (at < n) {
        memcpy(&len, bytes->data + at, sizeof(len));
        /* Missing padding is nothing that is missing. */
        if (n >= at + len && n <= at + NLMSG_ALIGN(len))
            return true;
        at += NLMSG_ALIGN(len);
    }
    return at == n;
}

/*
 * The first n bytes as a message in memory of its own, so that valgrind and sanitizers see a read
 * behind its end. Free it.
 */
static inline struct nlmsghdr *bytes_cut(const struct bytes *bytes, size_t n)
{
    struct nlmsghdr *message = malloc(n);

    assert_non_null(message);
    memcpy(message, bytes->data, n);
    message->nlmsg_len = (uint32_t)n;
    return message;
}

/* That a message cut anywhere but between attributes is refused. */
static inline void bytes_check_cuts(const struct bytes *bytes, size_t header_n,
                                    bool (*parses)(const struct nlmsghdr *message))
{
    size_t n_bytes = ((const struct nlmsghdr *)bytes->data)->nlmsg_len;
    size_t first_accepted = 0;

    for (size_t n = NLMSG_HDRLEN; n <= n_bytes; n++) {
        struct nlmsghdr *message = bytes_cut(bytes, n);
        bool is_accepted = parses(message);

        free(message);
        if (is_accepted && !bytes_is_boundary(bytes, header_n, n) && !first_accepted)
            first_accepted = n;
        if (!is_accepted && n == n_bytes)
            fail_msg("the whole message is refused");
    }
    if (first_accepted)
        fail_msg("cut to %zu bytes it is accepted", first_accepted);
}

#endif
