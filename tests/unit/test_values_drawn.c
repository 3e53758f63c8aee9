/* SPDX-License-Identifier: MIT */
/*
 * Values as text: what is printed reads back as the same, whatever it is.
 */
#include "config_case.h"


#include <errno.h>
#include <sys/socket.h>

/* lib/compute/policy.c */
extern const struct riptide_policy *policy_get(size_t n);

static bool is_share(const struct option_row *row)
{
    return row->kind == &value_weight || row->kind == &value_max_share;
}

/* One that the kind reads, in one of the ways that people write it. */
static void any_value(const struct option_row *row, char text[256])
{
    uint32_t n_names = 0;

    while (row->kind->form == VALUE_NAME && row->kind->names[n_names].name)
        n_names++;
    if (n_names > 0)
        snprintf(text, 256, "%s", row->kind->names[below(n_names)].name);
    else if (row->kind == &value_policy)
        snprintf(text, 256, "%s", policy_get(below(3))->name);
    else if (row->kind == &value_duration)
        snprintf(text, 256, "%u%s", below(100000),
                 (const char *[]){ "ms", "s", "min", "h" }[below(4)]);
    else if (is_share(row))
        snprintf(text, 256, "%u.%0*u", below(1000), 1 + (int)below(12), below(100000000));
    else if (row->kind == &value_prefixes)
        snprintf(text, 256, "10.%u.0.0/16%s 2001:db8:%x::/48", below(256), below(2) ? "," : "",
                 below(65536));
    else if (row->kind == &value_ports)
        snprintf(text, 256, "%u, 8000-%u", below(65536), 8000 + below(1000));
    else if (row->kind == &value_path)
        snprintf(text, 256, "/a#b;c=%u [%u]", below(100), below(100));
    else if (row->kind == &value_u8)
        snprintf(text, 256, "%u", below(256));
    else
        snprintf(text, 256, below(2) ? "%u" : "0x%x", below(UINT32_MAX));
    if (is_share(row) && below(2))
        strcat(text, "%");
    if (row->kind == &value_max_share && below(4) == 0)
        strcpy(text, "on");
}

/* In a target of its own. */
static char *print_parsed(const struct option_row *row, const char *text, struct settings *target)
{
    settings_init(target);
    value_clear(row->kind, (char *)target + row->offset);
    /* A flag that is off prints nothing. */
    if (value_parse(row->kind, (char *)target + row->offset, *text ? text : "no") != 0)
        return NULL;
    return option_print(row, target);
}

TEST(what_is_printed_reads_back)
{
    uint32_t n = 0;

    seed_random();
    while (settings_rows[n].name)
        n++;
    for (int i = 0; i < 20000; i++) {
        const struct option_row *row = &settings_rows[below(n)];
        char text[256], *once, *again;
        SETTINGS a, b;

        any_value(row, text);
        once = print_parsed(row, text, &a);
        if (!once) {
            settings_init(&b);
            continue;
        }
        again = print_parsed(row, once, &b);
        if (!again || strcmp(once, again))
            fail_msg("--%s %s: %s, %s", row->name, text, once, again ? again : "refused");
        if (is_share(row))
            assert_memory_equal((const char *)&a + row->offset, (const char *)&b + row->offset,
                                sizeof(double));
        free(once);
        free(again);
    }
}
