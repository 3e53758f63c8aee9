/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static int set_key(struct settings *settings, const char *key, const char *value,
                   struct riptide_error *error)
{
    const size_t n = settings->n_overrides;
    const struct option_row *row = options_find(n > 0 ? override_rows : settings_rows, key);

    if (!row || !row->field)
        return refuse(error, -EINVAL,
                      "%.40s: unknown key%s (riptided.conf(5) lists all, CHANGELOG.md those that "
                      "were removed)",
                      key, n > 0 ? " of a [prefix]" : "");
    if (n == 0)
        settings->of_file |= UINT64_C(1) << (row - settings_rows);
    /* In a hint 0 means that it is not set. */
    if (n > 0 && row->kind == &value_u32 && !strcmp(value, "0"))
        return refuse(error, -EINVAL, "%s 0: must be above 0", key);
    return options_set(row, "", n > 0 ? (void *)&settings->overrides[n - 1] : settings, value,
                       error);
}

/* "[prefix PREFIX]": the keys that follow are of this one. */
static int enter_section(struct settings *settings, char *line, struct riptide_error *error)
{
    char *end = strchr(line, ']'), *text = line + strlen("[prefix");
    struct riptide_prefix dst;

    if (strncmp(line, "[prefix", strlen("[prefix")) != 0 || !isblank((unsigned char)*text) ||
        !end || end[1])
        return refuse(error, -EINVAL, "%.60s: a section is [prefix PREFIX], with nothing after it",
                      line);
    *end = '\0';
    text += strspn(text, " \t");
    if (riptide_prefix_parse(&dst, text) < 0)
        return refuse(error, -EINVAL, "%.60s]: %s", line, value_prefixes.expected);
    for (size_t i = 0; i < settings->n_overrides; i++) {
        if (!memcmp(&settings->overrides[i].dst, &dst, sizeof(dst)))
            return refuse(error, -EINVAL, "%.60s]: was given already", line);
    }
    if (settings->n_overrides == RIPTIDE_MAX_HINTS)
        return refuse(error, -EINVAL, "more than %d sections for prefixes", RIPTIDE_MAX_HINTS);
    settings->overrides[settings->n_overrides++] = (struct riptide_hint){ .dst = dst };
    return 0;
}

/* Ends the text where its last blanks begin. */
static void trim(char *text)
{
    size_t len = strlen(text);

    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    text[len] = '\0';
}

static int take_line(struct settings *settings, char *line, struct riptide_error *error)
{
    char *value, *end;

    line += strspn(line, " \t");
    /* A comment begins a line, or follows a blank. */
    for (end = line; *end; end++) {
        if (strchr("#;", *end) && (end == line || isblank((unsigned char)end[-1])))
            break;
    }
    *end = '\0';
    trim(line);
    if (*line == '[')
        return enter_section(settings, line, error);
    if (!*line)
        return 0;
    value = strchr(line, '=');
    if (!value)
        return refuse(error, -EINVAL, "neither KEY = VALUE nor [prefix PREFIX]");
    *value++ = '\0';
    trim(line);
    return set_key(settings, line, value + strspn(value, " \t"), error);
}

int config_parse(struct settings *settings, const char *name, char *lines,
                 struct riptide_error *error)
{
    struct riptide_error mistake;
    char *line;

    settings->file = name;
    for (int n = 1; (line = strsep(&lines, "\n")); n++) {
        if (take_line(settings, line, &mistake) < 0)
            return refuse(error, -EINVAL, "%.100s:%d: %.140s", name, n, mistake.text);
    }
    return 0;
}
