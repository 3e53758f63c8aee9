/* SPDX-License-Identifier: MIT */
/* One function reads each kind of value: nothing may follow it, and no unit is guessed. */
#include "values.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <riptide/agent.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 160 };

/*
 * Leading digits, and their end. strtoull accepts blanks and signs, and wraps "-1" around, so it
 * gets digits only.
 */
static int parse_digits(const char *text, int base, char **endp, uint64_t *numberp)
{
    size_t n = strspn(text, base == 16 ? "0123456789abcdefABCDEF" : "0123456789");

    if (n == 0)
        return -EINVAL;
    errno = 0;
    *numberp = strtoull(text, endp, base);
    return errno || *endp != text + n ? -EINVAL : 0;
}

/* Leading zeros are allowed: 010 is ten. */
static int parse_number(const char *text, uint64_t most, uint64_t *numberp)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;

    if (parse_digits(is_hex ? text + 2 : text, is_hex ? 16 : 10, &end, numberp) < 0 || *end)
        return -EINVAL;
    return *numberp > most ? -EINVAL : 0;
}

static int parse_u8(void *target, const char *text)
{
    uint64_t number;
    int r = parse_number(text, UINT8_MAX, &number);

    if (r == 0)
        *(uint8_t *)target = (uint8_t)number;
    return r;
}

static int parse_u32(void *target, const char *text)
{
    uint64_t number;
    int r = parse_number(text, UINT32_MAX, &number);

    if (r == 0)
        *(uint32_t *)target = (uint32_t)number;
    return r;
}

static int parse_duration(void *target, const char *text)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = { { "ms", 1 },        { "s", 1000 },    { "m", 60000 },
                  { "min", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
    uint64_t number, ns;
    char *unit;

    if (parse_digits(text, 10, &unit, &number) < 0)
        return -EINVAL;
    /* 0 is the same in all units. */
    if (number == 0 && !*unit)
        unit = "s";
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

/* "0.8" or "80%". */
static int parse_share(void *target, const char *text)
{
    /* Excludes blanks, signs, "nan", "inf" and hexadecimal, which strtod accepts. */
    size_t n = strspn(text, "0123456789.");
    char *end;
    double value = strtod(text, &end);

    if (n == 0 || end != text + n || (*end && strcmp(end, "%") != 0))
        return -EINVAL;
    *(double *)target = *end ? value / 100 : value;
    return 0;
}

static int parse_max_share(void *target, const char *text)
{
    return parse_share(target, strcmp(text, "off") ? text : "0");
}

/* The place of a word in a list that ends with NULL; -EINVAL: it has none. */
static int find_word(const char *const words[], const char *text)
{
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], text))
            return i;
    }
    return -EINVAL;
}

static int parse_flag(void *target, const char *text)
{
    static const char *const words[] = { "no", "yes", "false", "true", "off", "on", NULL };
    int i = find_word(words, text);

    if (i >= 0)
        *(bool *)target = i % 2;
    return i < 0 ? i : 0;
}

static int parse_auto(void *target, const char *text)
{
    static const char *const words[] = { "off", "auto", NULL };
    int i = find_word(words, text);

    if (i >= 0)
        *(bool *)target = i;
    return i < 0 ? i : 0;
}

static const char *const levels[] = { "error", "warning", "info", "debug", NULL };

const char *log_level_name(enum log_level level)
{
    return levels[level];
}

static int parse_level(void *target, const char *text)
{
    int i = find_word(levels, text);

    if (i >= 0)
        *(enum log_level *)target = (enum log_level)i;
    return i < 0 ? i : 0;
}

static int parse_backend(void *target, const char *text)
{
    static const char *const words[] = { [RIPTIDE_AUTO] = "auto",
                                         [RIPTIDE_ROUTES] = "routes",
                                         [RIPTIDE_PROGRAM] = "program",
                                         [RIPTIDE_BOTH] = "both",
                                         NULL };
    int i = find_word(words, text);

    if (i >= 0)
        *(enum riptide_backend *)target = (enum riptide_backend)i;
    return i < 0 ? i : 0;
}

