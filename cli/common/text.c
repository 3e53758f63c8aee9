/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

/* Where the text of a field begins. */
enum { INDENT = 15 };

static unsigned int lines_left = UINT_MAX, n_left_out;

unsigned int text_wrap(FILE *out, unsigned int columns, unsigned int at, unsigned int indent,
                       const char *text)
{
    unsigned int n = 1;
    bool blank = false;

    while (*text) {
        const unsigned int len = (unsigned int)strcspn(text, " ");
        const bool is_next = blank && at + 1 + len > columns;
        const unsigned int before = is_next ? indent : blank;

        n += is_next;
        at = is_next ? indent + len : at + blank + len;
        if (out)
            fprintf(out, "%s%*s%.*s", is_next ? "\n" : "", (int)before, "", (int)len, text);
        blank = true;
        text += len;
        text += strspn(text, " ");
    }
    if (out)
        fputc('\n', out);
    return n;
}

unsigned int text_limit_fields(unsigned int n_lines)
{
    lines_left = n_lines;
    return n_left_out;
}

void text_field(const char *name, const char *format, ...)
{
    char bytes[TEXT_BYTES];
    const unsigned int at = name ? INDENT : 0, indent = name ? INDENT : 2;
    unsigned int n_lines;
    va_list args;

    va_start(args, format);
    vsnprintf(bytes, sizeof(bytes), format, args);
    va_end(args);
    n_lines = text_wrap(NULL, TEXT_COLUMNS, at, indent, bytes);
    n_left_out += *bytes && n_lines > lines_left;
    if (!*bytes || n_lines > lines_left)
        return;
    lines_left -= n_lines;
    if (name)
        printf("  %-*s", INDENT - 2, name);
    text_wrap(stdout, TEXT_COLUMNS, at, indent, bytes);
}

void text_append(char *text, size_t bytes, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + n, bytes - n, format, args);
    va_end(args);
}

const char *text_span(char text[TEXT_SPAN_BYTES], double s)
{
    static const struct {
        const char *name;
        double s;
    } units[] = { { "d", 86400 }, { "h", 3600 }, { "min", 60 }, { "s", 1 } };
    size_t i = 0;

    while (units[i].s > 1 && s < 2 * units[i].s)
        i++;
    snprintf(text, TEXT_SPAN_BYTES, "%.*f %s", s < 10, s / units[i].s, units[i].name);
    return text;
}

const char *text_time(char text[TEXT_TIME_BYTES], long long seconds, const char *format)
{
    const time_t time = (time_t)seconds;
    struct tm tm;

    if (!localtime_r(&time, &tm))
        return "?";
    strftime(text, TEXT_TIME_BYTES, format, &tm);
    return text;
}

int refuse(struct riptide_error *error, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return code;
}
