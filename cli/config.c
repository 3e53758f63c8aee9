/* SPDX-License-Identifier: MIT */
/*
 * riptided.conf into settings, line by line in a copy of the text, which values point into.
 */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NO_OVERRIDE = -1 };

struct reader {
    struct settings *settings;
    const char *name; /* of the file */
    char *at;         /* the next line */
    char *end;
    int line;
    char section[64]; /* empty: none yet */
    bool is_lost;     /* the section has a mistake: nobody knows what its keys mean */
    long override;    /* number of the one that the section is for */
    int code;         /* 0, or the first error */
    size_t n_mistakes;
};

__attribute__((format(printf, 3, 4))) static int fail(struct reader *reader, int code,
                                                      const char *format, ...)
{
    struct settings *settings = reader->settings;
    size_t size = sizeof(settings->mistakes[0].text);
    va_list args;
    char *text;
    int n;

    if (!reader->code)
        reader->code = code;
    if (reader->n_mistakes++ >= SETTINGS_MAX_MISTAKES)
        return code;
    text = settings->mistakes[settings->n_mistakes].text;
    n = snprintf(text, size, "%s:%d: ", reader->name, reader->line);
    va_start(args, format);
    if (n >= 0 && (size_t)n < size)
        vsnprintf(text + n, size - (size_t)n, format, args);
    va_end(args);
    settings->n_mistakes++;
    return code;
}

static const struct option_row *rows_of(const struct reader *reader)
{
    return reader->override == NO_OVERRIDE ? settings_rows : override_rows;
}

static int fail_key(struct reader *reader, const char *key)
{
    const struct option_row *row = options_find(settings_rows, key, strlen(key));
    struct nearest nearest = { key, strlen(key), NULL, 0 };

    if (!reader->section[0])
        return fail(reader, -EINVAL, "%s: stands before any section%s%s%s", key,
                    row && row->section ? "; it belongs to [" : "",
                    row && row->section ? row->section : "", row && row->section ? "]" : "");
    if (row && row->section)
        return fail(reader, -EINVAL, "%s: belongs to [%s], not to [%s]", key, row->section,
                    reader->section);
    if (row)
        return fail(reader, -EINVAL, "%s: is an option of the command line alone", key);
    for (row = rows_of(reader); row->name; row++) {
        if (row->section)
            nearest_offer(&nearest, row->name);
    }
    return fail(reader, -EINVAL, "%s: unknown key%s", key, nearest_question(&nearest));
}

static int set_value(struct reader *reader, const struct option_row *row, void *target, int *line,
                     char *value)
{
    int r;

    if (*line && !row->kind->clear)
        return fail(reader, -EINVAL, "%s: was given in line %d already", row->name, *line);
    r = row->kind->parse((char *)target + row->offset, value);
    if (r == -EINVAL)
        return fail(reader, r, "%s%s%s: %s%s", row->name, *value ? " " : "", value,
                    row->kind->expected, option_guess(row, value));
    if (r < 0)
        return fail(reader, r, "%s: %s", row->name, strerror(-r));
    if (!*line)
        *line = reader->line;
    return 0;
}

/* What is 0 there is as for all others: written down, it means nothing. */
static int check_override(struct reader *reader, const struct option_row *row,
                          const struct riptide_hint *override)
{
    char *text = option_print(row, override);
    bool is_zero = text && !strcmp(text, "0");

    free(text);
    return is_zero ? fail(reader, -EINVAL, "%s 0: must be above 0", row->name) : 0;
}

static int set_override(struct reader *reader, const struct option_row *row, char *value)
{
    struct riptide_hint *override = &reader->settings->overrides[reader->override];
    struct override_lines *lines = &reader->settings->override_lines[reader->override];
    int r = set_value(reader, row, override, &lines->keys[row - override_rows], value);

    return r < 0 ? r : check_override(reader, row, override);
}

