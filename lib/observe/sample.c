/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one inet_diag message to a sample: the one place that knows struct inet_diag_msg
 * and struct tcp_info. This runs once for every socket of the host. Pure.
 */
#include "observe/sample.h"

#include "netlink.h"
#include "prefix.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* Netlink aligns to four bytes, also what begins with eight. */
struct tcp_info_at4 {
    struct tcp_info tcp;
} __attribute__((packed, aligned(4), may_alias));

/* tcp_info grew, but it never had less than this: a window is what a sample is about. */
#define INFO_MIN_BYTES (offsetof(struct tcp_info, tcpi_snd_cwnd) + sizeof(uint32_t))

static enum sample_verdict classify_v4(const uint8_t address[4])
{
    static const uint8_t unspecified[4], broadcast[4] = { 255, 255, 255, 255 };

    if (address[0] == 127)
        return SAMPLE_LOOPBACK;
    if ((address[0] & 0xf0) == 224 || memcmp(address, unspecified, sizeof(unspecified)) == 0 ||
        memcmp(address, broadcast, sizeof(broadcast)) == 0)
        return SAMPLE_MULTICAST;
    if (address[0] == 169 && address[1] == 254)
        return SAMPLE_LINK_LOCAL;
    return SAMPLE_OK;
}

static enum sample_verdict classify_v6(const uint8_t address[16])
{
    static const uint8_t unspecified[16], loopback[16] = { [15] = 1 };

    if (memcmp(address, loopback, sizeof(loopback)) == 0)
        return SAMPLE_LOOPBACK;
    if (address[0] == 0xff || memcmp(address, unspecified, sizeof(unspecified)) == 0)
        return SAMPLE_MULTICAST;
    if (address[0] == 0xfe && (address[1] & 0xc0) == 0x80)
        return SAMPLE_LINK_LOCAL;
    return SAMPLE_OK;
}

/* The peer's address. */
static enum sample_verdict classify(const struct inet_diag_msg *msg)
{
    const uint8_t *address = (const uint8_t *)msg->id.idiag_dst;

    if (msg->idiag_family == AF_INET6) {
        if (!address_is_v4_mapped(address))
            return classify_v6(address);
        address += 12;
    } else if (msg->idiag_family != AF_INET) {
        return SAMPLE_MALFORMED;
    }
    return classify_v4(address);
}

static bool layout_holds(const struct sample_layout *layout, const unsigned char *payload,
                         size_t len)
{
    uint32_t header;

    if (layout->len != len)
        return false;
    for (uint32_t i = 0; i < layout->n; i++) {
        memcpy(&header, payload + layout->attributes[i].at, sizeof(header));
        if (header != layout->attributes[i].header)
            return false;
    }
    return true;
}

static void note_attribute(struct sample_layout *layout, const struct nlattr *attribute,
                           uint32_t at)
{
    struct sample_span span = { at + (uint32_t)sizeof(*attribute),
                                attribute->nla_len - (uint32_t)sizeof(*attribute) };

    if (layout->n < sizeof(layout->attributes) / sizeof(layout->attributes[0])) {
        layout->attributes[layout->n].at = at;
        memcpy(&layout->attributes[layout->n].header, attribute, sizeof(uint32_t));
    }
    layout->n++;
    switch (attribute->nla_type & NLA_TYPE_MASK) {
    case INET_DIAG_INFO:
        layout->info = span;
        break;
    case INET_DIAG_MARK:
        layout->mark = span;
        break;
    case INET_DIAG_CONG:
        layout->congestion_control = span;
        break;
    }
}

/* False where the attributes do not fill the message exactly: then none of them can be trusted. */
__attribute__((noinline)) static bool find_attributes(struct sample_layout *layout,
                                                      const unsigned char *payload, size_t len)
{
    const size_t begin = sizeof(struct inet_diag_msg);
    struct netlink_attrs walk = { (const void *)(payload + begin), (int)(len - begin) };
    const struct nlattr *attribute;

    *layout = (struct sample_layout){ 0 };
    while ((attribute = netlink_next(&walk)))
        note_attribute(layout, attribute, (uint32_t)((const unsigned char *)attribute - payload));
    if (walk.left == 0 && layout->n <= sizeof(layout->attributes) / sizeof(layout->attributes[0]))
        layout->len = len;
    return walk.left == 0;
}

