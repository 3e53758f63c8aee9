/* SPDX-License-Identifier: MIT */
/*
 * lib/common/prefix_set: what is left of prefixes that decide, and whether anything is admitted at
 * all. What they decide is held against the plain evaluation of drawn scopes in test_filter.c.
 */
#include "internal.h"
#include "prefix_set.h"
#include "unit.h"

/* Prefixes with a verdict each, '+' or '-'; the first is the verdict on all other addresses. */
static void fill(struct prefix_set *set, const char *text)
{
    char copy[256], *rest = copy, *word;

    *set = (struct prefix_set){ .verdict = text[0] == '+' };
    snprintf(copy, sizeof(copy), "%s", text);
    for (strsep(&rest, " "); (word = strsep(&rest, " "));)
        assert_int_equal(prefix_set_add(set, prefix_at(word + 1), *word == '+'), 0);
    prefix_set_finish(set);
}

TEST(prefix_that_decides_nothing_goes)
{
    static const struct {
        const char *given, *left;
        bool is_empty; /* no address is admitted */
    } cases[] = {
        { "-", "-", true },
        { "+", "+", false },
        { "- +10.0.0.1", "- +10.0.0.1", false },
        { "- +10.0.0.0/8 +10.1.0.0/16 +10.0.0.0/8", "- +10.0.0.0/8", false },
        { "- -10.0.0.0/8 +10.1.0.0/16 -10.1.2.0/24", "- +10.1.0.0/16 -10.1.2.0/24", false },
        { "- +10.0.0.0/9 +11.0.0.0/9", "- +10.0.0.0/9 +11.0.0.0/9", false },
        { "- +10.0.0.0/8 -10.0.0.0/8", "-", true },
        { "+ +10.0.0.0/8 -10.0.0.0/8", "+ -10.0.0.0/8", false },
        { "- -10.0.0.0/8 +10.0.0.0/8 +10.1.0.0/16 -10.0.0.0/8", "- +10.1.0.0/16", false },
        { "+ -0.0.0.0/0 -::/0", "+ -0.0.0.0/0 -::/0", true },
        { "+ -0.0.0.0/0", "+ -0.0.0.0/0", false },
        { "+ -::/0", "+ -::/0", false },
        { "+ -0.0.0.0/0 -::/0 +2001:db8::/32", "+ -0.0.0.0/0 -::/0 +2001:db8::/32", false },
        { "+ -0.0.0.0/0 -::/1 -8000::/2", "+ -0.0.0.0/0 -::/1 -8000::/2", false },
    };

    EACH(row, cases) {
        CLEANUP(prefix_set_deinit) struct prefix_set set;
        char left[256];
        size_t n;

        fill(&set, row->given);
        assert_int_equal(prefix_set_is_empty(&set), row->is_empty);
        n = (size_t)snprintf(left, sizeof(left), "%c", set.verdict ? '+' : '-');
        for (uint32_t k = 0; k < set.n; k++) {
            char text[RIPTIDE_PREFIX_TEXT_BYTES];

            riptide_prefix_format(&set.rules[k].prefix, text);
            n += (size_t)snprintf(left + n, sizeof(left) - n, " %c%s",
                                  set.rules[k].verdict ? '+' : '-', text);
        }
        assert_string_equal(left, row->left);
    }
}

/* A destination may be a prefix, which is judged as a whole. */
TEST(prefix_is_judged_as_a_whole)
{
    CLEANUP(prefix_set_deinit) struct prefix_set set;

    fill(&set, "- +10.0.0.0/16");
    assert_true(prefix_set_decide(&set, prefix_at("10.0.0.0/16")));
    assert_true(prefix_set_decide(&set, prefix_at("10.0.1.0/24")));
    assert_false(prefix_set_decide(&set, prefix_at("10.0.0.0/15")));
}
