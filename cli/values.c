/*
 * Reading and writing option values. A value is taken whole or refused: nothing may follow it and
 * no unit is guessed. Whether a value makes sense in its place is for the library to say.
 */
#include "values.h"

#include <errno.h>
#include <inttypes.h>
#include <riptide/compute.h>
#include <stdlib.h>
#include <string.h>

/* Largest first, so that printing finds the largest unit without remainder. */
static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    { "h", UINT64_C(3600000000000) },
    { "min", UINT64_C(60000000000) },
    { "s", UINT64_C(1000000000) },
    { "ms", UINT64_C(1000000) },
};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

static const char *const level_names[] = { "error", "warning", "info", "debug" };

#define N_LEVELS (sizeof(level_names) / sizeof(level_names[0]))

/* strtoull takes blanks and signs, and wraps "-1" around: only digits get that far. */
static int parse_digits(const char *text, int base, char **endp, uint64_t *valuep)
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

    if (parse_digits(hex ? text + 2 : text, hex ? 16 : 10, &end, &value) || *end || value > max)
        return -EINVAL;
    *valuep = value;
    return 0;
}

static int flag_parse(void *target, const char *text)
{
    (void)text;
    *(bool *)target = true;
    return 0;
}

static void flag_print(FILE *out, const void *target)
{
    if (*(const bool *)target)
        fputs("yes", out);
}

static int duration_parse(void *target, const char *text)
{
    uint64_t number;
    uint64_t ns;
    char *unit;

    if (parse_digits(text, 10, &unit, &number))
        return -EINVAL;
    for (size_t i = 0; i < N_UNITS; i++) {
        if (strcmp(unit, units[i].name))
            continue;
        if (__builtin_mul_overflow(number, units[i].ns, &ns))
            return -EINVAL;
        *(uint64_t *)target = ns;
        return 0;
    }
    return -EINVAL;
}

