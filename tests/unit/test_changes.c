/* SPDX-License-Identifier: MIT */
/* The latest changes of a destination. */
#include "changes.h"
#include "members.h"
#include "unit.h"

static struct changes all;

static void note(uint8_t dst, uint32_t initcwnd)
{
    const struct riptide_route route = { .dst = { AF_INET, 32, { 10, 0, 0, dst } },
                                         .backend = RIPTIDE_ROUTES,
                                         .initcwnd = initcwnd };

    changes_note(&all, &route, 1);
}

/* Newest first; 0 ends the list. */
static void assert_changes(uint8_t dst, const json_int_t expected[])
{
    const struct riptide_prefix prefix = { AF_INET, 32, { 10, 0, 0, dst } };
    json_t *changes = changes_json(&all, &prefix), *change;
    size_t i;

    json_array_foreach(changes, i, change)
    {
        assert_int_equal(number(change, "initcwnd"), expected[i]);
        assert_string_equal(json_string_value(json_object_get(change, "by")), "routes");
    }
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

TEST(the_bound_is_that_of_the_window_in_force)
{
    struct riptide_route route = { .dst = { AF_INET, 32, { 10, 1, 0, 0 } },
                                   .backend = RIPTIDE_PROGRAM,
                                   .initcwnd = 24,
                                   .bound = RIPTIDE_REASON_UNPACED };

    assert_int_equal(changes_find_bound(&all, &route), RIPTIDE_REASON_NONE);
    changes_note(&all, &route, 1);
    /* The program keeps its windows without their bounds. */
    route.bound = RIPTIDE_REASON_NONE;
    assert_int_equal(changes_find_bound(&all, &route), RIPTIDE_REASON_UNPACED);
    changes_note(&all, &route, 2);
    assert_int_equal(changes_find_bound(&all, &route), RIPTIDE_REASON_NONE);
    route.initcwnd = 40;
    assert_int_equal(changes_find_bound(&all, &route), RIPTIDE_REASON_NONE);
}
