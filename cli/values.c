/* SPDX-License-Identifier: MIT */
/*
 * Reading and printing option values: a few forms, and a row for each kind. A value is accepted
 * whole or refused: nothing may follow it, and no unit is guessed. The library checks ranges.
 */
#include "values.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <riptide/agent.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 160 };

#define NS_PER_MS UINT64_C(1000000)

/* Largest first, so that printing finds the largest unit without remainder; "m" is only read. */
static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    { "d", 86400000 * NS_PER_MS }, { "h", 3600000 * NS_PER_MS }, { "min", 60000 * NS_PER_MS },
    { "m", 60000 * NS_PER_MS },    { "s", 1000 * NS_PER_MS },    { "ms", NS_PER_MS },
};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

/* Stores as many bytes as the row says: 4 for an enum, the lowest ones of a negative number. */
static void store(void *target, size_t bytes, uint64_t number)
{
    if (bytes == sizeof(uint8_t))
        *(uint8_t *)target = (uint8_t)number;
    else if (bytes == sizeof(uint32_t))
        *(uint32_t *)target = (uint32_t)number;
    else
        *(uint64_t *)target = number;
}

static uint64_t fetch(const void *target, size_t bytes)
{
    return bytes == sizeof(uint8_t)    ? *(const uint8_t *)target
           : bytes == sizeof(uint32_t) ? *(const uint32_t *)target
                                       : *(const uint64_t *)target;
}

/*
 * Leading digits, and their end. strtoull accepts blanks and signs, and wraps "-1" around, so it
 * gets digits only.
 */
static int parse_digits(const char *text, int base, char **endp, uint64_t *numberp)
{
    size_t n = strspn(text, base == 16 ? "0123456789abcdefABCDEF" : "0123456789");
    unsigned long long number;

    if (n == 0)
        return -EINVAL;
    errno = 0;
    number = strtoull(text, endp, base);
    if (errno || *endp != text + n)
        return -EINVAL;
    *numberp = number;
    return 0;
}

/* Leading zeros are allowed: 010 is ten. */
static int parse_number(const char *text, uint64_t *numberp)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;

    if (parse_digits(is_hex ? text + 2 : text, is_hex ? 16 : 10, &end, numberp) < 0 || *end)
        return -EINVAL;
    return 0;
}

static int parse_time(const char *text, uint64_t *nsp)
{
    uint64_t number;
    size_t i = 0;
    char *unit;

    if (parse_digits(text, 10, &unit, &number) < 0)
        return -EINVAL;
    while (i < N_UNITS && strcmp(unit, units[i].name) != 0)
        i++;
    /* 0 is the same in all units. */
    if (number == 0 && *unit == '\0')
        i = 0;
    return i == N_UNITS || __builtin_mul_overflow(number, units[i].ns, nsp) ? -EINVAL : 0;
}

static void print_time(FILE *out, uint64_t ns)
{
    size_t i = 0;

    while (i < N_UNITS - 1 && (ns < units[i].ns || ns % units[i].ns))
        i++;
    fprintf(out, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
}

static int parse_share(double *target, const char *text)
{
    /* Excludes blanks, signs, "nan", "inf" and hexadecimal, which strtod accepts. */
    size_t n = strspn(text, "0123456789.");
    char *end;
    double value = strtod(text, &end);

    if (n == 0 || end != text + n || (*end && strcmp(end, "%") != 0))
        return -EINVAL;
    *target = *end ? value / 100 : value;
    return 0;
}

/* Enough digits to read the same number again, and no exponent. */
static void print_share(FILE *out, double value)
{
    enum { MAX_DIGITS = 340 };
    char text[MAX_DIGITS * 2];
    int digits = 0;

    do
        snprintf(text, sizeof(text), "%.*f", digits, value);
    while (strtod(text, NULL) != value && ++digits <= MAX_DIGITS);
    fputs(text, out);
}

/* Refuses text that a line of a configuration file could not contain. */
static int parse_text(const char **target, const char *text)
{
    size_t len = strlen(text);

    if (len == 0 || len > PATH_MAX_BYTES || strchr(" ;#", text[0]) || text[len - 1] == ' ' ||
        strstr(text, " ;") || strstr(text, " #"))
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        if (iscntrl((unsigned char)text[i]))
            return -EINVAL;
    }
    *target = text;
    return 0;
}

static int parse_policy(const struct riptide_policy **target, const char *text)
{
    const struct riptide_policy *policy = riptide_policy_find(text);

    if (!policy)
        return -EINVAL;
    *target = policy;
    return 0;
}

