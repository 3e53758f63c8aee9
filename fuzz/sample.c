/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the payload of a message about a socket: no sample, or one with the values that the
 * macros of <linux/rtnetlink.h> find in struct tcp_info.
 */
#include "observe/sample.h"

#include "case_bytes.h"
#include "prefix.h"
#include "target.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

static void check_destination(const struct riptide_prefix *dst, const struct inet_diag_msg *msg)
{
    const uint8_t *peer = (const uint8_t *)msg->id.idiag_dst;
    struct in_addr v4;
    struct in6_addr v6;

    CASE_CHECK(prefix_is_valid(dst));
    if (dst->family != msg->idiag_family) { /* IPv4-mapped */
        CASE_CHECK(dst->family == AF_INET && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)peer));
        peer += sizeof(v6) - sizeof(v4);
    }
    CASE_CHECK(memcmp(dst->addr, peer, prefix_family_bits(dst->family) / 8) == 0);
    CASE_CHECK(dst->len == prefix_family_bits(dst->family));
    memcpy(&v4, dst->addr, sizeof(v4));
    memcpy(&v6, dst->addr, sizeof(v6));
    if (dst->family == AF_INET) {
        CASE_CHECK(ntohl(v4.s_addr) >> 24 != 127 && ntohl(v4.s_addr) >> 16 != 0xa9fe);
        CASE_CHECK(!IN_MULTICAST(ntohl(v4.s_addr)) && v4.s_addr && v4.s_addr != INADDR_BROADCAST);
    } else {
        CASE_CHECK(!IN6_IS_ADDR_LOOPBACK(&v6) && !IN6_IS_ADDR_UNSPECIFIED(&v6));
        CASE_CHECK(!IN6_IS_ADDR_MULTICAST(&v6) && !IN6_IS_ADDR_LINKLOCAL(&v6));
        CASE_CHECK(!IN6_IS_ADDR_V4MAPPED(&v6));
    }
}

/* The last of that type, as the kernel's own readers have it; or NULL. */
static struct rtattr *find(const void *payload, size_t n, int type)
{
    struct rtattr *at = (struct rtattr *)((char *)payload + sizeof(struct inet_diag_msg));
    struct rtattr *found = NULL;
    int left = (int)(n - sizeof(struct inet_diag_msg));

    while (RTA_OK(at, left)) {
        if ((at->rta_type & NLA_TYPE_MASK) == type)
            found = at;
        left -= (int)RTA_ALIGN(at->rta_len);
        at = (struct rtattr *)((char *)at + RTA_ALIGN(at->rta_len));
    }
    return found;
}

static void check_figures(const struct riptide_sample *sample, const struct rtattr *attribute)
{
    struct tcp_info info = { 0 };
    size_t n = RTA_PAYLOAD(attribute);
    uint64_t limited_us;

    memcpy(&info, RTA_DATA(attribute), n < sizeof(info) ? n : sizeof(info));
    limited_us = info.tcpi_rwnd_limited + info.tcpi_sndbuf_limited;
    CASE_CHECK(sample->cwnd == info.tcpi_snd_cwnd && sample->cwnd > 0);
    CASE_CHECK(sample->rtt_us == info.tcpi_rtt);
    CASE_CHECK(sample->min_rtt_us == info.tcpi_min_rtt || info.tcpi_min_rtt == UINT32_MAX);
    CASE_CHECK(sample->mss_bytes == info.tcpi_snd_mss && sample->pmtu_bytes == info.tcpi_pmtu);
    CASE_CHECK(sample->segs_out == info.tcpi_segs_out);
    CASE_CHECK(sample->data_segs_out == info.tcpi_data_segs_out);
    CASE_CHECK(sample->retrans_segs == info.tcpi_total_retrans);
    CASE_CHECK(sample->acked_bytes == info.tcpi_bytes_acked);
    CASE_CHECK(sample->delivery_rate_Bps == info.tcpi_delivery_rate);
    CASE_CHECK(sample->last_data_sent_ms == info.tcpi_last_data_sent);
    CASE_CHECK(sample->ca_state == info.tcpi_ca_state);
    CASE_CHECK(sample->app_limited == info.tcpi_delivery_rate_app_limited);
    CASE_CHECK(sample->snd_wnd_bytes == info.tcpi_snd_wnd);
    CASE_CHECK(sample->busy_time_us == info.tcpi_busy_time);
    CASE_CHECK(sample->limited_us == (limited_us < UINT32_MAX ? limited_us : UINT32_MAX));
}

static void check_rest(const struct riptide_sample *sample, const void *payload, size_t n)
{
    const struct rtattr *name = find(payload, n, INET_DIAG_CONG);
    const struct rtattr *mark = find(payload, n, INET_DIAG_MARK);
    const struct inet_diag_msg *msg = payload;
    size_t n_name = strnlen(sample->congestion_control, sizeof(sample->congestion_control));

    CASE_CHECK(sample->local_port == ntohs(msg->id.idiag_sport));
    CASE_CHECK(sample->remote_port == ntohs(msg->id.idiag_dport));
    CASE_CHECK(sample->ifindex == msg->id.idiag_if && !sample->closed);
    CASE_CHECK(sample->has_mark == (mark && RTA_PAYLOAD(mark) >= sizeof(sample->mark)));
    CASE_CHECK(!sample->has_mark || !memcmp(&sample->mark, RTA_DATA(mark), sizeof(sample->mark)));
    CASE_CHECK(n_name < sizeof(sample->congestion_control));
    CASE_CHECK(n_name == 0 || (n_name <= RTA_PAYLOAD(name) &&
                               !memcmp(sample->congestion_control, RTA_DATA(name), n_name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    void *payload = case_copy(&bytes, n, &n);
    struct riptide_sample sample, before;
    enum sample_verdict verdict;

    memset(&sample, 0xdd, sizeof(sample));
    memcpy(&before, &sample, sizeof(sample));
    verdict = sample_parse(&sample, payload, n);
    CASE_CHECK(verdict <= SAMPLE_MALFORMED);
    if (verdict == SAMPLE_OK) {
        check_destination(&sample.dst, payload);
        CASE_CHECK(find(payload, n, INET_DIAG_INFO));
        check_figures(&sample, find(payload, n, INET_DIAG_INFO));
        check_rest(&sample, payload, n);
    } else {
        CASE_CHECK(memcmp(&before, &sample, sizeof(sample)) == 0);
    }
    free(payload);
    return 0;
}
