/* SPDX-License-Identifier: MIT */
/*
 * inet_diag messages as the kernel writes them, for the tests of lib/observe/sample. Include it
 * behind cmocka.h.
 */
#ifndef RIPTIDE_TESTS_SAMPLE_CASE_H
#define RIPTIDE_TESTS_SAMPLE_CASE_H

#include "observe/sample.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define DIAG_BYTES 72
#define INFO       2
#define CONG       4
#define SHUTDOWN   8
#define PAD        14
#define MARK       15
#define INFO_5_10  232 /* bytes of tcp_info in Linux 5.10 */
#define INFO_4_0   104

struct message {
    _Alignas(8) unsigned char bytes[2048];
    size_t len;
};

static const uint8_t v4[4] = { 203, 0, 113, 7 };
static const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 };

static inline void put_u32(unsigned char *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void put_u64(unsigned char *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void put_diag(struct message *message, uint8_t family, const void *dst,
                            size_t dst_len)
{
    /* Not zero: what is read behind an attribute must show. */
    memset(message, 0xdd, sizeof(*message));
    memset(message->bytes, 0, DIAG_BYTES);
    message->bytes[0] = family;
    message->bytes[1] = 1;                             /* established */
    memcpy(message->bytes + 24, dst, dst_len);         /* idiag_dst */
    memcpy(message->bytes + 4, "\x1f\x90\x01\xbb", 4); /* idiag_sport, idiag_dport */
    put_u32(message->bytes + 40, 3);                   /* idiag_if */
    put_u32(message->bytes + 44, 0x11223344);          /* idiag_cookie[0] */
    put_u32(message->bytes + 48, 0x55667788);          /* idiag_cookie[1] */
    message->len = DIAG_BYTES;
}

static inline void put_attribute(struct message *message, uint16_t type, const void *payload,
                                 size_t len)
{
    uint16_t header[2] = { (uint16_t)(len + 4), type };

    memcpy(message->bytes + message->len, header, sizeof(header));
    memcpy(message->bytes + message->len + 4, payload, len);
    message->len += (len + 4 + 3) & ~(size_t)3;
}

/* A tcp_info as long as any, every field that a sample takes different. */
static inline void make_info(unsigned char info[512])
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

static inline void make_message(struct message *message, size_t info_len)
{
    unsigned char info[512];

    make_info(info);
    put_diag(message, AF_INET, v4, sizeof(v4));
    put_attribute(message, SHUTDOWN, "\0", 1);
    put_attribute(message, PAD, "", 0);
    put_attribute(message, INFO, info, info_len);
    put_attribute(message, CONG, "cubic", 6);
}

static inline enum sample_verdict parse(struct riptide_sample *sample,
                                        const struct message *message)
{
    return sample_parse(sample, message->bytes, message->len);
}

#endif
