/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/sample: inet_diag messages of kernels older and newer than these headers, and of none
 * that exists. Offsets into tcp_info are written out: they are the ABI.
 */
#include "bytes.h"
#include "observe/sample.h"
#include "prefix.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>

enum { INFO_5_10 = 232 /* bytes of tcp_info in Linux 5.10 */ };

/* Where tcp_info and a sample have it, and a value of its own. */
static const struct field {
    size_t at, member, n_bytes;
    uint64_t value;
} fields[] = {
#define FIELD(at, name, value)                                                                     \
    { at, offsetof(struct riptide_sample, name), sizeof(((struct riptide_sample *)0)->name), value }
    FIELD(16, mss_bytes, 1448),
    FIELD(44, last_data_sent_ms, 250),
    FIELD(60, pmtu_bytes, 1500),
    FIELD(68, rtt_us, 50123),
    FIELD(76, ssthresh_segs, 26),
    FIELD(80, cwnd, 37),
    FIELD(100, retrans_segs, 5),
    FIELD(120, acked_bytes, UINT64_C(5000000001)),
    FIELD(148, min_rtt_us, 49321),
    FIELD(156, data_segs_out, 777),
    FIELD(160, delivery_rate_Bps, UINT64_C(12500000000)),
    FIELD(168, busy_time_us, 5000000),
};

static void put(void *at, size_t n_bytes, uint64_t value)
{
    const uint32_t half = (uint32_t)value;

    memcpy(at, n_bytes == 4 ? (const void *)&half : &value, n_bytes);
}

/* A tcp_info as long as any. */
static void make_info(unsigned char info[512])
{
    memset(info, 0xee, 512);
    EACH(field, fields)
        put(info + field->at, field->n_bytes, field->value);
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
    const uint64_t cgroup_id = UINT64_C(0x100000042);

    bytes_begin(bytes, 0, &msg, sizeof(msg));
    bytes_put_u8(bytes, INET_DIAG_SHUTDOWN, 0);
    bytes_put(bytes, INET_DIAG_PAD, NULL, 0);
    bytes_put(bytes, INET_DIAG_CONG, "cubic", 5);
    bytes_put(bytes, INET_DIAG_INFO, info, n_info);
    bytes_put(bytes, INET_DIAG_CGROUP_ID, &cgroup_id, sizeof(cgroup_id));
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

/* Fields that an older kernel does not have are zero; without the window there is no sample. */
TEST(info_of_every_length)
{
    for (size_t len = 0; len <= 512; len++) {
        struct riptide_sample sample, expected;
        struct bytes message;

        memset(&sample, 0x5a, sizeof(sample));
        memcpy(&expected, &sample, sizeof(sample));
        make_message(&message, len);
        assert_int_equal(parse(&sample, bytes_message(&message)), len >= 84);
        if (len >= 84) {
            expected.dst = prefix("203.0.113.7");
            expected.cookie = UINT64_C(0x5566778811223344);
            expected.local_port = 8080;
            expected.remote_port = 443;
            expected.closed = expected.shown = expected.paced = expected.flight_ended = false;
            expected.initcwnd = expected.phase = expected.together = 0;
            expected.arm = RIPTIDE_ARM_NONE;
            expected.cgroup_id = UINT64_C(0x100000042);
            EACH(field, fields)
                put((char *)&expected + field->member, field->n_bytes,
                    len < field->at + field->n_bytes ? 0 : field->value);
        }
        if (len < 84 || len % 8 == 0) /* no field in part */
            assert_memory_equal(&sample, &expected, sizeof(sample));
    }
}

TEST(figures_that_mean_there_is_none)
{
    struct riptide_sample sample;
    unsigned char info[512];
    struct bytes message;

    make_info(info);
    put(info + 148, 4, UINT32_MAX); /* min_rtt: no measurement */
    put_socket(&message, info, INFO_5_10);
    assert_true(parse(&sample, bytes_message(&message)));
    assert_int_equal(sample.min_rtt_us, 0);
    put(info + 80, 4, 0); /* snd_cwnd */
    put_socket(&message, info, INFO_5_10);
    assert_false(parses(bytes_message(&message)));
}

TEST(classes_of_destinations)
{
    static const struct {
        const char *address;
        bool is_local;
    } cases[] = {
        { "127.0.0.1", true },
        { "126.255.255.255", false },
        { "128.0.0.1", false },
        { "224.0.0.1", true },
        { "223.255.255.254", false },
        { "240.0.0.1", false },
        { "255.255.255.255", true },
        { "255.255.255.254", false },
        { "0.0.0.0", true },
        { "0.0.0.1", false },
        { "169.254.0.1", true },
        { "169.253.0.1", false },
        { "::1", true },
        { "::2", false },
        { "::", true },
        { "ff02::1", true },
        { "fe80::1", true },
        { "febf::1", true },
        { "fec0::1", false },
        { "fd80::1", false },
        { "::ffff:127.0.0.1", true },
        { "::ffff:169.254.0.1", true },
    };

    EACH(row, cases) {
        uint8_t family = strchr(row->address, ':') ? AF_INET6 : AF_INET, address[16];

        assert_int_equal(inet_pton(family, row->address, address), 1);
        assert_row(address_is_local(family, address) == row->is_local);
    }
}

TEST(message_that_ends_inside_an_attribute_is_malformed)
{
    struct bytes message;

    make_message(&message, INFO_5_10);
    bytes_check_ends(&message, parses);
}
