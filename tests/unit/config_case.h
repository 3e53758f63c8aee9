/* SPDX-License-Identifier: MIT */
/*
 * riptided.conf from a text, for the tests of what reads it.
 */
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

static inline int read_bytes(struct settings *settings, const char *bytes, size_t n)
{
    /* Behind its end is nothing: valgrind sees who reads on. */
    char *copy = malloc(n ? n : 1);
    int r;

    assert_non_null(copy);
    memcpy(copy, bytes, n);
    settings_init(settings);
    r = config_parse(settings, "a.conf", copy, n);
    free(copy);
    return r;
}

static inline void read_text(struct settings *settings, const char *text)
{
    if (read_bytes(settings, text, strlen(text)) != 0)
        fail_msg("%s", settings->mistake.text);
}

#endif
