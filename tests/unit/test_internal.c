/* SPDX-License-Identifier: MIT */
/* Errors: the line, its field, and the texts of results. */
#include "internal.h"
#include "unit.h"

#include <limits.h>
#include <riptide/agent.h>

TEST(line_begins_with_the_field)
{
    static const char *const fields[] = { "estimator.cwnd_max", "observer.scope.learn[]" };
    struct riptide_error error;

    assert_int_equal(error_set_field(&error, fields[0], "%d; too %s", 7, "low"), -EINVAL);
    assert_string_equal(error.text, "estimator.cwnd_max: 7; too low");
    assert_ptr_equal(error.field, fields[0]);
    assert_int_equal(error.index, -1);
    assert_int_equal(error_set_element(&error, fields[1], 1000000, "%g", 1.5), -EINVAL);
    assert_string_equal(error.text, "observer.scope.learn[1000000]: 1.5");
    assert_string_equal(error_without_field(&error), "1.5");
    assert_ptr_equal(error.field, fields[1]);
    assert_int_equal(error.index, 1000000);
    assert_int_equal(error_set_element(NULL, fields[1], 0, "no room for it"), -EINVAL);
    assert_int_equal(error_set_field(NULL, fields[0], "no room for it"), -EINVAL);
}

/* Name and reason are at its ends. */
TEST(line_that_is_too_long_is_cut_in_the_middle)
{
    struct riptide_error error;
    char path[300];

    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    error_set_field(&error, "cgroup", "/%s is not there: make it first", path);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    assert_memory_equal(error.text, "cgroup: /xxx", 12);
    assert_non_null(strstr(error.text, "xxx...xxx"));
    assert_non_null(strstr(error.text, "xxx is not there: make it first"));
    path[sizeof(error.text) - sizeof(": why")] = '\0'; /* the longest that fits */
    error_set(&error, "%s: why", path);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    assert_null(strstr(error.text, "..."));
    assert_null(error.field);
    assert_int_equal(error.index, -1);
}

TEST(each_value_has_a_name)
{
    static const uint32_t last[] = {
        [RIPTIDE_NAMES_OUTCOME] = RIPTIDE_E_LEFT_OUT,
        [RIPTIDE_NAMES_ROUTE_STATE] = RIPTIDE_ROUTE_FAILED,
        [RIPTIDE_NAMES_EVENT] = RIPTIDE_AGENT_DESTROY_EVENTS,
        [RIPTIDE_NAMES_ARM] = RIPTIDE_ARM_HOLDOUT,
        [RIPTIDE_NAMES_LEFT_OUT] = RIPTIDE_LEFT_OUT_UNMEASURED,
        [RIPTIDE_NAMES_REASON] = RIPTIDE_REASON_PENDING,
    };

    EACH(names, last) {
        /* Backends are bits: test_backends.c. */
        if (unit_row == RIPTIDE_NAMES_BACKEND)
            continue;
        for (uint32_t n = 0; n <= *names + 1; n++) {
            const char *name = riptide_name((enum riptide_names)unit_row, n);

            assert_row((strcmp(name, "unknown") == 0) == (n > *names));
        }
    }
    assert_string_equal(riptide_name(RIPTIDE_NAMES_LEFT_OUT, 1u << 31), "unknown");
    assert_string_equal(riptide_name(RIPTIDE_NAMES_REASON + 1, 0), "unknown");
}
