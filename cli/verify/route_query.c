/* SPDX-License-Identifier: MIT */
/*
 * RTM_GETROUTE with the connection's own addresses, ports, mark, user and device.
 */
#include "route_query.h"

#include "initcwnd.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <string.h>

static int address_bytes(uint8_t family)
{
    return family == AF_INET ? 4 : 16;
}

static int put_attributes(struct nl_msg *message, const struct probe *probe, uint32_t uid,
                          uint32_t ifindex)
{
    int n = address_bytes(probe->peer.family);
    int r = nla_put(message, RTA_DST, n, probe->peer.addr);

    if (r == 0 && probe->source.family)
        r = nla_put(message, RTA_SRC, n, probe->source.addr);
    if (r == 0)
        r = nla_put_u8(message, RTA_IP_PROTO, IPPROTO_TCP);
    if (r == 0 && probe->source_port)
        r = nla_put_u16(message, RTA_SPORT, htons(probe->source_port));
    if (r == 0 && probe->peer_port)
        r = nla_put_u16(message, RTA_DPORT, htons(probe->peer_port));
    if (r == 0)
        r = nla_put_u32(message, RTA_UID, uid);
    if (r == 0 && probe->mark)
        r = nla_put_u32(message, RTA_MARK, probe->mark);
    if (r == 0 && ifindex)
        r = nla_put_u32(message, RTA_OIF, ifindex);
    return r;
}

struct nl_msg *route_query_new(const struct probe *probe, uint32_t uid, uint32_t ifindex)
{
    struct nl_msg *message = nlmsg_alloc_simple(RTM_GETROUTE, 0);
    struct rtmsg header = {
        .rtm_family = probe->peer.family,
        .rtm_dst_len = probe->peer.len,
        .rtm_src_len = probe->source.len,
        /* The route itself, and the table that it is from. */
        .rtm_flags = RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE,
    };

    if (message && (nlmsg_append(message, &header, sizeof(header), NLMSG_ALIGNTO) < 0 ||
                    put_attributes(message, probe, uid, ifindex) < 0)) {
        nlmsg_free(message);
        return NULL;
    }
    return message;
}

static void read_attribute(struct route_answer *answer, const struct nlattr *attribute)
{
    int n = address_bytes(answer->match.family);

    switch (nla_type(attribute)) {
    case RTA_TABLE:
        if (nla_len(attribute) == sizeof(uint32_t))
            answer->table = nla_get_u32(attribute);
        break;
    case RTA_DST:
        if (nla_len(attribute) == n)
            memcpy(answer->match.addr, nla_data(attribute), (size_t)n);
        break;
    case RTA_METRICS:
        answer->initcwnd = initcwnd_find(attribute);
        break;
    }
}

void route_query_read(const struct nlmsghdr *message, struct route_answer *answer)
{
    const struct rtmsg *header = nlmsg_data(message);
    const struct nlmsgerr *error = nlmsg_data(message);
    const struct nlattr *attribute;
    int remaining;

    *answer = (struct route_answer){ .error = -EBADMSG };
    if (message->nlmsg_type == NLMSG_ERROR && nlmsg_valid_hdr(message, sizeof(*error)) &&
        error->error < 0)
        answer->error = error->error;
    if (message->nlmsg_type != RTM_NEWROUTE || !nlmsg_valid_hdr(message, sizeof(*header)))
        return;
    *answer = (struct route_answer){
        .match = { .family = header->rtm_family, .len = header->rtm_dst_len },
        .table = header->rtm_table,
        .protocol = header->rtm_protocol,
    };
    nlmsg_for_each_attr(attribute, message, sizeof(*header), remaining)
        read_attribute(answer, attribute);
}
