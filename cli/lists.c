/* SPDX-License-Identifier: MIT */
/*
 * Values that are lists: prefixes and ports. Each has an array and its number, as the library has.
 */
#include "values.h"

#include "lib/tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One word or several, with blanks or commas between. All are added, or none. */
static int parse_words(void *target, const char *text, size_t item_bytes,
                       int (*parse)(void *item, const char *word))
{
    static const char between[] = " \t,";
    char *copy = strdup(text), *rest;
    int r = copy ? -EINVAL : -ENOMEM;
    uint64_t item[4]; /* whatever it is */
    struct prefix_list list;
    size_t n;

    memcpy(&list, target, sizeof(list));
    n = list.n;
    for (char *word = copy; copy && (word = strtok_r(word, between, &rest)); word = NULL) {
        void *items = NULL;

        r = parse(item, word);
        if (r == 0 && !(items = reallocarray(list.items, n + 1, item_bytes)))
            r = -ENOMEM;
        if (r < 0)
            break;
        memcpy((char *)items + n++ * item_bytes, item, item_bytes);
        list.items = items;
    }
    free(copy);
    if (r == 0)
        list.n = n;
    memcpy(target, &list, sizeof(list)); /* what is behind its end is not counted */
    return r;
}

static void list_clear(void *target)
{
    struct prefix_list list;

    memcpy(&list, target, sizeof(list));
    free(list.items);
    memset(target, 0, sizeof(list));
}

static int prefix_parse(void *item, const char *word)
{
    return riptide_prefix_parse(item, word) ? -EINVAL : 0;
}

static int prefixes_parse(void *target, const char *text)
{
    return parse_words(target, text, sizeof(struct riptide_prefix), prefix_parse);
}

static void prefixes_print(FILE *out, const void *target)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct prefix_list list;

    memcpy(&list, target, sizeof(list));
    for (size_t i = 0; i < list.n; i++) {
        riptide_prefix_format(&list.items[i], text);
        fprintf(out, "%s%s", i ? " " : "", text);
    }
}

/* FIRST-LAST, or one port. */
static int port_parse(void *item, const char *word)
{
    uint64_t first, last;
    char *end;

    if (value_parse_digits(word, 10, &end, &first) || first > UINT16_MAX)
        return -EINVAL;
    last = first;
    if (*end &&
        (*end != '-' || value_parse_digits(end + 1, 10, &end, &last) || *end || last > UINT16_MAX))
        return -EINVAL;
    *(struct riptide_port_range *)item =
        (struct riptide_port_range){ (uint16_t)first, (uint16_t)last };
    return first <= last ? 0 : -EINVAL;
}

static int ports_parse(void *target, const char *text)
{
    return parse_words(target, text, sizeof(struct riptide_port_range), port_parse);
}

static void ports_print(FILE *out, const void *target)
{
    struct port_list list;

    memcpy(&list, target, sizeof(list));
    for (size_t i = 0; i < list.n; i++) {
        fprintf(out, "%s%u", i ? " " : "", list.items[i].first);
        if (list.items[i].last != list.items[i].first)
            fprintf(out, "-%u", list.items[i].last);
    }
}

const struct value_kind value_prefixes = {
    .argument = "PREFIX",
    .expected = "not a prefix (write 203.0.113.0/24 or 2001:db8::1, host bits zero)",
    .parse = prefixes_parse,
    .print = prefixes_print,
    .clear = list_clear,
};

const struct value_kind value_ports = {
    .argument = "FIRST[-LAST]",
    .expected = "not a port or a range of ports (write 443 or 8000-8099)",
    .parse = ports_parse,
    .print = ports_print,
    .clear = list_clear,
};
