/* SPDX-License-Identifier: MIT */
/*
 * The set of cookies, compared with a plain list, with cookies as the kernel assigns them: counting
 * up, each processor within a block that it has reserved.
 */
#include "internal.h"
#include "observe/seen.h"
#include "unit.h"

enum { PROCESSORS = 4 };

/* What gives cookies to sockets, when they are first asked about. */
struct kernel {
    uint64_t given_blocks;
    uint64_t last[PROCESSORS];
};

/* gen_cookie_next in include/linux/cookie.h. */
static uint64_t give(struct kernel *kernel, uint64_t processor)
{
    uint64_t *last = &kernel->last[processor];

    if (*last % SEEN_COOKIES_PER_BLOCK == 0)
        *last = kernel->given_blocks++ * SEEN_COOKIES_PER_BLOCK;
    return ++*last;
}

/* One that is freed where it goes out of scope. */
#define SEEN CLEANUP(freep) struct seen

static struct seen *make(bool is_filtering)
{
    struct seen *seen = calloc(1, sizeof(*seen));

    assert_non_null(seen);
    seen->is_filtering = is_filtering;
    return seen;
}

/* A dump, on one processor, of n sockets that had no cookie before. */
static void show(struct seen *seen, struct kernel *kernel, uint64_t processor, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        seen_add(seen, give(kernel, processor));
}

/* How many of n sockets that close on a processor, shown by no dump, are taken for shown. */
static uint64_t count_wrong(const struct seen *seen, struct kernel *kernel, uint64_t processor,
                            uint64_t n)
{
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < n; i++)
        wrong += seen_contains(seen, give(kernel, processor));
    return wrong;
}

TEST(a_dump_holds_each_socket_once)
{
    SEEN *seen = make(false);

    seen_begin(seen, true);
    for (uint64_t cookie = 1; cookie <= 100000; cookie++) {
        assert_false(seen_add(seen, cookie));
        /* The kernel repeats the last ones. */
        if (cookie % 80 == 0)
            assert_true(seen_add(seen, cookie));
    }
    seen_begin(seen, true);
    assert_false(seen_add(seen, 100000));
    assert_false(seen_contains(seen, 100000));
    /* Those without a cookie are all new. */
    seen->is_filtering = true;
    assert_false(seen_add(seen, 0));
    assert_false(seen_add(seen, 0));
    seen_begin(seen, true);
    assert_false(seen_contains(seen, 0));
}

/* Whatever their order and number, and however often it can settle. */
TEST(nothing_that_was_shown_is_denied)
{
    enum { DUMPS = 40, MOST = 60000 };
    uint64_t *shown = calloc((size_t)DUMPS * MOST, sizeof(*shown));
    SEEN *seen = make(true);
    size_t n = 0;

    seed_random();
    assert_non_null(shown);
    for (int dump = 0; dump < DUMPS; dump++) {
        uint64_t bits = 10 + draw() % 55, of_this = draw() % 4 ? draw() % MOST : draw() % 10;

        seen_begin(seen, draw() % 3 > 0);
        for (uint64_t i = 0; i < of_this; i++) {
            shown[n] = draw() >> (64 - bits) | 1;
            seen_add(seen, shown[n++]);
        }
        for (size_t i = 0; i < n; i++)
            assert_true(seen_contains(seen, shown[i]));
    }
    free(shown);
}

TEST(what_closes_after_a_dump_is_never_taken_for_shown)
{
    const uint64_t sizes[] = { 0, 1, 1000, 100000, 1000000 };

    seed_random();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        SEEN *seen = make(true);
        struct kernel kernel = { 0 };

        for (int dump = 0; dump < 4; dump++) {
            seen_begin(seen, true);
            show(seen, &kernel, draw() % PROCESSORS, sizes[i]);
            for (uint64_t processor = 0; processor < PROCESSORS; processor++)
                assert_int_equal(count_wrong(seen, &kernel, processor, 3000), 0);
        }
    }
}

