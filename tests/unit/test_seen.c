/* SPDX-License-Identifier: MIT */
/*
 * What an earlier dump has shown, with cookies as the kernel assigns them: counting up, each
 * processor within a block that it has reserved.
 */
#include "observe/seen.h"
#include "unit.h"

enum { PROCESSORS = 4 };

/* What gives cookies to sockets, when they are first asked about. */
struct kernel {
    uint64_t block_cookies;
    uint64_t given_blocks;
    uint64_t last[PROCESSORS];
};

/* gen_cookie_next in include/linux/cookie.h. */
static uint64_t give(struct kernel *kernel)
{
    uint64_t *last = &kernel->last[draw() % PROCESSORS];

    if (*last % kernel->block_cookies == 0)
        *last = kernel->given_blocks++ * kernel->block_cookies;
    return ++*last;
}

TEST(cookies_of_a_dump_are_told_from_others)
{
    enum { OPEN = 5000, CLOSED = 1000, DUMPS = 50 };
    static struct seen seen;
    uint64_t open[OPEN], closed[CLOSED];
    struct kernel kernel = { .block_cookies = SEEN_COOKIES_PER_BLOCK };

    seed_random();
    for (int dump = 0; dump < DUMPS; dump++) {
        for (int i = 0; i < OPEN; i++) {
            open[i] = give(&kernel);
            assert_false(seen_contains(&seen, open[i]));
            seen_add(&seen, open[i]);
            if (i % (OPEN / CLOSED) == 0)
                closed[i / (OPEN / CLOSED)] = give(&kernel);
        }
        for (int i = 0; i < CLOSED; i++) /* during the dump */
            assert_false(seen_contains(&seen, closed[i]));
        seen_settle(&seen);
        for (int i = 0; i < OPEN; i++)
            assert_true(seen_contains(&seen, open[i]));
        for (int i = 0; i < CLOSED; i++) /* after it */
            assert_false(seen_contains(&seen, give(&kernel)));
        seen_check(&seen, give(&kernel));
        assert_true(seen_contains(&seen, open[0]));
    }
}

/* Of a kernel with smaller blocks: a new cookie may be below one that a dump has shown. */
TEST(cookies_that_count_up_otherwise_are_noticed)
{
    static struct seen seen;
    struct kernel kernel = { .block_cookies = 64 };
    uint64_t shown, fresh;

    seed_random();
    do {
        shown = give(&kernel);
        seen_add(&seen, shown);
        seen_settle(&seen);
        fresh = give(&kernel);
    } while (!seen_contains(&seen, fresh));
    seen_check(&seen, fresh);
    assert_false(seen_contains(&seen, fresh) || seen_contains(&seen, shown));
}

/* From an interrupt, without one, and of a kernel that would draw them: none hides another. */
TEST(cookies_that_do_not_count_up_are_never_taken_for_shown)
{
    const uint64_t others[] = { 0, UINT64_MAX, UINT64_MAX - 5000, UINT64_C(1) << 60 };
    static struct seen seen;

    EACH(row, others) {
        seen_add(&seen, *row);
        seen_settle(&seen);
        assert_false(seen_contains(&seen, *row));
    }
    for (uint64_t cookie = 1; cookie < 10000000; cookie += 1000)
        assert_false(seen_contains(&seen, cookie));
}
