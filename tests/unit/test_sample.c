/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/sample: inet_diag messages of kernels older and newer than these headers, and of none
 * that exists. Offsets into tcp_info are written out: they are the ABI.
 */
#include "bytes.h"
#include "observe/sample.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>

enum { INFO_5_10 = 232 /* bytes of tcp_info in Linux 5.10 */ };

#define PUT(at, type, value) memcpy(at, &(type){ value }, sizeof(type))

/* A tcp_info as long as any, every field that a sample takes different. */
static void make_info(unsigned char info[512])
{
    memset(info, 0xee, 512);
    PUT(info + 16, uint32_t, 1448);
    PUT(info + 44, uint32_t, 250); /* last_data_sent */
    PUT(info + 60, uint32_t, 1500);
    PUT(info + 68, uint32_t, 50123);
    PUT(info + 76, uint32_t, 26);
    PUT(info + 80, uint32_t, 37);
    PUT(info + 100, uint32_t, 5);
    PUT(info + 120, uint64_t, UINT64_C(5000000001));
    PUT(info + 148, uint32_t, 49321);
    PUT(info + 156, uint32_t, 777);
    PUT(info + 160, uint64_t, UINT64_C(12500000000));
    PUT(info + 168, uint64_t, UINT64_C(5000000)); /* busy_time */
}

/* With other attributes before a tcp_info of n_info. */
static void put_socket(struct bytes *bytes, const unsigned char info[512], size_t n_info)
{
    const struct inet_diag_msg msg = { .idiag_family = AF_INET,
                                       .idiag_state = 1, /* established */
                                       .id = { .idiag_sport = htons(8080),
                                               .idiag_dport = htons(443),
                                               .idiag_dst = { htonl(0xcb007107) }, /* 203.0.113.7 */
                                               .idiag_if = 3,
                                               .idiag_cookie = { 0x11223344, 0x55667788 } } };

    bytes_begin(bytes, 0, &msg, sizeof(msg));
    bytes_put_u8(bytes, INET_DIAG_SHUTDOWN, 0);
    bytes_put(bytes, INET_DIAG_PAD, NULL, 0);
    bytes_put(bytes, INET_DIAG_CONG, "cubic", 5);
    bytes_put(bytes, INET_DIAG_INFO, info, n_info);
}

static void make_message(struct bytes *bytes, size_t n_info)
{
    unsigned char info[512];

    make_info(info);
    put_socket(bytes, info, n_info);
}

static bool parse(struct riptide_sample *sample, const struct nlmsghdr *message)
{
    return sample_parse(sample, message + 1, message->nlmsg_len - NLMSG_HDRLEN);
}

static bool parses(const struct nlmsghdr *message)
{
    struct riptide_sample sample;

    return parse(&sample, message);
}

TEST(every_field_of_5_10)
{
    const struct riptide_prefix dst = prefix("203.0.113.7");
    struct riptide_sample sample;
    struct bytes message;

    make_message(&message, INFO_5_10);
    assert_true(parse(&sample, bytes_message(&message)));
    assert_memory_equal(&sample.dst, &dst, sizeof(dst));
    assert_true(sample.cookie == UINT64_C(0x5566778811223344));
    assert_int_equal(sample.cwnd, 37);
    assert_int_equal(sample.ssthresh_segs, 26);
    assert_int_equal(sample.rtt_us, 50123);
    assert_int_equal(sample.min_rtt_us, 49321);
    assert_int_equal(sample.mss_bytes, 1448);
    assert_int_equal(sample.pmtu_bytes, 1500);
    assert_int_equal(sample.data_segs_out, 777);
    assert_int_equal(sample.retrans_segs, 5);
    assert_true(sample.acked_bytes == UINT64_C(5000000001));
    assert_true(sample.delivery_rate_Bps == UINT64_C(12500000000));
    assert_true(sample.busy_time_us == 5000000);
    assert_int_equal(sample.last_data_sent_ms, 250);
    assert_int_equal(sample.local_port, 8080);
    assert_int_equal(sample.remote_port, 443);
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
        assert_int_equal(parse(&sample, bytes_message(&message)), len >= 84);
        if (len < 84) {
            assert_memory_equal(&sample, &before, sizeof(sample));
            continue;
        }
        assert_int_equal(sample.cwnd, 37);
        if (len % 8 == 0) { /* no field in part */
            assert_int_equal(sample.retrans_segs, len < 104 ? 0 : 5);
            assert_true(sample.acked_bytes == (len < 128 ? 0 : UINT64_C(5000000001)));
            assert_int_equal(sample.data_segs_out, len < 160 ? 0 : 777);
            assert_true(sample.busy_time_us == (len < 176 ? 0 : 5000000));
        }
    }
}

TEST(figures_that_mean_there_is_none)
{
    struct riptide_sample sample;
    unsigned char info[512];
    struct bytes message;

    make_info(info);
    PUT(info + 148, uint32_t, UINT32_MAX); /* min_rtt: no measurement */
    put_socket(&message, info, INFO_5_10);
    assert_true(parse(&sample, bytes_message(&message)));
    assert_int_equal(sample.min_rtt_us, 0);
    PUT(info + 80, uint32_t, 0); /* snd_cwnd */
    put_socket(&message, info, INFO_5_10);
    assert_false(parses(bytes_message(&message)));
}

TEST(classes_of_destinations)
{
    static const struct {
        bool is_local;
        uint8_t family;
        uint8_t dst[16];
    } cases[] = {
        { true, AF_INET, { 127, 0, 0, 1 } },
        { false, AF_INET, { 126, 255, 255, 255 } },
        { false, AF_INET, { 128, 0, 0, 1 } },
        { true, AF_INET, { 224, 0, 0, 1 } },
        { false, AF_INET, { 223, 255, 255, 254 } },
        { false, AF_INET, { 240, 0, 0, 1 } },
        { true, AF_INET, { 255, 255, 255, 255 } },
        { false, AF_INET, { 255, 255, 255, 254 } },
        { true, AF_INET, { 0, 0, 0, 0 } },
        { false, AF_INET, { 0, 0, 0, 1 } },
        { true, AF_INET, { 169, 254, 0, 1 } },
        { false, AF_INET, { 169, 253, 0, 1 } },
        { true, AF_INET6, { [15] = 1 } },
        { false, AF_INET6, { [15] = 2 } },
        { true, AF_INET6, { 0 } },
        { true, AF_INET6, { 0xff, 0x02, [15] = 1 } },
        { true, AF_INET6, { 0xfe, 0x80, [15] = 1 } },
        { true, AF_INET6, { 0xfe, 0xbf, [15] = 1 } },
        { false, AF_INET6, { 0xfe, 0xc0, [15] = 1 } },
        { false, AF_INET6, { 0xfd, 0x80, [15] = 1 } },
        { true, AF_INET6, { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } },
        { true, AF_INET6, { [10] = 0xff, [11] = 0xff, 169, 254, 0, 1 } },
    };

    EACH(row, cases)
        assert_row(sample_is_local(row->family, row->dst) == row->is_local);
}

TEST(message_that_ends_inside_an_attribute_is_malformed)
{
    struct bytes message;

    make_message(&message, INFO_5_10);
    bytes_check_ends(&message, parses);
}
