/* SPDX-License-Identifier: MIT */
/*
 * Gives a program's table to getopt_long(3), and parses values: nothing may follow one, and no unit
 * is guessed.
 */
#include "options.h"

#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <riptide/agent.h>
#include <stdlib.h>
#include <string.h>

/* Of a path: log lines with one must stay readable. */
enum { MAX_TEXT_BYTES = 160 };

/* Of a table, one bit each in `given`; and the first row's result, beyond all letters. */
enum { MAX_ROWS = 64, FIRST_ROW = 256 };

/* Leading digits, and their end: strtoull also accepts blanks, and wraps "-1" around. */
static int parse_digits(const char *text, char **endp, uint64_t *numberp)
{
    if (!isdigit((unsigned char)text[0]))
        return -EINVAL;
    errno = 0;
    *numberp = strtoull(text, endp, 10);
    return errno ? -EINVAL : 0;
}

#define PARSE_NUMBER(name, type, most)                                                             \
    static int parse_##name(void *target, const char *text)                                        \
    {                                                                                              \
        uint64_t number;                                                                           \
        char *end;                                                                                 \
                                                                                                   \
        if (parse_digits(text, &end, &number) < 0 || *end || number > (most))                      \
            return -EINVAL;                                                                        \
        *(type *)target = (type)number;                                                            \
        return 0;                                                                                  \
    }

PARSE_NUMBER(u8, uint8_t, UINT8_MAX)
PARSE_NUMBER(u32, uint32_t, UINT32_MAX)

static int parse_duration(void *target, const char *text)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = { { "ms", 1 },      { "s", 1000 },    { "m", 60000 },
                  { "min", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
    uint64_t number, ns;
    char *unit;

    if (parse_digits(text, &unit, &number) < 0)
        return -EINVAL;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].name) != 0)
            continue;
        if (__builtin_mul_overflow(number, units[i].ms * 1000000, &ns))
            return -EINVAL;
        *(uint64_t *)target = ns;
        return 0;
    }
    return -EINVAL;
}

/* "0.05" or "5%". */
static int parse_share(void *target, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (!isdigit((unsigned char)text[0]) || (*end && strcmp(end, "%") != 0))
        return -EINVAL;
    *(double *)target = *end ? value / 100 : value;
    return 0;
}

const char *log_level_name(int level)
{
    static const char *const names[] = {
        [LOG_ERR] = "error", [LOG_WARNING] = "warning", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"
    };

    return names[level];
}

#define PARSE_WORD(name, type, first, last, word_of)                                               \
    static int parse_##name(void *target, const char *text)                                        \
    {                                                                                              \
        for (uint32_t i = first; i <= (last); i++) {                                               \
            const char *word = word_of;                                                            \
                                                                                                   \
            if (!word || strcmp(word, text) != 0)                                                  \
                continue;                                                                          \
            *(type *)target = (type)i;                                                             \
            return 0;                                                                              \
        }                                                                                          \
        return -EINVAL;                                                                            \
    }

PARSE_WORD(flag, bool, false, true, i ? "yes" : "no")
PARSE_WORD(level, int, LOG_ERR, LOG_DEBUG, log_level_name((int)i))
/* The library refuses a value that it does not know, whose name is "unknown". */
PARSE_WORD(backend, enum riptide_backend, 0, 7, riptide_name(RIPTIDE_NAMES_BACKEND, i))

static int parse_policy(void *target, const char *text)
{
    const struct riptide_policy *policy = riptide_policy_find(text);

    if (!policy)
        return -EINVAL;
    *(const struct riptide_policy **)target = policy;
    return 0;
}

/* Control characters would end a line of the log. */
static int parse_text(void *target, const char *text)
{
    size_t len = 0;

    while (text[len] && !iscntrl((unsigned char)text[len]))
        len++;
    if (text[len] || len == 0 || len > MAX_TEXT_BYTES)
        return -EINVAL;
    *(const char **)target = text;
    return 0;
}

/* Adds items of `bytes` each, up to one that is wrong. */
static int parse_list(void *target, const char *text, size_t bytes,
                      int (*parse_item)(void *item, const char *word))
{
    char *copy = strdup(text), *rest = copy, *word;
    int r = copy ? -EINVAL : -ENOMEM;
    uint64_t item[4]; /* of any list */
    struct value_list list;
    void *items;

    memcpy(&list, target, sizeof(list));
    while ((word = strsep(&rest, " \t,"))) {
        if (!*word)
            continue;
        r = parse_item(item, word);
        if (r < 0)
            break;
        items = reallocarray(list.items, list.n + 1, bytes);
        if (!items) {
            r = -ENOMEM;
            break;
        }
        list.items = items;
        memcpy((char *)items + list.n++ * bytes, item, bytes);
    }
    free(copy);
    memcpy(target, &list, sizeof(list));
    return r;
}

