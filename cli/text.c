/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

/* Where the text of a field begins. */
enum { INDENT = 15 };

unsigned int text_wrap(FILE *out, unsigned int indent, const char *text)
{
    unsigned int n = 1;
    size_t at = indent;

    while (*text) {
        const size_t len = strcspn(text, " ");
        const size_t blank = at > indent;

        if (blank && at + 1 + len > TEXT_COLUMNS) {
            n++;
            at = indent + len;
            if (out)
                fprintf(out, "\n%*s%.*s", (int)indent, "", (int)len, text);
        } else {
            at += blank + len;
            if (out)
                fprintf(out, "%s%.*s", blank ? " " : "", (int)len, text);
        }
        text += len;
        text += strspn(text, " ");
    }
    if (out)
        fputc('\n', out);
    return n;
}

unsigned int text_field(FILE *out, const char *name, const char *format, ...)
{
    char bytes[TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(bytes, sizeof(bytes), format, args);
    va_end(args);
    if (out)
        fprintf(out, "  %-*s", INDENT - 2, name);
    return text_wrap(out, INDENT, bytes);
}

const char *text_span(char text[TEXT_SPAN_BYTES], double s)
{
    static const struct {
        const char *name;
        double s;
    } units[] = { { "d", 86400 }, { "h", 3600 }, { "min", 60 } };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (s < 2 * units[i].s)
            continue;
        snprintf(text, TEXT_SPAN_BYTES, "%ld %s", (long)(s / units[i].s + 0.5), units[i].name);
        return text;
    }
    if (s < 10)
        snprintf(text, TEXT_SPAN_BYTES, "%.1f s", s);
    else
        snprintf(text, TEXT_SPAN_BYTES, "%ld s", (long)(s + 0.5));
    return text;
}

const char *text_time(char text[TEXT_TIME_BYTES], long long seconds, const char *format)
{
    const time_t time = (time_t)seconds;
    struct tm tm;

    strftime(text, TEXT_TIME_BYTES, format, localtime_r(&time, &tm));
    return text;
}
