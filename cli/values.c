/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing option values. A value is taken whole or refused: nothing may follow it and
 * no unit is guessed. Whether a value makes sense in its place is for the library to say.
 */
#include "values.h"

#include "lib/tools.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <riptide/agent.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 160 };

/* Largest first, so that printing finds the largest unit without remainder; "m" is only read. */
static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    { "d", UINT64_C(86400000000000) },
    { "h", UINT64_C(3600000000000) },
    { "min", UINT64_C(60000000000) },
    { "m", UINT64_C(60000000000) },
    { "s", UINT64_C(1000000000) },
    { "ms", UINT64_C(1000000) },
};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

/* Which of a kind's names that is. */
static int find_name(const char *(*name)(size_t n), const char *text, size_t *np)
{
    const char *offered = name(0);
    size_t n = 0;

    while (offered && strcmp(text, offered) != 0)
        offered = name(++n);
    *np = n;
    return offered ? 0 : -EINVAL;
}

/* strtoull takes blanks and signs, and wraps "-1" around: only digits get that far. */
int value_parse_digits(const char *text, int base, char **endp, uint64_t *valuep)
{
    size_t n = strspn(text, base == 16 ? "0123456789abcdefABCDEF" : "0123456789");
    unsigned long long value;

    if (n == 0)
        return -EINVAL;
    errno = 0;
    value = strtoull(text, endp, base);
    if (errno || *endp != text + n)
        return -EINVAL;
    *valuep = value;
    return 0;
}

/* A leading zero means nothing: 010 is ten. */
static int parse_number(const char *text, uint64_t max, uint64_t *valuep)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    uint64_t value;
    char *end;

    if (value_parse_digits(hex ? text + 2 : text, hex ? 16 : 10, &end, &value) || *end ||
        value > max)
        return -EINVAL;
    *valuep = value;
    return 0;
}

/* Every other one is no. */
static const char *flag_name(size_t n)
{
    static const char *const names[] = { "yes", "no", "true", "false", "on", "off" };

    return n < sizeof(names) / sizeof(names[0]) ? names[n] : NULL;
}

static int flag_parse(void *target, const char *text)
{
    size_t n = 0;

    if (text && find_name(flag_name, text, &n) < 0)
        return -EINVAL;
    *(bool *)target = n % 2 == 0;
    return 0;
}

static void flag_print(FILE *out, const void *target)
{
    if (*(const bool *)target)
        fputs("yes", out);
}

static const char *auto_flag_name(size_t n)
{
    return n == 0 ? "auto" : flag_name(n - 1);
}

static int auto_flag_parse(void *target, const char *text)
{
    size_t n = 1;

    if (text && find_name(auto_flag_name, text, &n) < 0)
        return -EINVAL;
    *(int8_t *)target = (int8_t)(n == 0 ? -1 : n % 2 != 0);
    return 0;
}

static void auto_flag_print(FILE *out, const void *target)
{
    int8_t value = *(const int8_t *)target;

    fputs(value < 0 ? "auto" : value ? "yes" : "no", out);
}

static int duration_parse(void *target, const char *text)
{
    uint64_t number, ns;
    size_t i = 0;
    char *unit;

    if (value_parse_digits(text, 10, &unit, &number))
        return -EINVAL;
    while (i < N_UNITS && strcmp(unit, units[i].name) != 0)
        i++;
    if (i == N_UNITS || __builtin_mul_overflow(number, units[i].ns, &ns))
        return -EINVAL;
    *(uint64_t *)target = ns;
    return 0;
}

