/* SPDX-License-Identifier: MIT */
/*
 * What a netlink message is to the dump that was asked for: answers told from strays and from what
 * older requests left behind. Pure. What follows from it is dump.c's.
 */
#ifndef RIPTIDE_LIB_OBSERVE_REPLY_H
#define RIPTIDE_LIB_OBSERVE_REPLY_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

struct reply_expected {
    uint32_t seq;
    uint32_t portid;
    uint16_t type; /* of the messages that carry data */
    bool is_idle;  /* no request has that sequence number yet: nothing can be an answer */
};

enum reply_kind {
    REPLY_NOTHING, /* no meaning for anybody */
    REPLY_DATA,
    REPLY_END,   /* of our dump; `error` tells how it went */
    REPLY_OLD,   /* for a request of ours that was given up */
    REPLY_STRAY, /* not for us, or not what it claims */
};

struct reply {
    enum reply_kind kind;
    bool interrupted; /* what was dumped changed meanwhile */
    int error;        /* 0 or -errno */
};

struct reply reply_read(const struct nlmsghdr *message, const struct reply_expected *expected);

/* Whether it is data of ours, uninterrupted: nearly every message is, so that most need no more. */
static inline bool reply_is_data(const struct nlmsghdr *message,
                                 const struct reply_expected *expected)
{
    return message->nlmsg_type == expected->type && message->nlmsg_seq == expected->seq &&
           message->nlmsg_pid == expected->portid && !(message->nlmsg_flags & NLM_F_DUMP_INTR);
}

#endif
