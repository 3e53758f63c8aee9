/* SPDX-License-Identifier: MIT */
/* Any bytes as riptided.conf: read, or refused with one line that begins with the file's name. */
#include "settings.h"

#include "target.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct riptide_error error = { .text = "" };
    struct settings settings;
    int r;

    settings_init(&settings);
    settings.text = strndup((const char *)data, n);
    r = config_parse(&settings, "f", settings.text, &error);
    CASE_CHECK((r < 0) == (error.text[0] != '\0'));
    CASE_CHECK(r == 0 || !strncmp(error.text, "f:", 2));
    CASE_CHECK(!strchr(error.text, '\n'));
    settings_deinit(&settings);
    return 0;
}
