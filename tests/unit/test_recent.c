/* SPDX-License-Identifier: MIT */
/*
 * The last lines of the log.
 */
#include "recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_last_lines_are_kept_in_order(void **state)
{
    char text[16];

    (void)state;
    assert_null(recent_get(0));
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "line %d", i);
        recent_add(100 + i, LOG_LEVEL_WARNING, text);
    }
    assert_string_equal(recent_get(0)->text, "line 0");
    assert_string_equal(recent_get(2)->text, "line 2");
    assert_null(recent_get(3));
    for (int i = 3; i < 100; i++) {
        snprintf(text, sizeof(text), "line %d", i);
        recent_add(100 + i, LOG_LEVEL_ERROR, text);
    }
    for (unsigned int i = 0; i < RECENT_LINES; i++) {
        snprintf(text, sizeof(text), "line %d", (int)(100 - RECENT_LINES + i));
        assert_string_equal(recent_get(i)->text, text);
        assert_int_equal(recent_get(i)->time, 200 - RECENT_LINES + i);
    }
    assert_null(recent_get(RECENT_LINES));
}

static void long_lines_are_cut(void **state)
{
    char text[1000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    recent_add(1, LOG_LEVEL_ERROR, text);
    assert_int_equal(strlen(recent_get(RECENT_LINES - 1)->text), 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_lines_are_kept_in_order),
        cmocka_unit_test(long_lines_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
