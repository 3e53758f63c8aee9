/* SPDX-License-Identifier: MIT */
/*
 * The kinds of values that are lists: given in several words, and many times.
 */
#include "values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One word or several, with blanks or commas between. All are added, or none. */
static int parse_words(void *list, size_t *np, const char *text,
                       int (*add)(void *list, const char *word))
{
    static const char between[] = " \t,";
    /* Longer ways to write a prefix than the shortest: eight groups of four digits. */
    char word[RIPTIDE_PREFIX_TEXT_BYTES];
    size_t n = *np;
    int r = text[strspn(text, between)] ? 0 : -EINVAL;

    for (text += strspn(text, between); r == 0 && *text; text += strspn(text, between)) {
        size_t len = strcspn(text, between);

        snprintf(word, sizeof(word), "%.*s", (int)len, text);
        r = len < sizeof(word) ? add(list, word) : -EINVAL;
        text += len;
    }
    if (r < 0)
        *np = n;
    return r;
}

static int prefixes_add(void *target, const char *word)
{
    struct prefix_list *list = target;
    struct riptide_prefix prefix;
    struct riptide_prefix *items;

    if (riptide_prefix_parse(&prefix, word))
        return -EINVAL;
    items = reallocarray(list->items, list->n + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    items[list->n++] = prefix;
    list->items = items;
    return 0;
}

static int prefixes_parse(void *target, const char *text)
{
    return parse_words(target, &((struct prefix_list *)target)->n, text, prefixes_add);
}

static void prefixes_clear(void *target)
{
    struct prefix_list *list = target;

    free(list->items);
    *list = (struct prefix_list){ .items = NULL };
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

/* Digits alone: strtoul takes blanks and signs as well. */
static int parse_port(const char *text, char **endp, uint16_t *portp)
{
    size_t n = strspn(text, "0123456789");
    unsigned long value = strtoul(text, endp, 10);

    if (n == 0 || value > UINT16_MAX)
        return -EINVAL;
    *portp = (uint16_t)value;
    return 0;
}

/* FIRST-LAST, or one port. */
static int ports_add(void *target, const char *word)
{
    struct port_list *list = target;
    struct riptide_port_range *items;
    uint16_t first, last;
    char *end;

    if (parse_port(word, &end, &first))
        return -EINVAL;
    last = first;
    if (*end && (*end != '-' || parse_port(end + 1, &end, &last)))
        return -EINVAL;
    if (*end || first > last)
        return -EINVAL;
    items = reallocarray(list->items, list->n + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    items[list->n++] = (struct riptide_port_range){ first, last };
    list->items = items;
    return 0;
}

static int ports_parse(void *target, const char *text)
{
    return parse_words(target, &((struct port_list *)target)->n, text, ports_add);
}

static void ports_clear(void *target)
{
    struct port_list *list = target;

    free(list->items);
    *list = (struct port_list){ .items = NULL };
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

#define KIND_OF_LISTS(name, argument, expected)                                                    \
    const struct value_kind value_##name = { argument,     expected, name##_parse,                 \
                                             name##_print, NULL,     name##_clear }

KIND_OF_LISTS(prefixes, "PREFIX",
              "not a prefix (write 203.0.113.0/24 or 2001:db8::1, host bits zero)");
KIND_OF_LISTS(ports, "FIRST[-LAST]", "not a port or a range of ports (write 443 or 8000-8099)");
