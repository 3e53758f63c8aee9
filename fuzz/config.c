/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as riptided.conf: refused with one line that begins with the file's name, or printed as
 * a file that reads back as the same; a second reader finds the same numbers.
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

static char *print(const struct settings *settings, size_t *np)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, np);

    CASE_CHECK(out != NULL);
    config_print(out, settings);
    fclose(out);
    return text;
}

static void hold_same(const struct settings *a, const struct settings *b)
{
    struct riptide_error error = { .text = "" };
    char *changes = NULL;
    size_t n;
    FILE *out = open_memstream(&changes, &n);

    CASE_CHECK(out != NULL);
    settings_compare(a, b, out, &error);
    fclose(out);
    CASE_CHECK(n == 0);
    free(changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct settings read, again, defaults;

    settings_init(&defaults);
    if (read_settings(&read, (const char *)data, n) == 0) {
        size_t n_text;
        char *text = print(&read, &n_text);

        hold_values(&read, &defaults, (const char *)data, n);
        CASE_CHECK(read_settings(&again, text, n_text) == 0);
        hold_same(&read, &again);
        settings_deinit(&again);
        free(text);
    }
    settings_deinit(&read);
    settings_deinit(&defaults);
    return 0;
}
