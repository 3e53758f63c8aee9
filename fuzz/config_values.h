/* SPDX-License-Identifier: MIT */
/*
 * The values of an accepted riptided.conf, read a second time without the programs' tables: lines
 * by hand, numbers digit by digit. For keys whose values are numbers, in any unit.
 */
#ifndef RIPTIDE_FUZZ_CONFIG_VALUES_H
#define RIPTIDE_FUZZ_CONFIG_VALUES_H

#include "settings.h"

#include "case_bytes.h"
#include "lib/tools.h"

#include <string.h>

enum written { TIME, WHOLE, SHARE };
enum type { U64, U32, U8, DOUBLE };

struct known_key {
    const char *section, *name;
    enum written written;
    enum type type;
    size_t offset; /* in struct settings, or of a prefix in struct riptide_hint */
};

#define KEY(section, name, written, type, field)                                                   \
    {                                                                                              \
        section, name, written, type, offsetof(struct settings, field)                             \
    }
#define KEY_OF_PREFIX(name, written, type, field)                                                  \
    { "prefix", name, written, type, offsetof(struct riptide_hint, field) }

static const struct known_key known_keys[] = {
    KEY("observe", "interval", TIME, U64, agent.interval_ns),
    KEY("observe", "max-share", SHARE, DOUBLE, agent.max_share),
    KEY("compute", "cwnd-min", WHOLE, U32, estimator.cwnd_min),
    KEY("compute", "cwnd-max", WHOLE, U32, estimator.cwnd_max),
    KEY("compute", "ttl", TIME, U64, estimator.ttl_ns),
    KEY("compute", "history-weight", SHARE, DOUBLE, estimator.history_weight),
    KEY("compute", "prefix-len4", WHOLE, U8, estimator.prefix_len4),
    KEY("compute", "prefix-len6", WHOLE, U8, estimator.prefix_len6),
    KEY("compute", "max-destinations", WHOLE, U32, estimator.max_destinations),
    KEY("apply", "table", WHOLE, U32, applier.table),
    KEY_OF_PREFIX("cwnd-min", WHOLE, U32, cwnd_min),
    KEY_OF_PREFIX("cwnd-max", WHOLE, U32, cwnd_max),
};

enum { N_KNOWN_KEYS = sizeof(known_keys) / sizeof(known_keys[0]), MAX_LINE_BYTES = 1 << 16 };

/* The value of any type, in a type that can represent them all. */
static long double value_at(const void *target, const struct known_key *key)
{
    const char *at = (const char *)target + key->offset;

    switch (key->type) {
    case U64:
        return (long double)*(const uint64_t *)at;
    case U32:
        return *(const uint32_t *)at;
    case U8:
        return *(const uint8_t *)at;
    default:
        return *(const double *)at;
    }
}

/* Digits of a base; with a decimal point in base ten. */
static long double read_digits(const char **textp, int base)
{
    static const char digits[] = "0123456789abcdef";
    long double value = 0, unit = 1;
    bool is_behind_point = false;

    for (; **textp; ++*textp) {
        int letter = **textp >= 'A' && **textp <= 'F' ? **textp - 'A' + 'a' : **textp;
        const char *digit = memchr(digits, letter, (size_t)base);

        if (**textp == '.' && !is_behind_point) {
            is_behind_point = true;
            continue;
        }
        if (!digit)
            break;
        value = value * base + (int)(digit - digits);
        unit *= is_behind_point ? base : 1;
    }
    return value / unit;
}

static long double read_time_ns(const char *text)
{
    long double value = read_digits(&text, 10);

    if (value == 0 && *text == '\0')
        return 0;
    if (!strcmp(text, "ms"))
        return value * 1000000;
    if (!strcmp(text, "s"))
        return value * 1000000000;
    if (!strcmp(text, "m") || !strcmp(text, "min"))
        return value * 60 * 1000000000;
    if (!strcmp(text, "h"))
        return value * 60 * 60 * 1000000000;
    CASE_CHECK(!strcmp(text, "d"));
    return value * 24 * 60 * 60 * 1000000000;
}

