/* SPDX-License-Identifier: MIT */
/*
 * Netlink messages from any bytes, as a reader of a socket passes them on: each has at least a
 * header, and is in memory of its own size, so that a read after its end is detected.
 */
#ifndef RIPTIDE_FUZZ_MESSAGES_H
#define RIPTIDE_FUZZ_MESSAGES_H

#include "target.h"

#include <linux/netlink.h>
#include <string.h>

/* The next message, which the caller frees; NULL after the last. */
static inline struct nlmsghdr *messages_next(struct case_bytes *bytes)
{
    struct nlmsghdr header, *message;
    size_t step;

    if (bytes->left < sizeof(header))
        return NULL;
    memcpy(&header, bytes->at, sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > bytes->left)
        return NULL;
    message = malloc(header.nlmsg_len);
    CASE_CHECK(message);
    memcpy(message, bytes->at, header.nlmsg_len);
    step = NLMSG_ALIGN(header.nlmsg_len);
    if (step > bytes->left)
        step = bytes->left;
    bytes->at += step;
    bytes->left -= step;
    return message;
}

#endif
