/* SPDX-License-Identifier: MIT */
/*
 * Option values: each kind read and written, and what it refuses.
 */
#include "unit.h"
#include "values.h"

#include <errno.h>
#include <riptide/agent.h>

#define MS UINT64_C(1000000)

static void assert_refuses(const struct value_kind *kind, const char *const *texts)
{
    /* Any kind's target fits, and must keep its value. */
    uint64_t target[2] = { 0x5a5a5a5a5a5a5a5a, 0x5a5a5a5a5a5a5a5a };

    for (; *texts; texts++) {
        if (kind->parse(target, *texts) != -EINVAL)
            fail_msg("\"%s\" was taken", *texts);
        assert_int_equal(target[0], 0x5a5a5a5a5a5a5a5a);
    }
}

static void assert_prints(const struct value_kind *kind, const void *target, const char *expected)
{
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");

    kind->print(out, target);
    fclose(out);
    assert_string_equal(text, expected);
}

TEST(durations)
{
    static const struct {
        const char *text;
        uint64_t ns;
        const char *printed;
    } cases[] = {
        { "500ms", 500 * MS, "500ms" },
        { "1s", 1000 * MS, "1s" },
        { "90s", 90000 * MS, "90s" },
        { "60s", 60000 * MS, "1min" },
        { "10min", 600000 * MS, "10min" },
        { "10m", 600000 * MS, "10min" },
        { "1h", 3600000 * MS, "1h" },
        { "1d", 86400000 * MS, "1d" },
        { "36h", 129600000 * MS, "36h" },
        { "213503d", UINT64_C(213503) * 86400000 * MS, "213503d" },
        { "1500ms", 1500 * MS, "1500ms" },
        { "0s", 0, "0ms" },
        { "010s", 10000 * MS, "10s" },
        { "5124095h", UINT64_C(5124095) * 3600000 * MS, "5124095h" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t ns = 1;

        assert_int_equal(value_duration.parse(&ns, cases[i].text), 0);
        assert_int_equal(ns, cases[i].ns);
        assert_prints(&value_duration, &ns, cases[i].printed);
    }
}

TEST(short_durations)
{
    static const char *const texts[] = { "", "1", "5x", "4294968s", "2h", "5124096h", NULL };
    uint32_t us = 1;

    assert_int_equal(value_us.parse(&us, "1500ms"), 0);
    assert_int_equal(us, 1500000);
    assert_prints(&value_us, &us, "1500ms");
    assert_int_equal(value_us.parse(&us, "1h"), 0);
    assert_prints(&value_us, &us, "1h");
    assert_refuses(&value_us, texts);
}

TEST(durations_refused)
{
    static const char *const texts[] = {
        "",    "1",    "s",    "5x",    "-1s",  "+1s",      " 1s",
        "1 s", "1s ",  "1.5s", "1M",    "0x1s", "1sec",     "1S",
        "nan", "1e3s", "1s1s", "1min2", "５s",  "5124096h", "213504d", "99999999999999999999s",
        NULL,
    };

    assert_refuses(&value_duration, texts);
}

TEST(numbers)
{
    uint32_t u32 = 0;
    uint8_t u8 = 0;

    assert_int_equal(value_u32.parse(&u32, "4294967295"), 0);
    assert_int_equal(u32, UINT32_MAX);
    assert_int_equal(value_u32.parse(&u32, "010"), 0);
    assert_int_equal(u32, 10);
    assert_prints(&value_u32, &u32, "10");
    assert_int_equal(value_mark.parse(&u32, "0x72697074"), 0);
    assert_int_equal(u32, 0x72697074);
    assert_prints(&value_mark, &u32, "0x72697074");
    assert_int_equal(value_u8.parse(&u8, "255"), 0);
    assert_int_equal(u8, 255);
    assert_prints(&value_u8, &u8, "255");
}

TEST(flags)
{
    static const char *const refused[] = { "", "yes ", "maybe", "1", "YES", NULL };
    bool flag = false;

    assert_prints(&value_flag, &flag, "");
    assert_int_equal(value_flag.parse(&flag, NULL), 0);
    assert_true(flag);
    assert_prints(&value_flag, &flag, "yes");
    assert_int_equal(value_flag.parse(&flag, "off"), 0);
    assert_false(flag);
    assert_int_equal(value_flag.parse(&flag, "true"), 0);
    assert_true(flag);
    assert_refuses(&value_flag, refused);
}

TEST(paths)
{
    static const char *const refused[] = { "", " /a", "/a ", "/a ;b", "/a\nb", "\x7f", NULL };
    const char *path = NULL;
    char longest[162];

    assert_prints(&value_path, &path, "");
    assert_int_equal(value_path.parse(&path, "/a b;c=#"), 0);
    assert_string_equal(path, "/a b;c=#");
    assert_refuses(&value_path, refused);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[161] = '\0';
    assert_int_equal(value_path.parse(&path, longest), -EINVAL);
    assert_int_equal(value_path.parse(&path, longest + 1), 0);
}

TEST(numbers_refused)
{
    static const char *const texts[] = {
        "",     "-1",    "+1", " 1",  "1 ",   "0x",         "x1",          "0xg",
        "0x-1", "0x0x1", "1k", "1.0", "main", "4294967296", "0x100000000", "18446744073709551616",
        NULL,
    };
    static const char *const beyond_u8[] = { "256", "0x100", NULL };

    assert_refuses(&value_u32, texts);
    assert_refuses(&value_mark, texts);
    assert_refuses(&value_u8, texts);
    assert_refuses(&value_u8, beyond_u8);
}

TEST(max_shares)
{
    static const char *const refused[] = { "of", "onn", "yes", "5 %", "", NULL };
    double share = 1;

    assert_int_equal(value_max_share.parse(&share, "on"), 0);
    assert_true(share == RIPTIDE_MAX_SHARE_DEFAULT);
    assert_prints(&value_max_share, &share, "0.05");
    assert_int_equal(value_max_share.parse(&share, "20%"), 0);
    assert_true(share == 0.2);
    assert_int_equal(value_max_share.parse(&share, "0"), 0);
    assert_true(share == 0);
    share = 1;
    assert_int_equal(value_max_share.parse(&share, "off"), 0);
    assert_true(share == 0);
    assert_refuses(&value_max_share, refused);
}

TEST(weights)
{
    static const char *const refused[] = { "",     ".",      "-0.5", "+0.5", "nan",
                                           "inf",  "0x1p-1", "1e-1", "0.5 ", "0,5",
                                           "0.5.", "%",      "5%%",  "5 %",  NULL };
    double weight = 1;

    assert_int_equal(value_weight.parse(&weight, "0.25"), 0);
    assert_true(weight == 0.25);
    assert_prints(&value_weight, &weight, "0.25");
    assert_int_equal(value_weight.parse(&weight, "80%"), 0);
    assert_true(weight == 0.8);
    assert_prints(&value_weight, &weight, "0.8");
    assert_int_equal(value_weight.parse(&weight, "0.00000001"), 0);
    assert_prints(&value_weight, &weight, "0.00000001");
    assert_int_equal(value_weight.parse(&weight, "0"), 0);
    assert_true(weight == 0);
    assert_refuses(&value_weight, refused);
}

TEST(prefixes)
{
    static const char *const refused[] = {
        "", " ", ",", "host", "10.0.0.0/33", "10.0.0.1/8", NULL
    };
    struct prefix_list list = { .items = NULL };

    assert_prints(&value_prefixes, &list, "");
    assert_int_equal(value_prefixes.parse(&list, "10.0.0.0/8"), 0);
    assert_int_equal(value_prefixes.parse(&list, "2001:db8::1"), 0);
    assert_int_equal(list.n, 2);
    assert_prints(&value_prefixes, &list, "10.0.0.0/8 2001:db8::1");
    assert_int_equal(value_prefixes.parse(&list, "10.1.0.0/16,10.2.0.0/16 host"), -EINVAL);
    assert_int_equal(list.n, 2);
    assert_int_equal(value_prefixes.parse(&list, "10.1.0.0/16, 10.2.0.0/16"), 0);
    assert_int_equal(list.n, 4);
    value_prefixes.clear(&list);
    assert_int_equal(list.n, 0);
    assert_int_equal(value_prefixes.parse(&list, "10.0.0.0/8 2001:db8::1"), 0);
    value_prefixes.clear(&list);
    assert_int_equal(list.n, 0);
    assert_refuses(&value_prefixes, refused);
}

TEST(names)
{
    static const char *const refused[] = { "", "INFO", "warn", "infos", NULL };
    static const char *const no_policies[] = { "", "Paper", "paper ", NULL };
    const struct riptide_policy *policy = NULL;
    enum log_level level = LOG_LEVEL_INFO;

    assert_int_equal(value_level.parse(&level, "debug"), 0);
    assert_int_equal(level, LOG_LEVEL_DEBUG);
    assert_prints(&value_level, &level, "debug");
    assert_refuses(&value_level, refused);
    assert_int_equal(value_policy.parse(&policy, "paper"), 0);
    assert_ptr_equal(policy, riptide_policy_find("paper"));
    assert_prints(&value_policy, &policy, "paper");
    assert_refuses(&value_policy, no_policies);
}

TEST(ports)
{
    static const char *const refused[] = { "",        "-",      "80-",    "-80",  "80-79", "65536",
                                           "1-65536", "80-90-", "80-90x", "0x50", NULL };
    struct port_list list = { .items = NULL };

    assert_prints(&value_ports, &list, "");
    assert_int_equal(value_ports.parse(&list, "443"), 0);
    assert_int_equal(value_ports.parse(&list, "8000-8099"), 0);
    assert_int_equal(value_ports.parse(&list, "0-65535"), 0);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.items[1].first, 8000);
    assert_int_equal(list.items[1].last, 8099);
    assert_prints(&value_ports, &list, "443 8000-8099 0-65535");
    assert_int_equal(value_ports.parse(&list, "80, 81x"), -EINVAL);
    assert_int_equal(value_ports.parse(&list, "80, 81-82 83"), 0);
    assert_int_equal(list.n, 6);
    value_ports.clear(&list);
    assert_refuses(&value_ports, refused);
}