static int parse_policy(void *target, const char *text)
{
    const struct riptide_policy *policy = riptide_policy_find(text);

    if (!policy)
        return -EINVAL;
    *(const struct riptide_policy **)target = policy;
    return 0;
}

/* Refuses text that a line of a configuration file could not contain. */
static int parse_text(void *target, const char *text)
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

/* `riptide --control NAME` takes a word for an instance of riptided@.service. */
static int parse_socket(void *target, const char *text)
{
    if (!strchr(text, '/') && strcmp(text, "none") != 0)
        return -EINVAL;
    return parse_text(target, text);
}

/* Adds all items of `bytes` each, or none. All lists have the members of this one. */
static int parse_list(void *target, const char *text, size_t bytes,
                      int (*parse_item)(void *item, const char *word))
{
    static const char between[] = " \t,";
    char *copy = strdup(text), *rest, *word;
    int r = copy ? -EINVAL : -ENOMEM;
    uint64_t item[4]; /* of any list */
    struct prefix_list list;
    size_t n;

    memcpy(&list, target, sizeof(list));
    n = list.n;
    for (word = copy ? strtok_r(copy, between, &rest) : NULL; word;
         word = strtok_r(NULL, between, &rest)) {
        void *items = NULL;

        r = parse_item(item, word);
        if (r == 0 && !(items = reallocarray(list.items, n + 1, bytes)))
            r = -ENOMEM;
        if (!items)
            break;
        memcpy((char *)items + n++ * bytes, item, bytes);
        list.items = items;
    }
    free(copy);
    if (r == 0)
        list.n = n;
    memcpy(target, &list, sizeof(list)); /* items after the end do not count */
    return r;
}

static int parse_prefix(void *item, const char *word)
{
    return riptide_prefix_parse(item, word) ? -EINVAL : 0;
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

    if (parse_digits(word, 10, &end, &first) < 0)
        return -EINVAL;
    last = first;
    if (*end && (*end != '-' || parse_digits(end + 1, 10, &end, &last) < 0 || *end))
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

int value_parse(const struct value_kind *kind, void *target, const char *text)
{
    return kind->parse(target, text ? text : "yes");
}

void value_clear(const struct value_kind *kind, void *target)
{
    struct prefix_list list;

    if (!kind->is_list)
        return;
    memcpy(&list, target, sizeof(list));
    free(list.items);
    memset(target, 0, sizeof(list));
}

#define KIND(name, ...) const struct value_kind value_##name = { __VA_ARGS__ }

KIND(flag, NULL, "not yes or no", parse_flag, false);
KIND(auto, "HOW", "not auto or off", parse_auto, false);
KIND(duration, "TIME", "not a duration (write 500ms, 1s, 10min, 1d)", parse_duration, false);
KIND(share, "SHARE", "not a share (write 0.5 or 50%)", parse_share, false);
KIND(max_share, "SHARE", "not a share (write off, 0.05 or 5%)", parse_max_share, false);
KIND(u8, "N", "not a number from 0 to 255", parse_u8, false);
KIND(u32, "N", "not a number from 0 to 4294967295", parse_u32, false);
KIND(percent, "N", "not a number of percent from 0 to 100 (write 50)", parse_u32, false);
KIND(policy, "NAME", "not a policy (careful, paper, bdp)", parse_policy, false);
KIND(backend, "HOW", "not routes, program, both or auto", parse_backend, false);
KIND(level, "LEVEL", "not a level (error, warning, info, debug)", parse_level, false);
KIND(path, "FILE",
     "not a file name (at most 160 bytes, no control character, no ; or # at the start or "
     "after a blank)",
     parse_text, false);
KIND(socket, "FILE", "not a path with a slash, nor none", parse_socket, false);
KIND(directory, "DIRECTORY", "not a directory's name of at most 160 bytes", parse_text, false);
KIND(group, "GROUP", "not a group", parse_text, false);
KIND(prefixes, "PREFIX", "not a prefix (write 203.0.113.0/24 or 2001:db8::1, host bits zero)",
     parse_prefixes, true);
KIND(ports, "FIRST[-LAST]", "not a port or a range of ports (write 443 or 8000-8099)", parse_ports,
     true);
