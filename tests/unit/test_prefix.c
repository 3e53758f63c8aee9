/* SPDX-License-Identifier: MIT */
/* lib/common/prefix: text to bytes and back, and containment at every bit. */
#include "prefix.h"
#include "unit.h"

static void assert_refused(const char *text)
{
    struct riptide_prefix prefix, before;

    memset(&prefix, 0x5a, sizeof(prefix));
    memcpy(&before, &prefix, sizeof(prefix));
    if (riptide_prefix_parse(&prefix, text) != -EINVAL)
        fail_msg("`%s` is accepted", text);
    assert_memory_equal(&prefix, &before, sizeof(prefix));
}

static void assert_format(const struct riptide_prefix *prefix, const char *expected)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(prefix, text);
    assert_string_equal(text, expected);
}

static void flip(struct riptide_prefix *prefix, unsigned int bit)
{
    prefix->addr[bit / 8] ^= (uint8_t)(0x80 >> (bit % 8));
}

/* Pairs of a spelling and what comes back; where there is no second, the first does. */
TEST(text_comes_back)
{
    static const char *const pairs[][2] = {
        { "0.0.0.0/0" },
        { "128.0.0.0/1" },
        { "192.0.2.254/31" },
        { "192.0.2.255" },
        { "0.0.0.0" },
        { "::/0" },
        { "8000::/1" },
        { "2001:db8::fffe/127" },
        { "::1" },
        { "::" },
        { "::fffe:0:0/95" },
        { "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127" },
        { "0.0.0.0/32", "0.0.0.0" },
        { "2001:db8::1/128", "2001:db8::1" },
        { "2001:DB8:0:0::/64", "2001:db8::/64" },
        { "2001:0db8:0000:0000:0000:0000:192.0.2.1", "2001:db8::c000:201" },
        { "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128",
          "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
        { "::ffff:0.0.0.0/96", "0.0.0.0/0" },
        { "::ffff:10.0.0.0/104", "10.0.0.0/8" },
        { "::ffff:203.0.113.7", "203.0.113.7" },
    };
    static const struct riptide_prefix v6 = { AF_INET6, 33, { 0x20, 0x01, 0x0d, 0xb8, 0x80 } };
    static const struct riptide_prefix unknown = { .family = AF_UNIX };
    struct riptide_prefix parsed = prefix("2001:db8:8000::/33");

    assert_memory_equal(&parsed, &v6, sizeof(v6));
    assert_format(&unknown, "?");
    assert_false(prefix_is_valid(&unknown));
    EACH(row, pairs) {
        parsed = prefix((*row)[0]);
        assert_true(prefix_is_valid(&parsed));
        assert_format(&parsed, (*row)[(*row)[1] ? 1 : 0]);
    }
}

TEST(text_that_is_no_prefix_is_refused)
{
    /* clang-format off */
    static const char *const texts[] = {
        /* host bits */
        "192.0.2.1/31", "192.0.2.0/22", "128.0.0.0/0", "0.0.0.1/0", "0.0.0.1/8", "2001:db8::1/127",
        "1::/15", "::1/0", "::1/64", "::ffff:0.0.0.0/95", "::ffff:192.0.2.1/127", "::ffff:192.0.2.1/96",
        /* lengths, some of which would be good if they were counted in 8, 32 or 64 bits */
        "0.0.0.0/33", "0.0.0.0/128", "::/129", "0.0.0.0/256", "0.0.0.0/264", "::/4294967296",
        "::/18446744073709551616",
        /* addresses that are not whole and plain */
        "", " ", "10", "10.0.0", "10.0.0.0.0", "10.0.0.256", "010.0.0.1", "0x0a000001", "167772161",
        "-1.0.0.0", " 10.0.0.0", "10.0.0.0 ", ":::", ":", "1::2::3", "12345::", "fe80::1%lo",
        "[::1]", "::g", "default", "/8", "10/8", ":::/8", "::g/8",
    };
    /* clang-format on */
    static const char *const lengths[] = { "",    "+8", "-8", " 8",  "8 ", "8\n", "8x", "0x8",
                                           "8/8", "/8", "8/", "8.0", "x",  "-0",  "+0" };
    char text[32];

    EACH(row, texts)
        assert_refused(*row);
    for (size_t i = 0; i < 2 * COUNT(lengths); i++) {
        snprintf(text, sizeof(text), "%s/%s", i % 2 ? "10.0.0.0" : "::", lengths[i / 2]);
        assert_refused(text);
    }
}

TEST(mapped_addresses_become_v4)
{
    static const struct riptide_prefix host = { AF_INET, 32, { 203, 0, 113, 7 } };
    static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, 203, 0, 113, 7 };
    static const uint8_t almost[16] = { [10] = 0xff, [11] = 0xfe, 203, 0, 113, 7 };
    struct riptide_prefix parsed;

    prefix_from_address(&parsed, AF_INET6, mapped);
    assert_memory_equal(&parsed, &host, sizeof(host));
    prefix_from_address(&parsed, AF_INET, mapped + 12); /* four bytes, whatever follows them */
    assert_memory_equal(&parsed, &host, sizeof(host));
    prefix_from_address(&parsed, AF_INET6, almost);
    assert_int_equal(parsed.family, AF_INET6);
    assert_int_equal(parsed.len, 128);
    assert_memory_equal(parsed.addr, almost, sizeof(almost));
}

/* All bits set: each length keeps exactly its own, and does not affect later bits. */
TEST(truncate_keeps_exactly_len_bits)
{
    struct riptide_prefix ones = { AF_INET6, 128, { 0 } };

    memset(ones.addr, 0xff, sizeof(ones.addr));
    for (unsigned int len = 0; len <= 128; len++) {
        struct riptide_prefix prefix = ones;

        prefix_truncate(&prefix, (uint8_t)len);
        assert_int_equal(prefix.len, len);
        for (unsigned int bit = 0; bit < 128; bit++)
            assert_int_equal(prefix.addr[bit / 8] >> (7 - bit % 8) & 1, bit < len);
    }
}

static void check_contains(const char *address, unsigned int bits)
{
    struct riptide_prefix host = prefix(address);

    for (unsigned int len = 0; len <= bits; len++) {
        struct riptide_prefix inner = host, outer = host;

        prefix_truncate(&outer, (uint8_t)len);
        assert_true(prefix_contains(&outer, &inner));
        assert_true(prefix_contains(&outer, &outer));
        assert_int_equal(prefix_contains(&inner, &outer), len == bits);
        for (unsigned int bit = 0; bit < bits; bit++) {
            flip(&inner, bit);
            if (prefix_contains(&outer, &inner) != (bit >= len))
                fail_msg("%s/%u and bit %u", address, len, bit);
            flip(&inner, bit);
        }
    }
}

TEST(contains_at_every_length)
{
    struct riptide_prefix v4 = prefix("0.0.0.0/0"), v6 = prefix("::/0");

    check_contains("203.0.113.85", 32);
    check_contains("2001:db8:a5a5:5a5a::f00f", 128);
    assert_false(prefix_contains(&v4, &v6));
    assert_false(prefix_contains(&v6, &v4));
}

TEST(equal_looks_at_everything)
{
    struct riptide_prefix a = prefix("2001:db8::/64"), b = a;

    assert_true(prefix_equal(&a, &b));
    for (size_t i = 0; i < sizeof(b); i++) {
        ((uint8_t *)&b)[i] ^= 1;
        assert_false(prefix_equal(&a, &b));
        ((uint8_t *)&b)[i] ^= 1;
    }
}
