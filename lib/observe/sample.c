/* SPDX-License-Identifier: MIT */
/*
 * Parses one inet_diag message into a sample: the only file that uses struct inet_diag_msg and
 * struct tcp_info. Runs once for every socket of the host. Pure.
 */
#include "observe/sample.h"

#include "netlink.h"
#include "prefix.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <string.h>

/* Netlink aligns to four bytes, so 64-bit members may be misaligned. */
struct tcp_info_at4 {
    struct tcp_info tcp;
} __attribute__((packed, aligned(4), may_alias));

/* tcp_info has grown, but was never shorter than this; a sample without a window has no use. */
#define INFO_MIN_BYTES (offsetof(struct tcp_info, tcpi_snd_cwnd) + sizeof(uint32_t))

/* Those of a message that a sample is made of; NULL: it has none. */
struct attributes {
    const struct nlattr *info;
    const struct nlattr *cgroup_id;
};

/* False if the attributes do not fill the message exactly: then none can be trusted. */
static inline bool find_attributes(struct attributes *found, const void *payload, size_t len)
{
    struct netlink_walk walk = { (const void *)((const struct inet_diag_msg *)payload + 1),
                                 len - sizeof(struct inet_diag_msg) };
    const struct nlattr *attr;

    while ((attr = netlink_next(&walk))) {
        const int type = attr->nla_type & NLA_TYPE_MASK;

        if (type == INET_DIAG_INFO)
            found->info = attr;
        else if (type == INET_DIAG_CGROUP_ID)
            found->cgroup_id = attr;
    }
    return walk.left == 0;
}

bool sample_parse(struct riptide_sample *sample, const void *payload, size_t len)
{
    const struct inet_diag_msg *msg = payload;
    struct attributes found = { NULL, NULL };
    const struct tcp_info_at4 *info;
    struct tcp_info_at4 copy;
    size_t n_bytes;

    if (len < sizeof(*msg) || prefix_family_bits(msg->idiag_family) == 0 ||
        address_is_local(msg->idiag_family, msg->id.idiag_dst) ||
        !find_attributes(&found, payload, len) || !found.info)
        return false;
    info = (const void *)(found.info + 1);
    n_bytes = found.info->nla_len - sizeof(*found.info);
    if (n_bytes < INFO_MIN_BYTES || info->tcp.tcpi_snd_cwnd == 0)
        return false;

    /* That of an older kernel; the usual one is read in place, without a call. */
    if (n_bytes < sizeof(copy)) {
        memset(&copy, 0, sizeof(copy));
        info = memcpy(&copy, info, n_bytes);
    }
    /* Written in place, in the words in which it is read next. */
    prefix_from_address(&sample->dst, msg->idiag_family, msg->id.idiag_dst);
    sample->cookie = (uint64_t)msg->id.idiag_cookie[1] << 32 | msg->id.idiag_cookie[0];
    sample->cwnd = info->tcp.tcpi_snd_cwnd;
    sample->ssthresh_segs = info->tcp.tcpi_snd_ssthresh;
    sample->rtt_us = info->tcp.tcpi_rtt;
    /* All ones: not measured yet. */
    sample->min_rtt_us = info->tcp.tcpi_min_rtt == UINT32_MAX ? 0 : info->tcp.tcpi_min_rtt;
    sample->mss_bytes = info->tcp.tcpi_snd_mss;
    sample->pmtu_bytes = info->tcp.tcpi_pmtu;
    sample->data_segs_out = info->tcp.tcpi_data_segs_out;
    sample->retrans_segs = info->tcp.tcpi_total_retrans;
    sample->acked_bytes = info->tcp.tcpi_bytes_acked;
    sample->delivery_rate_Bps = info->tcp.tcpi_delivery_rate;
    sample->last_data_sent_ms = info->tcp.tcpi_last_data_sent;
    sample->local_port = ntohs(msg->id.idiag_sport);
    sample->remote_port = ntohs(msg->id.idiag_dport);
    sample->closed = false;
    sample->shown = false;
    sample->paced = false;
    sample->flight_ended = false;
    sample->initcwnd = 0;
    sample->arm = RIPTIDE_ARM_NONE;
    sample->phase = 0;
    sample->together = 0;
    sample->cgroup_id = 0;
    if (found.cgroup_id &&
        found.cgroup_id->nla_len == sizeof(struct nlattr) + sizeof(sample->cgroup_id))
        memcpy(&sample->cgroup_id, found.cgroup_id + 1, sizeof(sample->cgroup_id));
    sample->busy_time_us = info->tcp.tcpi_busy_time;
    return true;
}
