/* SPDX-License-Identifier: MIT */
/* Option values: how each kind is read, and what it refuses. */
#include "options.h"
#include "unit.h"

#include <riptide/agent.h>

#define ASSERT_READ(kind, type, text, expected)                                                    \
    do {                                                                                           \
        type value = (type)1;                                                                      \
                                                                                                   \
        assert_int_equal(kind.parse(&value, text), 0);                                             \
        assert_true(value == (expected));                                                          \
    } while (0)

TEST(each_kind_reads_its_texts)
{
    const char *path;

    ASSERT_READ(value_duration, uint64_t, "1s", 1000 * MS);
    ASSERT_READ(value_duration, uint64_t, "10min", 600000 * MS);
    ASSERT_READ(value_duration, uint64_t, "10m", 600000 * MS);
    ASSERT_READ(value_duration, uint64_t, "1h", 3600000 * MS);
    ASSERT_READ(value_duration, uint64_t, "1d", 86400000 * MS);
    ASSERT_READ(value_duration, uint64_t, "213503d", UINT64_C(213503) * 86400000 * MS);
    ASSERT_READ(value_duration, uint64_t, "1500ms", 1500 * MS);
    ASSERT_READ(value_duration, uint64_t, "0s", 0);
    ASSERT_READ(value_duration, uint64_t, "010s", 10000 * MS);
    ASSERT_READ(value_duration, uint64_t, "5124095h", UINT64_C(5124095) * 3600000 * MS);
    ASSERT_READ(value_u32, uint32_t, "4294967295", UINT32_MAX);
    ASSERT_READ(value_u32, uint32_t, "010", 10);
    ASSERT_READ(value_u8, uint8_t, "255", 255);
    ASSERT_READ(value_flag, bool, "yes", true);
    ASSERT_READ(value_flag, bool, "no", false);
    ASSERT_READ(value_share, double, "20%", 0.2);
    ASSERT_READ(value_share, double, "0.00000001", 0.00000001);
    ASSERT_READ(value_backend, unsigned int, "both", RIPTIDE_BOTH);
    ASSERT_READ(value_level, unsigned int, "debug", LOG_DEBUG);
    ASSERT_READ(value_policy, const struct riptide_policy *, "paper", riptide_policy_find("paper"));
    assert_int_equal(value_path.parse(&path, "/a b;c=#"), 0);
    assert_string_equal(path, "/a b;c=#");
}

TEST(what_makes_no_sense_is_refused_and_changes_nothing)
{
#define NO_NUMBERS                                                                                 \
    "", "-1", "+1", " 1", "1 ", "0x1", "1k", "1.0", "main", "4294967296", "18446744073709551616"
    static const struct {
        const struct value_kind *kind;
        const char *texts[24];
    } cases[] = {
        /* clang-format off */
        { &value_duration,
          { "",     "1",    "s",     "5x", "-1s",  "+1s", " 1s",  "1 s",  "1s ",   "1.5s",     "1M",
            "0x1s", "1sec", "1S",    "nan", "1e3s", "1s1s", "1min2", "５s", "5124096h", "213504d",
            "99999999999999999999s" } },
        /* clang-format on */
        { &value_u32, { NO_NUMBERS } },
        { &value_u8, { NO_NUMBERS, "256" } },
        { &value_flag, { "", "yes ", "maybe", "1", "YES", "on" } },
        { &value_path, { "", "/a\nb", "\x7f" } },
        { &value_share,
          { "", ".", "-0.5", "+0.5", "nan", "inf", "0.5 ", "0,5", "0.5.", "%", "5%%", "5 %" } },
        { &value_level, { "", "INFO", "warn", "infos" } },
        { &value_policy, { "", "Paper" } },
        { &value_prefixes, { "", " ", ",", "host", "10.0.0.0/33", "10.0.0.1/8" } },
        { &value_ports,
          { "", "-", "80-", "-80", "80-79", "65536", "1-65536", "80-90-", "80-90x", "0x50" } },
    };

    EACH(row, cases) {
        for (const char *const *text = row->texts; *text; text++) {
            uint64_t target[2] = { 0x5a5a5a5a5a5a5a5a, 0x5a5a5a5a5a5a5a5a };

            if (row->kind->parse(target, *text) != -EINVAL)
                fail_msg("\"%s\" was taken", *text);
            assert_int_equal(target[0], 0x5a5a5a5a5a5a5a5a);
        }
    }
}

TEST(paths_have_a_longest)
{
    const char *path = NULL;
    char longest[162];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[161] = '\0';
    assert_int_equal(value_path.parse(&path, longest), -EINVAL);
    assert_int_equal(value_path.parse(&path, longest + 1), 0);
}

TEST(lists_grow_by_what_can_be_read_as_a_whole)
{
    struct value_list list = { .items = NULL };
    const struct riptide_port_range *ports;

    assert_int_equal(value_prefixes.parse(&list, "10.0.0.0/8"), 0);
    assert_int_equal(value_prefixes.parse(&list, "2001:db8::1"), 0);
    assert_int_equal(list.n, 2);
    assert_int_equal(value_prefixes.parse(&list, "host, 10.1.0.0/16"), -EINVAL);
    assert_int_equal(list.n, 2);
    assert_int_equal(value_prefixes.parse(&list, "10.1.0.0/16, 10.2.0.0/16"), 0);
    assert_int_equal(list.n, 4);
    free(list.items);

    list = (struct value_list){ .items = NULL };
    assert_int_equal(value_ports.parse(&list, "443"), 0);
    assert_int_equal(value_ports.parse(&list, "8000-8099"), 0);
    assert_int_equal(value_ports.parse(&list, "0-65535"), 0);
    assert_int_equal(list.n, 3);
    ports = list.items;
    assert_int_equal(ports[1].first, 8000);
    assert_int_equal(ports[1].last, 8099);
    assert_int_equal(value_ports.parse(&list, "81x, 80"), -EINVAL);
    assert_int_equal(value_ports.parse(&list, "80, 81-82 83"), 0);
    assert_int_equal(list.n, 6);
    free(list.items);
}