/* Adds all items, or none. */
static int parse_list(const struct value_kind *kind, void *target, const char *text)
{
    static const char between[] = " \t,";
    char *copy = strdup(text), *rest;
    int r = copy ? -EINVAL : -ENOMEM;
    uint64_t item[4]; /* of any item type */
    struct prefix_list list;
    size_t n;

    memcpy(&list, target, sizeof(list));
    n = list.n;
    for (char *word = copy; copy && (word = strtok_r(word, between, &rest)); word = NULL) {
        void *items = NULL;

        r = kind->parse_item(item, word);
        if (r == 0 && !(items = reallocarray(list.items, n + 1, kind->bytes)))
            r = -ENOMEM;
        if (!items)
            break;
        memcpy((char *)items + n++ * kind->bytes, item, kind->bytes);
        list.items = items;
    }
    free(copy);
    if (r == 0)
        list.n = n;
    memcpy(target, &list, sizeof(list)); /* the item after the end does not count */
    return r;
}

static void print_list(const struct value_kind *kind, FILE *out, const void *target)
{
    struct prefix_list list;

    memcpy(&list, target, sizeof(list));
    for (size_t i = 0; i < list.n; i++) {
        fputs(i ? " " : "", out);
        kind->print_item(out, (const char *)list.items + i * kind->bytes);
    }
}

void value_clear(const struct value_kind *kind, void *target)
{
    struct prefix_list list;

    if (kind->form != VALUE_LIST)
        return;
    memcpy(&list, target, sizeof(list));
    free(list.items);
    memset(target, 0, sizeof(list));
}

static int parse_prefix(void *item, const char *word)
{
    return riptide_prefix_parse(item, word) ? -EINVAL : 0;
}

static void print_prefix(FILE *out, const void *item)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(item, text);
    fputs(text, out);
}

/* FIRST-LAST, or one port. */
static int parse_ports(void *item, const char *word)
{
    uint64_t first, last;
    char *end;

    if (parse_digits(word, 10, &end, &first) < 0 || first > UINT16_MAX)
        return -EINVAL;
    last = first;
    if (*end &&
        (*end != '-' || parse_digits(end + 1, 10, &end, &last) < 0 || *end || last > UINT16_MAX))
        return -EINVAL;
    *(struct riptide_port_range *)item =
        (struct riptide_port_range){ (uint16_t)first, (uint16_t)last };
    return first <= last ? 0 : -EINVAL;
}

static void print_ports(FILE *out, const void *item)
{
    const struct riptide_port_range *ports = item;

    fprintf(out, "%u", ports->first);
    if (ports->last != ports->first)
        fprintf(out, "-%u", ports->last);
}

static const struct value_name *find_name(const struct value_kind *kind, const char *text)
{
    const struct value_name *name = kind->names;

    while (name && name->name && strcmp(name->name, text) != 0)
        name++;
    return name && name->name ? name : NULL;
}

static int parse_figure(const struct value_kind *kind, const char *text, uint64_t *numberp)
{
    if ((kind->unit_ns ? parse_time(text, numberp) : parse_number(text, numberp)) < 0)
        return -EINVAL;
    *numberp /= kind->unit_ns ? kind->unit_ns : 1;
    return *numberp > kind->most ? -EINVAL : 0;
}

int value_parse(const struct value_kind *kind, void *target, const char *text)
{
    const struct value_name *name;
    uint64_t number;

    if (!text)
        text = "yes";
    name = find_name(kind, text);
    number = name ? (uint64_t)(int64_t)name->value : 0;
    switch (kind->form) {
    case VALUE_NAME:
    case VALUE_NUMBER:
        if (!name && (kind->form == VALUE_NAME || parse_figure(kind, text, &number) < 0))
            return -EINVAL;
        store(target, kind->bytes, number);
        return 0;
    case VALUE_SHARE:
        if (!name)
            return parse_share(target, text);
        *(double *)target = name->value;
        return 0;
    case VALUE_TEXT:
        /* `riptide --control NAME` takes a word for an instance of riptided@.service. */
        if (kind == &value_socket && !strchr(text, '/') && strcmp(text, "none"))
            return -EINVAL;
        return parse_text(target, text);
    case VALUE_POLICY:
        return parse_policy(target, text);
    case VALUE_LIST:
        return parse_list(kind, target, text);
    }
    return -EINVAL;
}

static void print_number(const struct value_kind *kind, FILE *out, uint64_t number)
{
    const struct value_name *name = kind->names;
    uint64_t named;

    for (; name && name->name; name++) {
        store(&named, kind->bytes, (uint64_t)(int64_t)name->value);
        if (fetch(&named, kind->bytes) == number)
            break;
    }
    if (name && name->name)
        fputs(name->name, out);
    else if (kind->unit_ns)
        print_time(out, number * kind->unit_ns);
    else if (kind->form == VALUE_NUMBER)
        fprintf(out, kind->is_hexadecimal ? "0x%" PRIx64 : "%" PRIu64, number);
}

