/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as riptided.conf: refused with one line that begins with the file's name, or read; a
 * second reader finds the same numbers.
 */
#include "settings.h"

#include "case_bytes.h"
#include "config_values.h"
#include "target.h"

#include <string.h>

static const char name[] = "f";

static int read_settings(struct settings *settings, const char *bytes, size_t n)
{
    int r;

    settings_init(settings);
    r = config_parse(settings, name, bytes, n);
    CASE_CHECK((r < 0) == (settings->mistake.text[0] != '\0'));
    CASE_CHECK(r == 0 || !strncmp(settings->mistake.text, "f:", 2));
    CASE_CHECK(!strchr(settings->mistake.text, '\n'));
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct settings read, defaults;

    settings_init(&defaults);
    if (read_settings(&read, (const char *)data, n) == 0)
        hold_values(&read, &defaults, (const char *)data, n);
    settings_deinit(&read);
    settings_deinit(&defaults);
    return 0;
}
