/*
 * The bytes of one inet_diag message to a sample: the one place that knows struct inet_diag_msg
 * and struct tcp_info. This runs once for every socket of the host. Pure.
 */
#include "observe/sample.h"

#include "observe/walk.h"
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

/* Payloads; `at` is NULL where the attribute is missing. */
struct attributes {
    struct walk info;
    struct walk mark;
    struct walk congestion_control;
};

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

/* False where the attributes do not fill the message exactly: then none of them can be trusted. */
static bool find_attributes(struct attributes *found, struct walk walk)
{
    const struct nlattr *attribute;

    while ((attribute = walk_attribute(&walk))) {
        switch (attribute->nla_type & NLA_TYPE_MASK) {
        case INET_DIAG_INFO:
            found->info = attribute_payload(attribute);
            break;
        case INET_DIAG_MARK:
            found->mark = attribute_payload(attribute);
            break;
        case INET_DIAG_CONG:
            found->congestion_control = attribute_payload(attribute);
            break;
        }
    }
    return walk.left == 0;
}

/*
 * The kernel's tcp_info may be shorter than ours (older) or longer (newer). The usual one is read
 * where it lies.
 */
static const struct tcp_info_at4 *whole_info(struct tcp_info_at4 *copy, struct walk payload)
{
    if (payload.left >= sizeof(*copy))
        return (const void *)payload.at;
    memset(copy, 0, sizeof(*copy));
    memcpy(copy, payload.at, payload.left);
    return copy;
}

static void copy_name(char name[16], struct walk payload)
{
    memcpy(name, payload.at,
           strnlen((const char *)payload.at, payload.left < 15 ? payload.left : 15));
}

/* With every field named gcc stores each once; otherwise it sets all to zero first, in a loop. */
static void fill(struct riptide_sample *sample, const struct riptide_prefix *dst,
                 const struct inet_diag_msg *msg, const struct tcp_info_at4 *info)
{
    *sample = (struct riptide_sample){
        .dst = *dst,
        .cookie = (uint64_t)msg->id.idiag_cookie[1] << 32 | msg->id.idiag_cookie[0],
        .cwnd = info->tcp.tcpi_snd_cwnd,
        .rtt_us = info->tcp.tcpi_rtt,
        /* All ones is the kernel's "no measurement yet". */
        .min_rtt_us = info->tcp.tcpi_min_rtt == UINT32_MAX ? 0 : info->tcp.tcpi_min_rtt,
        .mss_bytes = info->tcp.tcpi_snd_mss,
        .pmtu_bytes = info->tcp.tcpi_pmtu,
        .segs_out = info->tcp.tcpi_segs_out,
        .data_segs_out = info->tcp.tcpi_data_segs_out,
        .retrans_segs = info->tcp.tcpi_total_retrans,
        .acked_bytes = info->tcp.tcpi_bytes_acked,
        .delivery_rate_Bps = info->tcp.tcpi_delivery_rate,
        .last_data_sent_ms = info->tcp.tcpi_last_data_sent,
        .ca_state = info->tcp.tcpi_ca_state,
        .app_limited = info->tcp.tcpi_delivery_rate_app_limited,
        .congestion_control = "",
        .local_port = ntohs(msg->id.idiag_sport),
        .remote_port = ntohs(msg->id.idiag_dport),
        .ifindex = msg->id.idiag_if,
        .mark = 0,
        .has_mark = false,
        .closed = false,
        .snd_wnd_bytes = info->tcp.tcpi_snd_wnd,
    };
}

enum sample_verdict sample_parse(struct riptide_sample *sample, const void *payload, size_t len)
{
    const struct inet_diag_msg *msg = payload;
    const struct tcp_info_at4 *info;
    struct attributes found = { 0 };
    enum sample_verdict verdict;
    struct riptide_prefix dst;
    struct tcp_info_at4 copy;

    if (len < sizeof(*msg) || prefix_family_bits(msg->idiag_family) == 0)
        return SAMPLE_MALFORMED;
    prefix_from_address(&dst, msg->idiag_family, msg->id.idiag_dst);
    verdict = dst.family == AF_INET ? classify_v4(dst.addr) : classify_v6(dst.addr);
    if (verdict != SAMPLE_OK)
        return verdict;

    if (!find_attributes(&found, (struct walk){ (const void *)(msg + 1), len - sizeof(*msg) }))
        return SAMPLE_MALFORMED;
    if (!found.info.at)
        return SAMPLE_NO_INFO;
    if (found.info.left < INFO_MIN_BYTES)
        return SAMPLE_MALFORMED;
    info = whole_info(&copy, found.info);
    if (info->tcp.tcpi_snd_cwnd == 0)
        return SAMPLE_MALFORMED;

    fill(sample, &dst, msg, info);
    if (found.mark.left >= sizeof(sample->mark)) {
        memcpy(&sample->mark, found.mark.at, sizeof(sample->mark));
        sample->has_mark = true;
    }
    if (found.congestion_control.at)
        copy_name(sample->congestion_control, found.congestion_control);
    return SAMPLE_OK;
}
