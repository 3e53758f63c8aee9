/* SPDX-License-Identifier: MIT */
/*
 * The name that somebody may have meant.
 */
#include "nearest.h"

#include "settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *nearest_of(const char *text)
{
    struct nearest nearest = nearest_to(text, strlen(text));

    for (const struct option_row *row = settings_rows; row->name; row++)
        nearest_offer(&nearest, row->name);
    return nearest.name;
}

static void nearest_name(void **state)
{
    char text[200];

    (void)state;
    assert_string_equal(nearest_of("intervall"), "interval");
    assert_string_equal(nearest_of("cwndmax"), "cwnd-max");
    assert_string_equal(nearest_of("max-destination"), "max-destinations");
    assert_string_equal(nearest_of("tl"), "ttl");
    assert_null(nearest_of("zebra"));
    assert_null(nearest_of(""));
    assert_null(nearest_of("xx"));
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_null(nearest_of(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
