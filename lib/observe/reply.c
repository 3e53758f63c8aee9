/* SPDX-License-Identifier: MIT */
/*
 * Netlink headers to what they mean for one dump. The whole of netlink's sequence numbers, port
 * ids, errors and interruptions is here; no socket is.
 */
#include "observe/reply.h"

#include "netlink.h"

#include <errno.h>
#include <string.h>

/*
 * How a dump ended. Both NLMSG_ERROR and NLMSG_DONE begin with an int; 0 in an NLMSG_ERROR is an
 * acknowledgement, which does not end a dump and which we do not ask for.
 */
static struct reply read_end(const struct nlmsghdr *message)
{
    int32_t error = 0;

    if (netlink_has_header(message, sizeof(error)))
        memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
    else if (message->nlmsg_type == NLMSG_ERROR)
        return (struct reply){ .kind = REPLY_STRAY };
    if (message->nlmsg_type == NLMSG_ERROR && error == 0)
        return (struct reply){ .kind = REPLY_NOTHING };
    return (struct reply){ .kind = REPLY_END, .error = error < 0 ? error : 0 };
}

struct reply reply_read(const struct nlmsghdr *message, const struct reply_expected *expected)
{
    struct reply reply = { .kind = REPLY_STRAY };
    /* Sequence numbers count up, so a difference tells old from never sent, across the wrap too. */
    int32_t age = (int32_t)(expected->seq - message->nlmsg_seq);

    if (message->nlmsg_pid != expected->portid || age < 0 || (age == 0 && expected->is_idle))
        return reply;
    switch (message->nlmsg_type) {
    case NLMSG_NOOP:
        reply.kind = REPLY_NOTHING;
        break;
    case NLMSG_OVERRUN:
        reply = (struct reply){ .kind = REPLY_END, .error = -ENOBUFS };
        break;
    case NLMSG_DONE:
    case NLMSG_ERROR:
        reply = read_end(message);
        break;
    default:
        if (message->nlmsg_type == expected->type)
            reply.kind = REPLY_DATA;
    }
    if (age > 0 && (reply.kind == REPLY_DATA || reply.kind == REPLY_END))
        reply.kind = REPLY_OLD;
    /* Some kernel versions mark one message only, which may be the last. */
    if (reply.kind == REPLY_DATA || reply.kind == REPLY_END)
        reply.interrupted = message->nlmsg_flags & NLM_F_DUMP_INTR;
    return reply;
}