static int set_key(struct reader *reader, const char *key, char *value)
{
    struct settings *settings = reader->settings;
    const struct option_row *row = options_find(rows_of(reader), key, strlen(key));
    const struct gone_row *gone = gone_find(key, strlen(key));
    char reason[160];

    if (gone)
        return gone_holds(gone, value, reason, sizeof(reason))
                   ? 0
                   : fail(reader, -EINVAL, "%s %s: %s", key, value, reason);
    if (reader->override != NO_OVERRIDE && row)
        return set_override(reader, row, value);
    if (row && row->section && !strcmp(row->section, reader->section)) {
        return set_value(reader, row, settings, &settings->lines[row - settings_rows], value);
    }
    return fail_key(reader, key);
}

static int fail_section(struct reader *reader)
{
    size_t len = strcspn(reader->section, " \t");
    struct nearest nearest = { reader->section, len, NULL, 0 };
    struct riptide_prefix prefix;
    const char *last = "";
    char all[96] = "";
    size_t n = 0;

    if (!riptide_prefix_parse(&prefix, reader->section))
        return fail(reader, -EINVAL, "[%s]: unknown section; is [" PREFIX_SECTION " %s] meant?",
                    reader->section, reader->section);
    for (const struct option_row *row = settings_rows; row->name; row++) {
        if (!row->section || !strcmp(row->section, last))
            continue;
        last = row->section;
        nearest_offer(&nearest, last);
        n += (size_t)snprintf(all + n, n < sizeof(all) ? sizeof(all) - n : 0, "%s, ", last);
    }
    nearest_offer(&nearest, PREFIX_SECTION);
    if (nearest.name)
        return fail(reader, -EINVAL, "[%s]: unknown section%s", reader->section,
                    nearest_question(&nearest));
    return fail(reader, -EINVAL, "[%s]: unknown section; there are %s" PREFIX_SECTION " PREFIX",
                reader->section, all);
}

static int enter_prefix(struct reader *reader, const char *text)
{
    struct riptide_prefix dst;
    size_t i;
    int r;

    text += strspn(text, " \t");
    if (riptide_prefix_parse(&dst, text))
        return fail(reader, -EINVAL, "[%s]: %s", reader->section, value_prefixes.expected);
    r = settings_add_override(reader->settings, &dst, reader->line, &i);
    if (r == -E2BIG)
        return fail(reader, -EINVAL, "more than %d sections for prefixes", RIPTIDE_MAX_HINTS);
    if (r < 0)
        return fail(reader, -ENOMEM, "%s", strerror(ENOMEM));
    reader->override = (long)i;
    return 0;
}

/* "[name]", with nothing behind it but a comment. */
static int enter_section(struct reader *reader, const char *line, size_t len)
{
    const char *close = memchr(line, ']', len);
    size_t word = strlen(PREFIX_SECTION);
    size_t behind;

    if (!close)
        return fail(reader, -EINVAL, "a section needs its ]");
    for (behind = (size_t)(close + 1 - line); behind < len && isblank((unsigned char)line[behind]);)
        behind++;
    if (behind < len && line[behind] != ';' && line[behind] != '#')
        return fail(reader, -EINVAL, "nothing may stand behind the ] of a section");
    if ((size_t)(close - line) > sizeof(reader->section))
        return fail(reader, -EINVAL, "[%.20s...]: unknown section", line + 1);
    snprintf(reader->section, sizeof(reader->section), "%.*s", (int)(close - line - 1), line + 1);
    reader->override = NO_OVERRIDE;
    if (!strncmp(reader->section, PREFIX_SECTION, word) &&
        (!reader->section[word] || isblank((unsigned char)reader->section[word])))
        return enter_prefix(reader, reader->section + word);
    for (const struct option_row *row = settings_rows; row->name; row++) {
        if (row->section && !strcmp(row->section, reader->section))
            return 0;
    }
    return fail_section(reader);
}

/* Without blanks at its end. */
static size_t trim(const char *text, size_t len)
{
    while (len > 0 && (isblank((unsigned char)text[len - 1]) || text[len - 1] == '\r'))
        len--;
    return len;
}