void value_print(const struct value_kind *kind, FILE *out, const void *target)
{
    const struct riptide_policy *policy;
    const char *text;

    switch (kind->form) {
    case VALUE_NAME:
    case VALUE_NUMBER:
        /* A flag that is off counts as not given. */
        if (kind != &value_flag || *(const bool *)target)
            print_number(kind, out, fetch(target, kind->bytes));
        break;
    case VALUE_SHARE:
        print_share(out, *(const double *)target);
        break;
    case VALUE_TEXT:
        text = *(const char *const *)target;
        fputs(text ? text : "", out);
        break;
    case VALUE_POLICY:
        policy = *(const struct riptide_policy *const *)target;
        fputs(policy ? policy->name : "", out);
        break;
    case VALUE_LIST:
        print_list(kind, out, target);
        break;
    }
}

static const struct value_name flags[] = {
    { "yes", 1 }, { "no", 0 },  { "true", 1 }, { "false", 0 },
    { "on", 1 },  { "off", 0 }, { NULL, 0 },
};
static const struct value_name shares[] = {
    { "on", 0.05 },
    { "off", 0 },
    { NULL, 0 },
};
static const struct value_name autos[] = { { "auto", 1 }, { "off", 0 }, { NULL, 0 } };
static const struct value_name backends[] = {
    [RIPTIDE_AUTO] = { "auto", RIPTIDE_AUTO },
    [RIPTIDE_ROUTES] = { "routes", RIPTIDE_ROUTES },
    [RIPTIDE_PROGRAM] = { "program", RIPTIDE_PROGRAM },
    [RIPTIDE_BOTH] = { "both", RIPTIDE_BOTH },
    { NULL, 0 },
};
static const struct value_name levels[] = {
    { "error", LOG_LEVEL_ERROR },
    { "warning", LOG_LEVEL_WARNING },
    { "info", LOG_LEVEL_INFO },
    { "debug", LOG_LEVEL_DEBUG },
    { NULL, 0 },
};

const char *log_level_name(enum log_level level)
{
    return levels[level].name;
}

#define KIND(name_, argument_, expected_, form_, ...)                                              \
    const struct value_kind value_##name_ = {                                                      \
        .argument = (argument_), .expected = (expected_), .form = VALUE_##form_, __VA_ARGS__       \
    }

KIND(flag, NULL, "not yes or no", NAME, .bytes = 1, .names = flags);
KIND(duration, "TIME", "not a duration (write 500ms, 1s, 10min, 1d)", NUMBER, .bytes = 8,
     .unit_ns = 1, .most = UINT64_MAX);
KIND(weight, "SHARE", "not a share (write 0.5 or 50%)", SHARE, .bytes = 8);
KIND(max_share, "SHARE", "not a share (write off, 0.05 or 5%)", SHARE, .bytes = 8, .names = shares);
KIND(u32, "N", "not a number from 0 to 4294967295", NUMBER, .bytes = 4, .most = UINT32_MAX);
KIND(percent, "N", "not a number of percent from 0 to 100 (write 50)", NUMBER, .bytes = 4,
     .most = UINT32_MAX);
KIND(u8, "N", "not a number from 0 to 255", NUMBER, .bytes = 1, .most = UINT8_MAX);
KIND(mark, "N", "not a number from 0 to 0xffffffff", NUMBER, .bytes = 4, .most = UINT32_MAX,
     .is_hexadecimal = true);
KIND(policy, "NAME", "not a policy (careful, paper, bdp)", POLICY,
     .bytes = sizeof(void *));
KIND(name, "NAME", "not a name", TEXT, .bytes = sizeof(char *));
KIND(path, "FILE",
     "not a file name (at most 160 bytes, no control character, no ; or # at the start or "
     "after a blank)",
     TEXT, .bytes = sizeof(char *));
KIND(socket, "FILE", "not a path with a slash, nor none", TEXT, .bytes = sizeof(char *));
KIND(directory, "DIRECTORY", "not a directory's name of at most 160 bytes", TEXT,
     .bytes = sizeof(char *));
KIND(address, "ADDRESS", "not an address", TEXT, .bytes = sizeof(char *));
KIND(group, "GROUP", "not a group", TEXT, .bytes = sizeof(char *));
KIND(backend, "HOW", "not routes, program, both or auto", NAME, .bytes = 4, .names = backends);
KIND(auto, "HOW", "not auto or off", NAME, .bytes = 1, .names = autos);
KIND(level, "LEVEL", "not a level (error, warning, info, debug)", NAME, .bytes = 4,
     .names = levels);
KIND(prefixes, "PREFIX", "not a prefix (write 203.0.113.0/24 or 2001:db8::1, host bits zero)", LIST,
     .bytes = sizeof(struct riptide_prefix), .parse_item = parse_prefix,
     .print_item = print_prefix);
KIND(ports, "FIRST[-LAST]", "not a port or a range of ports (write 443 or 8000-8099)", LIST,
     .bytes = sizeof(struct riptide_port_range), .parse_item = parse_ports,
     .print_item = print_ports);
