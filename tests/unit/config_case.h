/* SPDX-License-Identifier: MIT */
/* riptided.conf from a text, for the tests of what reads it. */
#ifndef RIPTIDE_TESTS_CONFIG_CASE_H
#define RIPTIDE_TESTS_CONFIG_CASE_H

#include "settings.h"
#include "unit.h"

#define ARGV(...)                                                                                  \
    (char *[])                                                                                     \
    {                                                                                              \
        "riptided", __VA_ARGS__, NULL                                                              \
    }

/* Those that are freed where they go out of scope. */
#define SETTINGS __attribute__((cleanup(settings_deinit))) struct settings

static inline int read_text(struct settings *settings, const char *text,
                            struct riptide_error *error)
{
    settings_init(settings);
    settings->text = strdup(text);
    assert_non_null(settings->text);
    return config_parse(settings, "a.conf", settings->text, error);
}

#endif