static void duration_print(FILE *out, const void *target)
{
    uint64_t ns = *(const uint64_t *)target;
    size_t i = 0;

    while (i < N_UNITS - 1 && (ns < units[i].ns || ns % units[i].ns))
        i++;
    fprintf(out, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
}

static int weight_parse(void *target, const char *text)
{
    double value;
    char *end;

    /* Keeps out blanks, signs, "nan", "inf" and hexadecimal, all of which strtod takes. */
    if (!text[0] || text[strspn(text, "0123456789.")])
        return -EINVAL;
    value = strtod(text, &end);
    if (end == text || *end)
        return -EINVAL;
    *(double *)target = value;
    return 0;
}

static void weight_print(FILE *out, const void *target)
{
    fprintf(out, "%g", *(const double *)target);
}

static int share_parse(void *target, const char *text)
{
    size_t len = strlen(text);
    bool is_percent = len > 1 && text[len - 1] == '%';
    char number[32];
    double value;

    if (len >= sizeof(number))
        return -EINVAL;
    memcpy(number, text, len + 1);
    number[len - is_percent] = 0;
    if (weight_parse(&value, number))
        return -EINVAL;
    *(double *)target = is_percent ? value / 100 : value;
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

static int policy_parse(void *target, const char *text)
{
    const struct riptide_policy *policy = riptide_policy_find(text);

    if (!policy)
        return -EINVAL;
    *(const struct riptide_policy **)target = policy;
    return 0;
}

static void policy_print(FILE *out, const void *target)
{
    fputs((*(const struct riptide_policy *const *)target)->name, out);
}

static int prefixes_parse(void *target, const char *text)
{
    struct prefix_list *list = target;
    struct riptide_prefix prefix;
    struct riptide_prefix *items;

    if (riptide_prefix_parse(&prefix, text))
        return -EINVAL;
    items = reallocarray(list->items, list->n + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    items[list->n++] = prefix;
    list->items = items;
    return 0;
}

static void prefixes_print(FILE *out, const void *target)
{
    const struct prefix_list *list = target;
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    for (size_t i = 0; i < list->n; i++) {
        riptide_prefix_format(&list->items[i], text);
        fprintf(out, "%s%s", i ? " " : "", text);
    }
}

static int smoothing_parse(void *target, const char *text)
{
    const struct riptide_smoothing *smoothing = riptide_smoothing_find(text);

    if (!smoothing)
        return -EINVAL;
    *(const struct riptide_smoothing **)target = smoothing;
    return 0;
}

static void smoothing_print(FILE *out, const void *target)
{
    const struct riptide_smoothing *smoothing = *(const struct riptide_smoothing *const *)target;

    if (smoothing)
        fputs(smoothing->name, out);
}

/* FIRST-LAST, or one port. */
static int ports_parse(void *target, const char *text)
{
    struct port_list *list = target;
    struct riptide_port_range *items;
    uint64_t first, last;
    char *end;

    if (parse_digits(text, 10, &end, &first))
        return -EINVAL;
    last = first;
    if (*end && (*end != '-' || parse_digits(end + 1, 10, &end, &last)))
        return -EINVAL;
    if (*end || first > last || last > UINT16_MAX)
        return -EINVAL;
    items = reallocarray(list->items, list->n + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    items[list->n++] = (struct riptide_port_range){ (uint16_t)first, (uint16_t)last };
    list->items = items;
    return 0;
}

static void ports_print(FILE *out, const void *target)
{
    const struct port_list *list = target;

    for (size_t i = 0; i < list->n; i++) {
        fprintf(out, "%s%u", i ? " " : "", list->items[i].first);
        if (list->items[i].last != list->items[i].first)
            fprintf(out, "-%u", list->items[i].last);
    }
}

/* MARK/MASK, or a whole mark. */
static int masked_parse(void *target, const char *text)
{
    const char *slash = strchr(text, '/');
    uint64_t mark, mask = UINT32_MAX;
    char first[16];

    if (slash && (size_t)(slash - text) >= sizeof(first))
        return -EINVAL;
    snprintf(first, sizeof(first), "%.*s", slash ? (int)(slash - text) : -1, text);
    if (strlen(text) >= 2 * sizeof(first) || parse_number(first, UINT32_MAX, &mark) ||
        (slash && parse_number(slash + 1, UINT32_MAX, &mask)))
        return -EINVAL;
    if (mask == 0 || (mark & ~mask) != 0)
        return -EINVAL;
    *(struct mark_value *)target = (struct mark_value){ (uint32_t)mark, (uint32_t)mask };
    return 0;
}

static void masked_print(FILE *out, const void *target)
{
    const struct mark_value *value = target;

    if (value->mask != 0)
        fprintf(out, "0x%" PRIx32 "/0x%" PRIx32, value->mark, value->mask);
}

static int path_parse(void *target, const char *text)
{
    if (!*text)
        return -EINVAL;
    *(const char **)target = text;
    return 0;
}

static void path_print(FILE *out, const void *target)
{
    const char *path = *(const char *const *)target;

    if (path)
        fputs(path, out);
}

static int level_parse(void *target, const char *text)
{
    for (size_t i = 0; i < N_LEVELS; i++) {
        if (strcmp(text, level_names[i]))
            continue;
        *(enum log_level *)target = (enum log_level)i;
        return 0;
    }
    return -EINVAL;
}

static void level_print(FILE *out, const void *target)
{
    fputs(log_level_name(*(const enum log_level *)target), out);
}

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

void prefix_list_deinit(struct prefix_list *list)
{
    free(list->items);
    *list = (struct prefix_list){ .items = NULL };
}

void port_list_deinit(struct port_list *list)
{
    free(list->items);
    *list = (struct port_list){ .items = NULL };
}

#define KIND(name, argument, expected, read, write)                                                \
    const struct value_kind value_##name = { argument, expected, read##_parse, write##_print }

KIND(flag, NULL, "takes no value", flag, flag);
KIND(duration, "TIME", "not a duration (write 500ms, 1s, 10min)", duration, duration);
KIND(weight, "WEIGHT", "not a weight (write 0.5)", weight, weight);
KIND(u32, "N", "not a number from 0 to 4294967295", u32, u32);
KIND(u8, "N", "not a number from 0 to 255", u8, u8);
KIND(mark, "N", "not a number from 0 to 0xffffffff", u32, mark);
KIND(policy, "NAME", "not a policy (--help lists them)", policy, policy);
KIND(prefixes, "PREFIX", "not a prefix (write 203.0.113.0/24 or 2001:db8::1, host bits zero)",
     prefixes, prefixes);
KIND(number, "N", "not a number (write 75)", weight, weight);
KIND(smoothing, "NAME", "not a smoothing (--help lists them)", smoothing, smoothing);
KIND(ports, "FIRST[-LAST]", "not a port or a range of ports (write 443 or 8000-8099)", ports,
     ports);
KIND(masked, "MARK[/MASK]", "not a mark (write 0x10 or 0x10/0xf0, no bits outside the mask)",
     masked, masked);
KIND(name, "NAME", "not a name", path, path);
KIND(path, "FILE", "not a file name", path, path);
KIND(user, "NAME", "not a user name", path, path);
KIND(group, "GROUP", "not a group", path, path);
KIND(share, "SHARE", "not a share (write 50% or 0.5)", share, weight);
KIND(level, "LEVEL", "not a level (error, warning, info, debug)", level, level);