/* Up to a comment, which may begin behind a blank. */
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
    if (memchr(line, '\0', len))
        return fail(reader, -EINVAL, "holds a NUL byte; this is no text file");
    len = without_comment(line, len);
    for (size_t i = 0; i < len; i++) {
        if (iscntrl((unsigned char)line[i]) && line[i] != '\t')
            return fail(reader, -EINVAL, "holds a control character (0x%02x)",
                        (unsigned char)line[i]);
    }
    line[len] = '\0';
    if (line[0] == '[')
        reader->is_lost = enter_section(reader, line, len) < 0;
    return len == 0 || line[0] == '[' || reader->is_lost ? 0 : take_key(reader, line);
}

/* The next line without what surrounds it. */
static void read_line(struct reader *reader)
{
    char *line = reader->at;
    char *stop = memchr(line, '\n', (size_t)(reader->end - line));

    if (!stop)
        stop = reader->end;
    reader->at = stop < reader->end ? stop + 1 : stop;
    reader->line++;
    while (line < stop && isblank((unsigned char)*line))
        line++;
    take_line(reader, line, trim(line, (size_t)(stop - line)));
}

int config_parse(struct settings *settings, const char *name, const char *bytes, size_t n)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some editors write it */
    struct reader reader = { .settings = settings, .name = name, .override = NO_OVERRIDE };

    settings->file = name;
    reader.at = settings->text = malloc(n + 1);
    if (!settings->text)
        return fail(&reader, -ENOMEM, "%s", strerror(ENOMEM));
    memcpy(settings->text, bytes, n);
    reader.end = settings->text + n;
    *reader.end = '\0';
    if (n >= strlen(mark) && !memcmp(bytes, mark, strlen(mark)))
        reader.at += strlen(mark);
    while (reader.at < reader.end && reader.code != -ENOMEM)
        read_line(&reader);
    if (reader.n_mistakes > SETTINGS_MAX_MISTAKES)
        snprintf(settings->mistakes[SETTINGS_MAX_MISTAKES - 1].text,
                 sizeof(settings->mistakes[0].text), "%s: and %zu mistakes more", name,
                 reader.n_mistakes - SETTINGS_MAX_MISTAKES + 1);
    return reader.code;
}

/* A line for each word where the key may be given many times: lines have a greatest length. */
static void print_key(FILE *out, const struct option_row *row, const char *value)
{
    bool is_list = row->kind->clear;

    if (!*value && !row->kind->argument)
        value = "no"; /* a flag */
    if (!*value)
        fprintf(out, "#%s =\n", row->name);
    while (*value) {
        size_t len = is_list ? strcspn(value, " ") : strlen(value);

        fprintf(out, "%s = %.*s\n", row->name, (int)len, value);
        value += len + (value[len] == ' ');
    }
}

static void print_override(FILE *out, const struct settings *settings, size_t i)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&settings->overrides[i].dst, dst);
    fprintf(out, "\n# %s:%d\n[" PREFIX_SECTION " %s]\n", settings->file,
            settings->override_lines[i].section, dst);
    for (const struct option_row *row = override_rows; row->name; row++) {
        int line = settings->override_lines[i].keys[row - override_rows];
        char *value = line ? option_print(row, &settings->overrides[i]) : NULL;

        if (value) {
            fprintf(out, "# %s (%s:%d)\n", row->help, settings->file, line);
            print_key(out, row, value);
        }
        free(value);
    }
}

static void print_sections(FILE *out, const struct settings *settings)
{
    const char *section = "";

    for (const struct option_row *row = settings_rows; row->name; row++) {
        char *value;

        if (!row->section)
            continue;
        if (strcmp(row->section, section)) {
            section = row->section;
            fprintf(out, "\n[%s]\n", section);
        }
        fprintf(out, "# %s (", row->help);
        settings_describe_origin(settings, row, out);
        fputs(")\n", out);
        value = option_print(row, settings);
        if (value)
            print_key(out, row, value);
        free(value);
    }
}

void config_print(FILE *out, const struct settings *settings)
{
    fprintf(out, "# riptided %s: what is in force, and where it comes from\n", riptide_version());
    print_sections(out, settings);
    for (size_t i = 0; i < settings->n_overrides; i++)
        print_override(out, settings, i);
}
