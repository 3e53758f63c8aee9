/* SPDX-License-Identifier: MIT */
/* Connections of the last minute. */
#include "clock.h"
#include "members.h"
#include "minute.h"
#include "unit.h"

/* Connections with a window in the last minute, of so many so far. */
static json_int_t given(struct minute *minute, uint64_t now_s, uint64_t with_window)
{
    const struct minute_counts now = { .opened = { .given = with_window } };
    json_auto_t *answer = NULL;

    minute_note(minute, &now, now_s * NS_PER_S);
    answer = minute_json(minute, &now);
    return number(answer, "given");
}

TEST(a_minute_is_no_more_than_one)
{
    struct minute minute = { .n = 0 };

    for (uint64_t s = 100; s < 300; s++)
        assert_in_range(given(&minute, s, s), s < 160 ? 0 : 50, 60);
    /* What opened while the daemon was stopped is of no known minute. */
    assert_int_equal(given(&minute, 900, 900), 0);
    assert_int_equal(given(&minute, 905, 905), 5);
}

TEST(a_program_that_begins_anew_takes_nothing_from_the_connections_that_closed)
{
    const struct minute_counts then = { { .given = 50 }, 100, 10 },
                               now = { { .given = 4 }, 120, 13 };
    struct minute minute = { .n = 0 };
    struct minute_counts grown;

    assert_false(minute_count(&minute, &now, &grown));
    minute_note(&minute, &then, 100 * NS_PER_S);
    assert_true(minute_count(&minute, &now, &grown));
    assert_int_equal(grown.opened.given, 4);
    assert_int_equal(grown.closed_with_window, 20);
    assert_int_equal(grown.closed_without, 3);
}