static long double read_share(const char *text)
{
    long double value;

    if (!strcmp(text, "on")) /* of max-share */
        return 0.05L;
    if (!strcmp(text, "off"))
        return 0;
    value = read_digits(&text, 10);
    CASE_CHECK(!*text || !strcmp(text, "%"));
    return *text ? value / 100 : value;
}

static long double read_value(const struct known_key *key, const char *text)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    long double value;

    switch (key->written) {
    case TIME:
        return read_time_ns(text);
    case SHARE:
        return read_share(text);
    default:
        text += is_hex ? 2 : 0;
        value = read_digits(&text, is_hex ? 16 : 10);
        CASE_CHECK(!*text);
        return value;
    }
}

static void hold_value(const void *target, const struct known_key *key, const char *text)
{
    long double is = value_at(target, key), should = read_value(key, text);
    /* Under valgrind a long double has no more bits than a double. */
    bool is_exact = key->type != DOUBLE && should < 0x1p53L;
    long double slack = is_exact ? 0 : should * 1e-12L;

    CASE_CHECK(is >= should - slack && is <= should + slack);
}

static char *trim(char *text)
{
    size_t n;

    text += strspn(text, " \t");
    for (n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

/* The struct that the keys of the section set. */
static const void *target_of(const struct settings *settings, const char *section)
{
    const struct riptide_hint *found = NULL;
    struct riptide_prefix dst;

    if (strncmp(section, "prefix", 6) != 0)
        return settings;
    CASE_CHECK(!riptide_prefix_parse(&dst, section + 6 + strspn(section + 6, " \t")));
    for (size_t i = 0; i < settings->n_overrides; i++) {
        if (riptide_prefix_equal(&settings->overrides[i].dst, &dst))
            found = &settings->overrides[i];
    }
    CASE_CHECK(found);
    return found;
}

/* Checks one line, which is in the section `section`. */
static void hold_line(const struct settings *settings, char *line, char *section, bool *is_given)
{
    size_t n_word;

    for (char *at = line; *at; at++) {
        if ((*at == '#' || *at == ';') && (at == line || strchr(" \t", at[-1])))
            *at = '\0';
        if (!*at)
            break;
    }
    line = trim(line);
    if (line[0] == '[') {
        line[strcspn(line, "]")] = '\0';
        strcpy(section, line + 1);
        return;
    }
    n_word = strcspn(section, " \t");
    for (size_t i = 0; i < N_KNOWN_KEYS && *line; i++) {
        const struct known_key *key = &known_keys[i];
        size_t n = strlen(key->name), at = n + strspn(line + (strlen(line) < n ? 0 : n), " \t");

        if (strlen(key->section) != n_word || strncmp(key->section, section, n_word) != 0 ||
            strncmp(line, key->name, n) != 0 || (line[at] != '=' && line[at] != ':'))
            continue;
        is_given[i] = true;
        hold_value(target_of(settings, section), key, trim(line + at + 1));
    }
}

/* Checks that values of the file are as written, and all others the defaults. */
static void hold_values(const struct settings *settings, const struct settings *defaults,
                        const char *bytes, size_t n)
{
    char line[MAX_LINE_BYTES], section[MAX_LINE_BYTES] = "";
    bool is_given[N_KNOWN_KEYS] = { false };
    size_t n_line;

    if (n >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3)) {
        bytes += 3;
        n -= 3;
    }
    for (; n > 0; bytes += n_line, n -= n_line) {
        const char *stop = memchr(bytes, '\n', n);
        size_t n_blank = 0;

        n_line = stop ? (size_t)(stop + 1 - bytes) : n;
        while (n_blank < n_line && (bytes[n_blank] == ' ' || bytes[n_blank] == '\t'))
            n_blank++;
        /* A longer line ends with a comment: otherwise it would have been refused. */
        snprintf(line, sizeof(line), "%.*s", (int)(n_line - n_blank), bytes + n_blank);
        line[strcspn(line, "\n")] = '\0';
        hold_line(settings, trim(line), section, is_given);
    }
    for (size_t i = 0; i < N_KNOWN_KEYS; i++) {
        const struct known_key *key = &known_keys[i];

        if (is_given[i] || !strcmp(key->section, "prefix"))
            continue;
        CASE_CHECK(value_at(settings, key) == value_at(defaults, key));
    }
}

#endif