static void duration_print(FILE *out, const void *target)
{
    uint64_t ns = *(const uint64_t *)target;
    size_t i = 0;

    while (i < N_UNITS - 1 && (ns < units[i].ns || ns % units[i].ns))
        i++;
    fprintf(out, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
}

static int us_parse(void *target, const char *text)
{
    uint64_t ns;

    if (duration_parse(&ns, text) < 0 || ns / 1000 > UINT32_MAX)
        return -EINVAL;
    *(uint32_t *)target = (uint32_t)(ns / 1000);
    return 0;
}

static void us_print(FILE *out, const void *target)
{
    duration_print(out, &(uint64_t){ *(const uint32_t *)target * UINT64_C(1000) });
}

/* Digits enough to read the same number again, and no exponent. */
static void number_print(FILE *out, const void *target)
{
    enum { MAX_DIGITS = 340 };
    double value = *(const double *)target;
    char text[MAX_DIGITS * 2];
    int digits = 0;

    do
        snprintf(text, sizeof(text), "%.*f", digits, value);
    while (strtod(text, NULL) != value && ++digits <= MAX_DIGITS);
    fputs(text, out);
}

static int weight_parse(void *target, const char *text)
{
    /* Keeps out blanks, signs, "nan", "inf" and hexadecimal, all of which strtod takes. */
    size_t n = strspn(text, "0123456789.");
    char *end;
    double value = strtod(text, &end);

    if (n == 0 || end != text + n || (*end && strcmp(end, "%") != 0))
        return -EINVAL;
    *(double *)target = *end ? value / 100 : value;
    return 0;
}

static int max_share_parse(void *target, const char *text)
{
    bool is_on = !strcmp(text, "on");

    if (!is_on && strcmp(text, "off") != 0)
        return weight_parse(target, text);
    *(double *)target = is_on ? RIPTIDE_MAX_SHARE_DEFAULT : 0;
    return 0;
}

static int u32_parse(void *target, const char *text)
{
    uint64_t value;

    if (parse_number(text, UINT32_MAX, &value))
        return -EINVAL;
    *(uint32_t *)target = (uint32_t)value;
    return 0;
}

static void u32_print(FILE *out, const void *target)
{
    fprintf(out, "%" PRIu32, *(const uint32_t *)target);
}

static const char at_once[] = "at-once";

/* 0 would be as for all others. */
static int pacing_parse(void *target, const char *text)
{
    uint32_t percent = RIPTIDE_AT_ONCE;

    if (strcmp(text, at_once) && (u32_parse(&percent, text) || percent == 0 || percent > 100))
        return -EINVAL;
    *(uint32_t *)target = percent;
    return 0;
}

static void pacing_print(FILE *out, const void *target)
{
    if (*(const uint32_t *)target == RIPTIDE_AT_ONCE)
        fputs(at_once, out);
    else
        u32_print(out, target);
}

static void mark_print(FILE *out, const void *target)
{
    fprintf(out, "0x%" PRIx32, *(const uint32_t *)target);
}

static int u8_parse(void *target, const char *text)
{
    uint64_t value;

    if (parse_number(text, UINT8_MAX, &value))
        return -EINVAL;
    *(uint8_t *)target = (uint8_t)value;
    return 0;
}

static void u8_print(FILE *out, const void *target)
{
    fprintf(out, "%u", *(const uint8_t *)target);
}

static const char *policy_name(size_t n)
{
    return riptide_policy_get(n) ? riptide_policy_get(n)->name : NULL;
}

static int policy_parse(void *target, const char *text)
{
    size_t n;

    if (find_name(policy_name, text, &n) < 0)
        return -EINVAL;
    *(const struct riptide_policy **)target = riptide_policy_get(n);
    return 0;
}

static void policy_print(FILE *out, const void *target)
{
    const struct riptide_policy *policy = *(const struct riptide_policy *const *)target;

    if (policy)
        fputs(policy->name, out);
}

/* None that a line of a configuration file could not hold. */
static int path_parse(void *target, const char *text)
{
    size_t len = strlen(text);

    if (len == 0 || len > PATH_MAX_BYTES || strchr(" ;#", text[0]) || text[len - 1] == ' ' ||
        strstr(text, " ;") || strstr(text, " #"))
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        if (iscntrl((unsigned char)text[i]))
            return -EINVAL;
    }
    *(const char **)target = text;
    return 0;
}

static void path_print(FILE *out, const void *target)
{
    const char *path = *(const char *const *)target;

    if (path)
        fputs(path, out);
}

static const char *backend_name(size_t n)
{
    return n <= RIPTIDE_AUTO ? backend_text((enum riptide_backend)n) : NULL;
}