/*
 * The address is written where it stays: who reads it next does so in the same words. The usual
 * tcp_info is read where it lies, with no call between.
 */
__attribute__((always_inline)) static inline void fill(struct riptide_sample *sample,
                                                       const struct inet_diag_msg *msg,
                                                       const struct tcp_info_at4 *info)
{
    prefix_from_address(&sample->dst, msg->idiag_family, msg->id.idiag_dst);
    sample->cookie = (uint64_t)msg->id.idiag_cookie[1] << 32 | msg->id.idiag_cookie[0];
    sample->cwnd = info->tcp.tcpi_snd_cwnd;
    sample->rtt_us = info->tcp.tcpi_rtt;
    /* All ones is the kernel's "no measurement yet". */
    sample->min_rtt_us = info->tcp.tcpi_min_rtt == UINT32_MAX ? 0 : info->tcp.tcpi_min_rtt;
    sample->mss_bytes = info->tcp.tcpi_snd_mss;
    sample->pmtu_bytes = info->tcp.tcpi_pmtu;
    sample->segs_out = info->tcp.tcpi_segs_out;
    sample->data_segs_out = info->tcp.tcpi_data_segs_out;
    sample->retrans_segs = info->tcp.tcpi_total_retrans;
    sample->acked_bytes = info->tcp.tcpi_bytes_acked;
    sample->delivery_rate_Bps = info->tcp.tcpi_delivery_rate;
    sample->last_data_sent_ms = info->tcp.tcpi_last_data_sent;
    sample->ca_state = info->tcp.tcpi_ca_state;
    sample->app_limited = info->tcp.tcpi_delivery_rate_app_limited;
    memset(sample->congestion_control, 0, sizeof(sample->congestion_control));
    sample->local_port = ntohs(msg->id.idiag_sport);
    sample->remote_port = ntohs(msg->id.idiag_dport);
    sample->ifindex = msg->id.idiag_if;
    sample->mark = 0;
    sample->has_mark = false;
    sample->closed = false;
    sample->snd_wnd_bytes = info->tcp.tcpi_snd_wnd;
}

/* The kernel's tcp_info may be longer than ours (newer), or shorter (older): then this one. */
__attribute__((noinline)) static void fill_from_short(struct riptide_sample *sample,
                                                      const struct inet_diag_msg *msg,
                                                      const void *info, size_t n_bytes)
{
    struct tcp_info_at4 copy = { 0 };

    memcpy(&copy, info, n_bytes);
    fill(sample, msg, &copy);
}

static void copy_name(char name[16], const unsigned char *given, size_t n)
{
    memcpy(name, given, strnlen((const char *)given, n < 15 ? n : 15));
}

enum sample_verdict sample_parse(struct riptide_sample *sample, struct sample_layout *layout,
                                 const void *payload, size_t len)
{
    const struct inet_diag_msg *msg = payload;
    const unsigned char *bytes = payload;
    const struct tcp_info_at4 *info;
    enum sample_verdict verdict;

    if (len < sizeof(*msg))
        return SAMPLE_MALFORMED;
    verdict = classify(msg);
    if (verdict != SAMPLE_OK)
        return verdict;
    if (!layout_holds(layout, bytes, len) && !find_attributes(layout, bytes, len))
        return SAMPLE_MALFORMED;
    if (layout->info.at == 0)
        return SAMPLE_NO_INFO;
    info = (const void *)(bytes + layout->info.at);
    if (layout->info.n_bytes < INFO_MIN_BYTES || info->tcp.tcpi_snd_cwnd == 0)
        return SAMPLE_MALFORMED;

    if (layout->info.n_bytes >= sizeof(*info))
        fill(sample, msg, info);
    else
        fill_from_short(sample, msg, info, layout->info.n_bytes);
    if (layout->mark.n_bytes >= sizeof(sample->mark)) {
        memcpy(&sample->mark, bytes + layout->mark.at, sizeof(sample->mark));
        sample->has_mark = true;
    }
    if (layout->congestion_control.at != 0)
        copy_name(sample->congestion_control, bytes + layout->congestion_control.at,
                  layout->congestion_control.n_bytes);
    return SAMPLE_OK;
}
