/* SPDX-License-Identifier: MIT */
/* Reads riptided.conf into settings, line by line in a copy of the text, to which values point. */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct settings *settings;
    const char *name; /* of the file */
    int line;
    const char *section; /* empty: none yet */
    bool is_lost;        /* the section's header is wrong, so its keys have no meaning */
    int code;            /* 0, or the first error */

    /* The target of the section's keys, and which of them it has. */
    const struct option_row *rows;
    void *target;
    bool *given;
    bool given_of_all[OPTIONS_MAX_ROWS], given_of_prefix[OPTIONS_MAX_ROWS];
};

/* Later mistakes may follow from the first one. */
__attribute__((format(printf, 3, 4))) static int fail(struct reader *reader, int code,
                                                      const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int n;

    if (reader->code)
        return code;
    reader->code = code;
    va_start(args, format);
    n = vasprintf(&text, format, args);
    va_end(args);
    options_say(&reader->settings->mistake, "%s:%d: %s", reader->name, reader->line,
                n < 0 ? strerror(ENOMEM) : text);
    free(n < 0 ? NULL : text);
    return code;
}

static int fail_key(struct reader *reader, const char *key)
{
    const struct option_row *row = options_find(settings_rows, key, strlen(key));

    if (row && row->section)
        return fail(reader, -EINVAL, "%s: belongs to [%s]", key, row->section);
    if (row)
        return fail(reader, -EINVAL, "%s: is only a command-line option", key);
    return fail(reader, -EINVAL, "%s: unknown key (riptided.conf(5) lists them)", key);
}

static int set_value(struct reader *reader, const struct option_row *row, char *value)
{
    bool *given = &reader->given[row - reader->rows];
    void *target = (char *)reader->target + row->offset;
    int r;

    if (*given && !row->kind->is_list)
        return fail(reader, -EINVAL, "%s: was given already", row->name);
    r = value_parse(row->kind, target, value);
    if (r == -EINVAL)
        return fail(reader, r, "%s%s%s: %s", row->name, *value ? " " : "", value,
                    row->kind->expected);
    if (r < 0)
        return fail(reader, r, "%s: %s", row->name, strerror(-r));
    /* In a hint 0 means that it is not set. */
    if (reader->rows == override_rows && row->kind == &value_u32 && *(uint32_t *)target == 0)
        return fail(reader, -EINVAL, "%s 0: must be above 0", row->name);
    *given = true;
    return 0;
}

static int set_key(struct reader *reader, const char *key, char *value)
{
    const struct option_row *row = options_find(reader->rows, key, strlen(key));
    bool is_here = row && (reader->rows == override_rows ||
                           (row->section && !strcmp(row->section, reader->section)));

    return is_here ? set_value(reader, row, value) : fail_key(reader, key);
}

static void leave_prefix(struct reader *reader)
{
    reader->rows = settings_rows;
    reader->target = reader->settings;
    reader->given = reader->given_of_all;
}

static int enter_prefix(struct reader *reader, const char *text)
{
    struct settings *settings = reader->settings;
    struct riptide_prefix dst;
    int r;

    text += strspn(text, " \t");
    if (riptide_prefix_parse(&dst, text))
        return fail(reader, -EINVAL, "[%s]: %s", reader->section, value_prefixes.expected);
    r = settings_add_override(settings, &dst);
    if (r == -EEXIST)
        return fail(reader, -EINVAL, "[%s]: was given already", reader->section);
    if (r == -E2BIG)
        return fail(reader, -EINVAL, "more than %d sections for prefixes", RIPTIDE_MAX_HINTS);
    if (r < 0)
        return fail(reader, -ENOMEM, "%s", strerror(ENOMEM));
    reader->rows = override_rows;
    reader->target = &settings->overrides[settings->n_overrides - 1];
    reader->given = reader->given_of_prefix;
    memset(reader->given_of_prefix, 0, sizeof(reader->given_of_prefix));
    return 0;
}

/* "[name]" */
static int enter_section(struct reader *reader, char *line, size_t len)
{
    size_t word = strlen(PREFIX_SECTION);

    if (line[len - 1] != ']')
        return fail(reader, -EINVAL, "a section is [NAME], with nothing after it");
    line[len - 1] = '\0';
    reader->section = line + 1;
    leave_prefix(reader);
    if (!strncmp(reader->section, PREFIX_SECTION, word) &&
        (!reader->section[word] || isblank((unsigned char)reader->section[word])))
        return enter_prefix(reader, reader->section + word);
    for (const struct option_row *row = settings_rows; row->name; row++) {
        if (row->section && !strcmp(row->section, reader->section))
            return 0;
    }
    return fail(reader, -EINVAL, "[%s]: unknown section", reader->section);
}

/* Without blanks at its end. */
static size_t trim(const char *text, size_t len)
{
    while (len > 0 && (isblank((unsigned char)text[len - 1]) || text[len - 1] == '\r'))
        len--;
    return len;
}

/* The part before a comment, which may begin after a blank. */
static size_t without_comment(const char *line, size_t len)
{
    size_t n = 0;

    while (n < len &&
           !((line[n] == '#' || line[n] == ';') && (n == 0 || isblank((unsigned char)line[n - 1]))))
        n++;
    return trim(line, n);
}

/* "KEY = VALUE", or "KEY: VALUE". */
static int take_key(struct reader *reader, char *line)
{
    size_t len = strcspn(line, "=:");
    char *value = line + len + 1;

    if (!line[len])
        return fail(reader, -EINVAL, "neither a [section] nor KEY = VALUE");
    line[trim(line, len)] = '\0';
    return set_key(reader, line, value + strspn(value, " \t"));
}

static int take_line(struct reader *reader, char *line, size_t len)
{
    while (len > 0 && isblank((unsigned char)line[0])) {
        line++;
        len--;
    }
    len = without_comment(line, len);
    for (size_t i = 0; i < len; i++) {
        if (iscntrl((unsigned char)line[i]) && line[i] != '\t')
            return fail(reader, -EINVAL, "contains a control character (0x%02x)",
                        (unsigned char)line[i]);
    }
    line[len] = '\0';
    if (line[0] == '[')
        reader->is_lost = enter_section(reader, line, len) < 0;
    return len == 0 || line[0] == '[' || reader->is_lost ? 0 : take_key(reader, line);
}

int config_parse(struct settings *settings, const char *name, const char *bytes, size_t n)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark of UTF-8, which some editors write
                                                */
    struct reader reader = { .settings = settings, .name = name, .section = "" };
    char *line = malloc(n + 1), *end, *stop;

    leave_prefix(&reader);
    settings->file = name;
    settings->text = line;
    if (!line)
        return fail(&reader, -ENOMEM, "%s", strerror(ENOMEM));
    end = line + n;
    memcpy(line, bytes, n);
    if (n >= strlen(mark) && !memcmp(bytes, mark, strlen(mark)))
        line += strlen(mark);
    for (; line < end && reader.code != -ENOMEM; line = stop + 1) {
        stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            stop = end;
        reader.line++;
        take_line(&reader, line, (size_t)(stop - line));
    }
    return reader.code;
}
