/* SPDX-License-Identifier: MIT */
/* The latest changes of each destination, and the connections of the last minute. */
#include "daemon.h"
#include "unit.h"

#include <sys/socket.h>

static struct changes all;

static void note(uint8_t dst, uint32_t initcwnd)
{
    const struct riptide_route route = {
        .dst = { AF_INET, 32, { 10, 0, 0, dst } },
        .backend = RIPTIDE_ROUTES,
        .initcwnd = initcwnd,
    };

    changes_note(&all, &route);
}

/* Newest first; 0 ends the list. */
static void assert_changes(uint8_t dst, const json_int_t expected[])
{
    const struct riptide_prefix prefix = { AF_INET, 32, { 10, 0, 0, dst } };
    json_t *changes = changes_json(&all, &prefix), *change;
    size_t i;

    json_array_foreach(changes, i, change)
        assert_int_equal(json_integer_value(json_object_get(change, "initcwnd")), expected[i]);
    assert_int_equal(expected[i], 0);
    json_decref(changes);
}

TEST(a_busy_destination_pushes_out_its_own_alone)
{
    note(1, 20);
    note(1, 30);
    note(1, 30); /* nothing new */
    for (uint32_t n = 1; n <= 1000; n++)
        note(2, n);
    assert_changes(1, (json_int_t[]){ 30, 20, 0 });
    assert_changes(2, (json_int_t[]){ 1000, 999, 998, 997, 0 });
    assert_changes(3, (json_int_t[]){ 0 });
    /* Of all, the one that came first gives way. */
    for (int dst = 3; dst < 3 + CHANGES - 1; dst++)
        note((uint8_t)dst, 10);
    assert_changes(1, (json_int_t[]){ 0 });
    assert_changes(2, (json_int_t[]){ 1000, 999, 998, 997, 0 });
}

/* Connections with a window in the last minute, of so many so far. */
static json_int_t given(struct minute *minute, uint64_t now_s, uint64_t with_window)
{
    const struct opened_counts now = { .with_window = with_window };
    json_t *answer;
    json_int_t n;

    minute_note(minute, &now, now_s * NS_PER_S);
    answer = minute_json(minute, &now);
    n = json_integer_value(json_object_get(answer, "given"));
    json_decref(answer);
    return n;
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