static int parse_prefix(void *item, const char *word)
{
    return riptide_prefix_parse(item, word);
}

static int parse_prefixes(void *target, const char *text)
{
    return parse_list(target, text, sizeof(struct riptide_prefix), parse_prefix);
}

/* FIRST-LAST, or one port. */
static int parse_range(void *item, const char *word)
{
    struct riptide_port_range *ports = item;
    uint64_t first, last;
    char *end;

    if (parse_digits(word, &end, &first) < 0)
        return -EINVAL;
    last = first;
    if (*end && (*end != '-' || parse_digits(end + 1, &end, &last) < 0 || *end))
        return -EINVAL;
    if (first > last || last > UINT16_MAX)
        return -EINVAL;
    *ports = (struct riptide_port_range){ (uint16_t)first, (uint16_t)last };
    return 0;
}

static int parse_ports(void *target, const char *text)
{
    return parse_list(target, text, sizeof(struct riptide_port_range), parse_range);
}

#define KIND(name, ...) const struct value_kind value_##name = { __VA_ARGS__ }

KIND(flag, NULL, "not yes or no", parse_flag, false);
KIND(switch, "yes|no", "not yes or no", parse_flag, false);
KIND(duration, "TIME", "not a duration (write 500ms, 1s, 10min, 1d)", parse_duration, false);
KIND(share, "SHARE", "not a share (write 0.05 or 5%)", parse_share, false);
KIND(u8, "N", "not a number from 0 to 255", parse_u8, false);
KIND(u32, "N", "not a number from 0 to 4294967295", parse_u32, false);
KIND(policy, "NAME", NULL, parse_policy, false);
KIND(backend, "HOW", NULL, parse_backend, false);
KIND(level, "LEVEL", NULL, parse_level, false);
KIND(path, "PATH", "not a path (at most 160 bytes, no control character)", parse_text, false);
KIND(group, "GROUP", "not a group", parse_text, false);
KIND(prefixes, "PREFIX", "not a prefix (write 203.0.113.0/24 or 2001:db8::1, host bits zero)",
     parse_prefixes, true);
KIND(ports, "FIRST[-LAST]", "not a port or a range of ports (write 443 or 8000-8099)", parse_ports,
     true);

const struct option_row *options_find(const struct option_row *rows, const char *name)
{
    for (; rows->name; rows++) {
        if (!strcmp(rows->name, name))
            return rows;
    }
    return NULL;
}

int options_set(const struct option_row *row, const char *dashes, void *target, const char *value,
                struct riptide_error *error)
{
    int r = row->kind->parse((char *)target + row->offset, value);
    const char *expected = r == -EINVAL ? row->kind->expected : strerror(-r);

    if (r == 0)
        return 0;
    return refuse(error, -EINVAL, "%s%s%s%.60s: %s%s", dashes, row->name, *value ? " " : "", value,
                  expected ? "" : "must be ", expected ? expected : row->help);
}

/* What getopt_long(3) has refused, and says by its result and in optopt. */
static int refuse_option(int result, const char *text, struct riptide_error *error)
{
    if (result == ':')
        return refuse(error, -EINVAL, "%.60s: the value is missing", text);
    if (optopt >= FIRST_ROW)
        return refuse(error, -EINVAL, "%.60s: takes no value", text);
    /* Of several letters in one argument, the one that is wrong. */
    if (optopt)
        return refuse(error, -EINVAL, "-%c: unknown option (--help lists them)", optopt);
    return refuse(error, -EINVAL, "%.60s: unknown option (--help lists them)", text);
}

int options_parse(const struct option_row *rows, void *target, uint64_t *given, int argc,
                  char **argv, struct riptide_error *error)
{
    const struct option_row *help = options_find(rows, "help"), *row;
    const struct option_row *verbose = options_find(rows, "verbose");
    struct option options[MAX_ROWS] = { { .name = NULL } };
    int result, r;

    for (int i = 0; rows[i].name; i++)
        options[i] =
            (struct option){ rows[i].name, rows[i].kind->argument != NULL, NULL, FIRST_ROW + i };
    opterr = 0;
    optind = 0; /* a new command line, or the same one again */
    while ((result = getopt_long(argc, argv, verbose ? ":hv" : ":h", options, NULL)) >= 0) {
        row = result == 'v' ? verbose : help;
        if (result >= FIRST_ROW)
            row = &rows[result - FIRST_ROW];
        if (!row || result == '?' || result == ':')
            return refuse_option(result, argv[optind - 1], error);
        *given |= UINT64_C(1) << (row - rows);
        r = options_set(row, "--", target, row->kind->argument ? optarg : "yes", error);
        if (r < 0)
            return r;
    }
    return 0;
}