static int backend_parse(void *target, const char *text)
{
    size_t n;

    if (find_name(backend_name, text, &n) < 0)
        return -EINVAL;
    *(uint32_t *)target = (uint32_t)n;
    return 0;
}

static void backend_print(FILE *out, const void *target)
{
    fputs(backend_text(*(const uint32_t *)target), out);
}

const char *backend_text(enum riptide_backend backend)
{
    static const char *const names[] = { "routes", "connections", "both", "auto" };

    return names[backend];
}

static const char *receive_name(size_t n)
{
    static const char *const names[] = { "auto", "off" };

    return n < sizeof(names) / sizeof(names[0]) ? names[n] : NULL;
}

static int receive_parse(void *target, const char *text)
{
    size_t n;

    if (find_name(receive_name, text, &n) < 0)
        return -EINVAL;
    *(uint32_t *)target = (uint32_t)n + RIPTIDE_RECEIVE_AUTO;
    return 0;
}

static void receive_print(FILE *out, const void *target)
{
    uint32_t value = *(const uint32_t *)target;

    if (value != RIPTIDE_RECEIVE_AS_ALL)
        fputs(receive_name(value - RIPTIDE_RECEIVE_AUTO), out);
}

static const char *const level_names[] = { "error", "warning", "info", "debug" };

static const char *level_name(size_t n)
{
    return n < sizeof(level_names) / sizeof(level_names[0]) ? level_names[n] : NULL;
}

static int level_parse(void *target, const char *text)
{
    size_t n;

    if (find_name(level_name, text, &n) < 0)
        return -EINVAL;
    *(enum log_level *)target = (enum log_level)n;
    return 0;
}

static void level_print(FILE *out, const void *target)
{
    fputs(log_level_name(*(const enum log_level *)target), out);
}

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

#define KIND(name, argument, expected, read, write, names)                                         \
    const struct value_kind value_##name = { argument,      expected, read##_parse,                \
                                             write##_print, names,    NULL }

KIND(flag, NULL, "not yes or no", flag, flag, flag_name);
KIND(auto_flag, NULL, "not auto, yes or no", auto_flag, auto_flag, auto_flag_name);
KIND(duration, "TIME", "not a duration (write 500ms, 1s, 10min, 1d)", duration, duration, NULL);
KIND(us, "TIME", "not a duration of up to an hour (write 5ms, 1s)", us, us, NULL);
KIND(weight, "SHARE", "not a share (write 0.5 or 50%)", weight, number, NULL);
KIND(max_share, "SHARE", "not a share (write off, 0.05 or 5%)", max_share, number, NULL);
KIND(price, "N", "not a price (write 1 or 0.5)", weight, number, NULL);
KIND(u32, "N", "not a number from 0 to 4294967295", u32, u32, NULL);
KIND(percent, "N", "not a number of percent from 0 to 100 (write 50)", u32, u32, NULL);
KIND(pacing, "N", "not a number of percent from 1 to 100, nor at-once", pacing, pacing, NULL);
KIND(u8, "N", "not a number from 0 to 255", u8, u8, NULL);
KIND(mark, "N", "not a number from 0 to 0xffffffff", u32, mark, NULL);
KIND(policy, "NAME", "not a policy (`riptided --help` lists them)", policy, policy, policy_name);
KIND(name, "NAME", "not a name", path, path, NULL);
KIND(path, "FILE",
     "not a file name (at most 160 bytes, no control character, no ; or # first or behind "
     "a blank)",
     path, path, NULL);
KIND(directory, "DIRECTORY", "not a directory's name of at most 160 bytes", path, path, NULL);
KIND(address, "ADDRESS", "not an address", path, path, NULL);
KIND(user, "NAME", "not a user name", path, path, NULL);
KIND(group, "GROUP", "not a group", path, path, NULL);
KIND(backend, "HOW", "not routes, connections, both or auto", backend, backend, backend_name);
KIND(receive, "HOW", "not auto or off", receive, receive, receive_name);
KIND(level, "LEVEL", "not a level (error, warning, info, debug)", level, level, level_name);