/* They close on the processor that dumps, one for every two that are shown for the first time. */
TEST(few_that_close_during_a_dump_are_taken_for_shown)
{
    const struct {
        uint64_t fresh;
        double share;
    } cases[] = { { 100, 0 }, { 10000, 0.001 }, { 65536, 0.01 }, { SEEN_MAX_FRESH, 0.05 } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t *closed = calloc((size_t)cases[i].fresh / 2, sizeof(*closed)), n = 0, wrong = 0;
        SEEN *seen = make(true);
        struct kernel kernel = { 0 };

        assert_non_null(closed);
        seen_begin(seen, true);
        show(seen, &kernel, 0, 1000000);
        seen_begin(seen, true);
        while (n < cases[i].fresh / 2) {
            show(seen, &kernel, 0, 2);
            closed[n++] = give(&kernel, 0);
        }
        show(seen, &kernel, 0, 1);
        for (uint64_t k = 0; k < n; k++)
            wrong += seen_contains(seen, closed[k]);
        if ((double)wrong > cases[i].share * (double)n)
            fail_msg("%zu fresh: %zu of %zu", (size_t)cases[i].fresh, (size_t)wrong, (size_t)n);
        free(closed);
    }
}

/* Its block shares a place with those that the others take meanwhile, and runs out. */
TEST(an_idle_processor_loses_no_more_than_its_block)
{
    SEEN *seen = make(true);
    struct kernel kernel = { 0 };
    uint64_t wrong;

    give(&kernel, 1);
    seen_begin(seen, true);
    show(seen, &kernel, 0, (uint64_t)2 * SEEN_BLOCKS * SEEN_COOKIES_PER_BLOCK);
    seen_begin(seen, true);
    wrong = count_wrong(seen, &kernel, 1, (uint64_t)10 * SEEN_COOKIES_PER_BLOCK);
    assert_int_equal(wrong, SEEN_COOKIES_PER_BLOCK - 1);
}

/* Those that an interrupt asks for in the middle of another's count down. */
TEST(cookies_that_count_down_cost_no_others)
{
    SEEN *seen = make(true);
    struct kernel kernel = { 0 };

    seen_begin(seen, true);
    for (uint64_t i = 0; i < (uint64_t)2 * SEEN_COOKIES_PER_BLOCK; i++)
        assert_false(seen_add(seen, UINT64_MAX - i));
    seen_begin(seen, true);
    for (uint64_t i = 0; i < (uint64_t)2 * SEEN_COOKIES_PER_BLOCK; i++)
        assert_true(seen_contains(seen, UINT64_MAX - i));
    assert_int_equal(
        count_wrong(seen, &kernel, 0, (uint64_t)2 * SEEN_BLOCKS * SEEN_COOKIES_PER_BLOCK), 0);
}

TEST(more_than_fits_is_settled)
{
    SEEN *seen = make(true);
    struct kernel kernel = { 0 };
    uint64_t early, late;

    seen_begin(seen, false);
    early = give(&kernel, 0);
    show(seen, &kernel, 0, 1000000);
    seen_begin(seen, false);
    assert_true(seen_contains(seen, early)); /* a price */
    late = give(&kernel, 0);
    show(seen, &kernel, 0, 1000);
    assert_false(seen_contains(seen, late));
}

/* A dump that is void leaves those before it as they were. */
TEST(a_void_dump_was_not_seen_but_those_before_were)
{
    SEEN *seen = make(true);

    seen_begin(seen, true);
    seen_add(seen, 7);
    for (int dump = 0; dump < 6; dump++) {
        seen_begin(seen, dump < 5);
        if (dump % 2 == 0)
            seen_add(seen, 8);
        seen_discard(seen);
        assert_true(seen_contains(seen, 7));
        assert_false(seen_contains(seen, 8));
    }
    assert_false(seen_add(seen, 8)); /* it comes again */
    assert_true(seen_contains(seen, 8));
}

/* It has a cookie between those that were shown since. */
TEST(what_closed_before_a_dump_may_be_heard_of_dumps_later)
{
    SEEN *seen = make(true);
    struct kernel kernel = { 0 };
    uint64_t closed;

    seen_begin(seen, true);
    show(seen, &kernel, 0, 100);
    closed = give(&kernel, 0);
    for (int dump = 0; dump < 10; dump++) {
        seen_begin(seen, dump == 0);
        show(seen, &kernel, 0, 100);
        assert_false(seen_contains(seen, closed));
    }
}

/* Asked about at connect, and established in no dump. */
TEST(an_early_cookie_counts_until_the_dump_behind_the_next)
{
    SEEN *seen = make(true);
    struct kernel kernel = { 0 };
    uint64_t early;

    seen_begin(seen, true);
    show(seen, &kernel, 0, 100);
    early = give(&kernel, 0);
    seen_begin(seen, true);
    show(seen, &kernel, 0, 100);
    assert_false(seen_contains(seen, early));
    seen_begin(seen, true);
    assert_true(seen_contains(seen, early)); /* a price */
}
