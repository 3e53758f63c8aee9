/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/sample: inet_diag messages built byte by byte, of kernels older and newer than these
 * headers, and of none that exists. Offsets into tcp_info are written out: they are the ABI.
 */
#include "bytes.h"
#include "observe/sample.h"

#include <linux/sock_diag.h>

#define DIAG_BYTES 72
#define INFO       2
#define CONG       4
#define SHUTDOWN   8
#define PAD        14
#define MARK       15
#define INFO_5_10  232 /* bytes of tcp_info in Linux 5.10 */

static const uint8_t v4[4] = { 203, 0, 113, 7 };
static const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 };

static void put_u32(unsigned char *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static void put_u64(unsigned char *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}

static void put_diag(struct bytes *message, uint8_t family, const void *dst, size_t dst_len)
{
    unsigned char diag[DIAG_BYTES] = { family, 1 /* established */ };

    memcpy(diag + 4, "\x1f\x90\x01\xbb", 4); /* idiag_sport, idiag_dport */
    memcpy(diag + 24, dst, dst_len);         /* idiag_dst */
    put_u32(diag + 40, 3);                   /* idiag_if */
    put_u32(diag + 44, 0x11223344);          /* idiag_cookie[0] */
    put_u32(diag + 48, 0x55667788);          /* idiag_cookie[1] */
    bytes_begin(message, SOCK_DIAG_BY_FAMILY, diag, sizeof(diag));
}

/* A tcp_info as long as any, every field that a sample takes different. */
static void make_info(unsigned char info[512])
{
    memset(info, 0xee, 512);
    info[1] = 3; /* ca_state: recovery */
    info[7] = 1; /* delivery_rate_app_limited */
    put_u32(info + 16, 1448);
    put_u32(info + 44, 250); /* last_data_sent */
    put_u32(info + 60, 1500);
    put_u32(info + 68, 50123);
    put_u32(info + 80, 37);
    put_u32(info + 100, 5);
    put_u64(info + 120, UINT64_C(5000000001));
    put_u32(info + 136, 901);
    put_u32(info + 148, 49321);
    put_u32(info + 156, 777);
    put_u64(info + 160, UINT64_C(12500000000));
    put_u32(info + 228, 64240); /* snd_wnd */
}

static void make_message(struct bytes *message, size_t info_len)
{
    unsigned char info[512];

    make_info(info);
    put_diag(message, AF_INET, v4, sizeof(v4));
    bytes_put(message, SHUTDOWN, "\0", 1);
    bytes_put(message, PAD, "", 0);
    bytes_put(message, INFO, info, info_len);
    bytes_put(message, CONG, "cubic", 6);
}

static enum sample_verdict parse_bytes(struct riptide_sample *sample, const struct nlmsghdr *message)
{
    return sample_parse(sample, NLMSG_DATA(message), NLMSG_PAYLOAD(message, 0));
}

static enum sample_verdict parse(struct riptide_sample *sample, const struct bytes *message)
{
    return parse_bytes(sample, (const struct nlmsghdr *)message->data);
}

/* Of a socket to `dst`, with the name of its congestion control before the tcp_info. */
static enum sample_verdict parse_socket(struct riptide_sample *sample, uint8_t family,
                                        const void *dst, size_t name_len,
                                        const unsigned char info[512])
{
    struct bytes message;

    put_diag(&message, family, dst, family == AF_INET ? 4 : 16);
    if (name_len > 0)
        bytes_put(&message, CONG, "abcdefghijklmnopqrstuvwxyz", name_len);
    bytes_put(&message, INFO, info, INFO_5_10);
    return parse(sample, &message);
}

TEST(every_field_of_5_10)
{
    struct riptide_sample sample;
    struct bytes message;

    make_message(&message, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_int_equal(sample.dst.family, AF_INET);
    assert_int_equal(sample.dst.len, 32);
    assert_memory_equal(sample.dst.addr, v4, sizeof(v4));
    assert_true(sample.cookie == UINT64_C(0x5566778811223344));
    assert_int_equal(sample.cwnd, 37);
    assert_int_equal(sample.rtt_us, 50123);
    assert_int_equal(sample.min_rtt_us, 49321);
    assert_int_equal(sample.mss_bytes, 1448);
    assert_int_equal(sample.pmtu_bytes, 1500);
    assert_int_equal(sample.segs_out, 901);
    assert_int_equal(sample.data_segs_out, 777);
    assert_int_equal(sample.retrans_segs, 5);
    assert_true(sample.acked_bytes == UINT64_C(5000000001));
    assert_true(sample.delivery_rate_Bps == UINT64_C(12500000000));
    assert_int_equal(sample.snd_wnd_bytes, 64240);
    assert_int_equal(sample.last_data_sent_ms, 250);
    assert_int_equal(sample.ca_state, 3);
    assert_true(sample.app_limited);
    assert_string_equal(sample.congestion_control, "cubic");
    assert_int_equal(sample.local_port, 8080);
    assert_int_equal(sample.remote_port, 443);
    assert_int_equal(sample.ifindex, 3);
}

TEST(mark_is_known_where_it_is_told)
{
    const uint32_t mark = 0x12345678;
    struct riptide_sample sample;
    struct bytes message;

    make_message(&message, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_false(sample.has_mark);
    bytes_put(&message, MARK, &mark, sizeof(mark) - 1);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_false(sample.has_mark);
    bytes_put(&message, MARK, &mark, sizeof(mark));
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_true(sample.has_mark);
    assert_int_equal(sample.mark, mark);
}

/* Fields that an older kernel does not have are zero; without the window there is no sample. */
TEST(info_of_every_length)
{
    for (size_t len = 0; len <= 512; len++) {
        struct riptide_sample sample, before;
        struct bytes message;

        memset(&sample, 0x5a, sizeof(sample));
        memcpy(&before, &sample, sizeof(sample));
        make_message(&message, len);
        assert_int_equal(parse(&sample, &message), len < 84 ? SAMPLE_MALFORMED : SAMPLE_OK);
        if (len < 84) {
            assert_memory_equal(&sample, &before, sizeof(sample));
            continue;
        }
        assert_int_equal(sample.cwnd, 37);
        if (len % 8 == 0) { /* no field in part */
            assert_int_equal(sample.retrans_segs, len < 104 ? 0 : 5);
            assert_true(sample.acked_bytes == (len < 128 ? 0 : UINT64_C(5000000001)));
            assert_int_equal(sample.segs_out, len < 140 ? 0 : 901);
            assert_int_equal(sample.data_segs_out, len < 160 ? 0 : 777);
            assert_int_equal(sample.snd_wnd_bytes, len < 232 ? 0 : 64240);
        }
        assert_string_equal(sample.congestion_control, "cubic");
    }
}

/* What one byte, or four, of a tcp_info make of the sample. */
TEST(bytes_that_mean_something_else)
{
    struct riptide_sample sample;
    unsigned char info[512];

    make_info(info);
    info[7] = 0xfe; /* fastopen_client_fail and bits to come: app_limited is one bit of them */
    put_u32(info + 148, UINT32_MAX); /* no measurement */
    assert_int_equal(parse_socket(&sample, AF_INET, v4, 0, info), SAMPLE_OK);
    assert_false(sample.app_limited);
    assert_int_equal(sample.min_rtt_us, 0);
    assert_int_equal(sample.rtt_us, 50123);
    put_u32(info + 80, 0);
    assert_int_equal(parse_socket(&sample, AF_INET, v4, 0, info), SAMPLE_MALFORMED);
}

TEST(peers_of_both_families)
{
    static const struct riptide_prefix as_v4 = { AF_INET, 32, { 203, 0, 113, 7 } };
    static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, 203, 0, 113, 7 };
    struct riptide_sample sample;
    unsigned char info[512];

    make_info(info);
    assert_int_equal(parse_socket(&sample, AF_INET6, v6, 0, info), SAMPLE_OK);
    assert_int_equal(sample.dst.family, AF_INET6);
    assert_int_equal(sample.dst.len, 128);
    assert_memory_equal(sample.dst.addr, v6, sizeof(v6));
    assert_string_equal(sample.congestion_control, "");
    assert_int_equal(parse_socket(&sample, AF_INET6, mapped, 0, info), SAMPLE_OK);
    assert_memory_equal(&sample.dst, &as_v4, sizeof(as_v4));
}

TEST(classes_of_destinations)
{
    static const struct {
        enum sample_verdict verdict;
        uint8_t family;
        uint8_t dst[16];
    } cases[] = {
        { SAMPLE_LOOPBACK, AF_INET, { 127, 0, 0, 1 } },
        { SAMPLE_LOOPBACK, AF_INET, { 127, 255, 1, 2 } },
        { SAMPLE_NO_INFO, AF_INET, { 126, 255, 255, 255 } },
        { SAMPLE_NO_INFO, AF_INET, { 128, 0, 0, 1 } },
        { SAMPLE_MULTICAST, AF_INET, { 224, 0, 0, 1 } },
        { SAMPLE_MULTICAST, AF_INET, { 239, 1, 2, 3 } },
        { SAMPLE_NO_INFO, AF_INET, { 223, 255, 255, 254 } },
        { SAMPLE_NO_INFO, AF_INET, { 240, 0, 0, 1 } },
        { SAMPLE_MULTICAST, AF_INET, { 255, 255, 255, 255 } },
        { SAMPLE_NO_INFO, AF_INET, { 255, 255, 255, 254 } },
        { SAMPLE_MULTICAST, AF_INET, { 0, 0, 0, 0 } },
        { SAMPLE_NO_INFO, AF_INET, { 0, 0, 0, 1 } },
        { SAMPLE_LINK_LOCAL, AF_INET, { 169, 254, 0, 1 } },
        { SAMPLE_NO_INFO, AF_INET, { 169, 253, 0, 1 } },
        { SAMPLE_NO_INFO, AF_INET, { 168, 254, 0, 1 } },
        { SAMPLE_LOOPBACK, AF_INET6, { [15] = 1 } },
        { SAMPLE_NO_INFO, AF_INET6, { [15] = 2 } },
        { SAMPLE_MULTICAST, AF_INET6, { 0 } },
        { SAMPLE_MULTICAST, AF_INET6, { 0xff, 0x02, [15] = 1 } },
        { SAMPLE_LINK_LOCAL, AF_INET6, { 0xfe, 0x80, [15] = 1 } },
        { SAMPLE_LINK_LOCAL, AF_INET6, { 0xfe, 0xbf, [15] = 1 } },
        { SAMPLE_NO_INFO, AF_INET6, { 0xfe, 0xc0, [15] = 1 } },
        { SAMPLE_NO_INFO, AF_INET6, { 0xfd, 0x80, [15] = 1 } },
        { SAMPLE_LOOPBACK, AF_INET6, { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } },
        { SAMPLE_MULTICAST, AF_INET6, { [10] = 0xff, [11] = 0xff, 224, 0, 0, 1 } },
        { SAMPLE_LINK_LOCAL, AF_INET6, { [10] = 0xff, [11] = 0xff, 169, 254, 0, 1 } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct riptide_sample sample;
        struct bytes message;

        put_diag(&message, cases[i].family, cases[i].dst, sizeof(cases[i].dst));
        if (parse(&sample, &message) != cases[i].verdict)
            fail_msg("case %zu: %d instead of %d", i, parse(&sample, &message), cases[i].verdict);
    }
}

/* None of those given ends in a zero. */
TEST(names_of_congestion_control)
{
    static const size_t lens[] = { 0, 1, 15, 16, 26 };
    struct riptide_sample sample;
    unsigned char info[512];

    make_info(info);
    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
        assert_int_equal(parse_socket(&sample, AF_INET, v4, lens[i], info), SAMPLE_OK);
        assert_int_equal(strlen(sample.congestion_control), lens[i] < 15 ? lens[i] : 15);
        assert_memory_equal(sample.congestion_control, "abcdefghijklmno",
                            strlen(sample.congestion_control));
    }
}

TEST(unknown_family_is_malformed)
{
    struct riptide_sample sample;
    struct bytes message;

    make_message(&message, INFO_5_10);
    for (int family = 0; family < 256; family++) {
        *(uint8_t *)bytes_header(&message) = (uint8_t)family;
        if (family != AF_INET && family != AF_INET6)
            assert_int_equal(parse(&sample, &message), SAMPLE_MALFORMED);
    }
}

TEST(truncated_anywhere)
{
    const size_t info_end = NLMSG_HDRLEN + DIAG_BYTES + 8 + 4 + 4 + INFO_5_10;
    struct bytes message;

    make_message(&message, INFO_5_10);
    for (size_t n = NLMSG_HDRLEN; n <= bytes_message(&message)->nlmsg_len; n++) {
        enum sample_verdict expected = n < info_end ? SAMPLE_NO_INFO : SAMPLE_OK, verdict;
        struct nlmsghdr *cut = bytes_cut(&message, n);
        struct riptide_sample sample;

        if (!bytes_is_boundary(&message, DIAG_BYTES, n))
            expected = SAMPLE_MALFORMED;
        verdict = parse_bytes(&sample, cut);
        free(cut);
        if (verdict != expected)
            fail_msg("cut to %zu bytes: %d instead of %d", n, verdict, expected);
    }
}

TEST(attribute_lengths_that_lie)
{
    static const size_t attributes[] = { 0, 8, 12, 12 + 4 + INFO_5_10 };

    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        size_t at = NLMSG_SPACE(DIAG_BYTES) + attributes[i];
        struct bytes message;

        make_message(&message, INFO_5_10);
        for (uint32_t claimed = 0; claimed <= UINT16_MAX; claimed++) {
            uint16_t len = (uint16_t)claimed;
            struct riptide_sample sample;
            enum sample_verdict verdict;

            memcpy(message.data + at, &len, sizeof(len));
            verdict = parse(&sample, &message);
            if ((claimed < 4 || claimed > bytes_message(&message)->nlmsg_len - at) &&
                verdict != SAMPLE_MALFORMED)
                fail_msg("attribute at %zu claims %u bytes: %d", at, claimed, verdict);
        }
    }
}
