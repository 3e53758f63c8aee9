/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of Prometheus text with gauges, counters and histograms, written from the
 * specification, not from our writer. Ends the process if the text is invalid.
 */
#ifndef RIPTIDE_FUZZ_PROMETHEUS_H
#define RIPTIDE_FUZZ_PROMETHEUS_H

#include "case_bytes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct family {
    char name[128];
    char type[16];
    double bucket; /* the last one's count; NAN: none yet */
    double bound;
    bool has_samples;
    bool has_infinite;
    bool has_help;
};

static inline bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Copies a name from *atp, and moves *atp after it. */
static inline void read_name(const char **atp, char *name, size_t size)
{
    size_t n = strspn(*atp, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");

    CASE_CHECK(n > 0 && n < size && !strchr("0123456789", **atp));
    memcpy(name, *atp, n);
    name[n] = 0;
    *atp += n;
}

static inline void expect(const char **atp, const char *text)
{
    CASE_CHECK(starts_with(*atp, text));
    *atp += strlen(text);
}

static inline double read_number(const char *at)
{
    char *end;
    double value = strtod(at, &end);

    /* A strict reader refuses "nan", hexadecimal numbers and blanks. */
    CASE_CHECK(end != at && *end == 0 && strspn(at, "0123456789.e+-") == strlen(at));
    return value;
}

/* Reads # HELP or # TYPE of a family: each once, before its samples. */
static inline void read_comment(struct family *family, const char *line)
{
    char name[128], keyword[8];

    expect(&line, "# ");
    read_name(&line, keyword, sizeof(keyword));
    expect(&line, " ");
    read_name(&line, name, sizeof(name));
    expect(&line, " ");
    CASE_CHECK(*line);
    if (strcmp(name, family->name) != 0) {
        *family = (struct family){ .bucket = NAN, .bound = -INFINITY };
        memcpy(family->name, name, sizeof(name));
    }
    CASE_CHECK(!family->has_samples);
    if (!strcmp(keyword, "TYPE")) {
        CASE_CHECK(!family->type[0]);
        read_name(&line, family->type, sizeof(family->type));
        CASE_CHECK(!strcmp(family->type, "gauge") || !strcmp(family->type, "counter") ||
                   !strcmp(family->type, "histogram"));
        CASE_CHECK(!*line);
    } else {
        CASE_CHECK(!strcmp(keyword, "HELP") && !family->has_help && !strpbrk(line, "\\\""));
        family->has_help = true;
    }
}

/* Reads labels in braces; copies the value of `le` to `le`, empty if there is none. */
static inline void read_labels(const char **atp, char le[64])
{
    char name[64];
    size_t n;

    le[0] = 0;
    if (**atp != '{')
        return;
    ++*atp;
    do {
        read_name(atp, name, sizeof(name));
        expect(atp, "=\"");
        n = strcspn(*atp, "\"\\\n");
        CASE_CHECK(n > 0 && n < 64);
        if (!strcmp(name, "le")) {
            memcpy(le, *atp, n);
            le[n] = 0;
        }
        *atp += n;
        expect(atp, "\"");
    } while (**atp == ',' && ++*atp);
    expect(atp, "}");
}

static inline void check_bucket(struct family *family, const char *le, double value)
{
    double bound = !strcmp(le, "+Inf") ? INFINITY : read_number(le);

    CASE_CHECK(!family->has_infinite && bound > family->bound);
    CASE_CHECK(isnan(family->bucket) || value >= family->bucket);
    family->bound = bound;
    family->bucket = value;
    family->has_infinite = isinf(bound);
}

static inline void read_sample(struct family *family, const char *line)
{
    char name[128], le[64];
    const char *suffix;
    double value;

    read_name(&line, name, sizeof(name));
    CASE_CHECK(family->has_help && starts_with(name, family->name));
    suffix = name + strlen(family->name);
    read_labels(&line, le);
    expect(&line, " ");
    value = read_number(line);
    CASE_CHECK(value >= 0);
    family->has_samples = true;
    if (!strcmp(family->type, "gauge"))
        CASE_CHECK(!*suffix);
    else if (!strcmp(family->type, "counter"))
        CASE_CHECK(!*suffix && !strcmp(name + strlen(name) - strlen("_total"), "_total"));
    else if (!strcmp(suffix, "_bucket"))
        check_bucket(family, le, value);
    else if (!strcmp(suffix, "_count"))
        CASE_CHECK(family->has_infinite && value == family->bucket);
    else
        CASE_CHECK(!strcmp(suffix, "_sum") && !strcmp(family->type, "histogram"));
}

/* Reads the text to its end, and changes it. */
static inline void prometheus_read(char *text)
{
    struct family family = { .bucket = NAN };
    char *end;

    for (char *line = text; *line; line = end + 1) {
        end = strchr(line, '\n');
        CASE_CHECK(end);
        *end = 0;
        if (*line == '#')
            read_comment(&family, line);
        else
            read_sample(&family, line);
    }
}

#endif
