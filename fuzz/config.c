/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as riptided.conf: read, or refused with one line that begins with the file's name.
 */
#include "settings.h"

#include "target.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct settings settings;
    int r;

    settings_init(&settings);
    settings.text = strndup((const char *)data, n);
    r = config_parse(&settings, "f", settings.text);
    CASE_CHECK((r < 0) == (settings.mistake.text[0] != '\0'));
    CASE_CHECK(r == 0 || !strncmp(settings.mistake.text, "f:", 2));
    CASE_CHECK(!strchr(settings.mistake.text, '\n'));
    settings_deinit(&settings);
    return 0;
}
