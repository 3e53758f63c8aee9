/* SPDX-License-Identifier: MIT */
/*
 * What is printed of settings reads back as the same ones, whatever they are.
 */
#include "config_case.h"

#include <errno.h>
#include <sys/socket.h>

static bool is_share(const struct option_row *row)
{
    return row->kind == &value_weight || row->kind == &value_max_share || row->kind == &value_price;
}

/* One that the kind reads, in one of the ways that people write it. */
static void any_value(const struct option_row *row, char text[256])
{
    size_t n_names = 0;

    while (value_get_name(row->kind, n_names))
        n_names++;
    if (n_names > 0)
        snprintf(text, 256, "%s", value_get_name(row->kind, below((uint32_t)n_names)));
    else if (row->kind == &value_duration)
        snprintf(text, 256, "%u%s", below(100000),
                 (const char *[]){ "ms", "s", "min", "h" }[below(4)]);
    else if (row->kind == &value_us)
        snprintf(text, 256, "%u%s", below(4000), below(2) ? "ms" : "s");
    else if (is_share(row))
        snprintf(text, 256, "%u.%0*u", below(1000), 1 + (int)below(12), below(100000000));
    else if (row->kind == &value_prefixes)
        snprintf(text, 256, "10.%u.0.0/16%s 2001:db8:%x::/48", below(256), below(2) ? "," : "",
                 below(65536));
    else if (row->kind == &value_ports)
        snprintf(text, 256, "%u, 8000-%u", below(65536), 8000 + below(1000));
    else if (row->kind == &value_path)
        snprintf(text, 256, "/a#b;c=%u [%u]", below(100), below(100));
    else if (row->kind == &value_pacing && below(2))
        strcpy(text, "at-once");
    else if (row->kind == &value_pacing)
        snprintf(text, 256, "%u", 1 + below(100));
    else if (row->kind == &value_u8)
        snprintf(text, 256, "%u", below(256));
    else
        snprintf(text, 256, below(2) ? "%u" : "0x%x", below(UINT32_MAX));
    if (is_share(row) && below(2))
        strcat(text, "%");
    if (row->kind == &value_max_share && below(4) == 0)
        strcpy(text, "on");
}

static char *print(const struct settings *settings, size_t *np)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, np);

    assert_non_null(out);
    config_print(out, settings);
    fclose(out);
    return text;
}

static void print_any(FILE *out, const struct option_row *rows)
{
    const char *section = "";

    for (const struct option_row *row = rows; row->name; row++) {
        char value[256];

        if (!row->section)
            continue;
        if (rows == settings_rows && strcmp(section, row->section))
            fprintf(out, "[%s]\n", section = row->section);
        for (uint32_t n = below(row->kind->form == VALUE_LIST ? 4 : 2); n > 0; n--) {
            any_value(row, value);
            fprintf(out, "%s = %s\n", row->name, value);
        }
    }
}

static void assert_same(const struct settings *a, const struct settings *b, const char *text)
{
    struct riptide_error error = { .text = "" };
    char changes[4096] = "";
    FILE *out = fmemopen(changes, sizeof(changes), "w");

    settings_compare(a, b, out, &error);
    fclose(out);
    if (changes[0])
        fail_msg("%s\n%s", changes, text);
    for (const struct option_row *row = settings_rows; row->name; row++) {
        if (is_share(row))
            assert_memory_equal((const char *)a + row->offset, (const char *)b + row->offset,
                                sizeof(double));
    }
}

TEST(what_is_printed_reads_back)
{

    seed_random();
    for (int i = 0; i < 300; i++) {
        SETTINGS written, again;
        char *text = NULL, *printed;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        print_any(out, settings_rows);
        for (uint32_t j = below(4); j > 0; j--) {
            fprintf(out, "[prefix 10.%u.0.0/16]\n", j);
            print_any(out, override_rows);
        }
        fclose(out);
        if (read_bytes(&written, text, n) != 0)
            fail_msg("%s\n%s", written.mistake.text, text);
        printed = print(&written, &n);
        if (read_bytes(&again, printed, n) != 0)
            fail_msg("%s\n%s", again.mistake.text, printed);
        assert_same(&written, &again, printed);
        free(printed);
        free(text);
    }
}
