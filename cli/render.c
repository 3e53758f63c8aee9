/* SPDX-License-Identifier: MIT */
/* Prints into memory, so that an alternative whose conditions turn out false can be discarded. */
#include "render.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 32 };

struct render {
    FILE *out;
    const json_t *root;
    const json_t *item;
    const struct render_style *style;
};

static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && !memcmp(text, word, len);
}

static const struct {
    const char *word, *colour;
} colours[] = {
    { "ok", "" },
    { "", "" },
    { "failing", "\033[31m" },
    { "off", "\033[31m" },
    { "error", "\033[31m" },
    { NULL, "\033[33m" },
};

const char *render_colour(const char *word, size_t len, const struct render_style *style)
{
    size_t i = 0;

    while (colours[i].word && !is_word(word, len, colours[i].word))
        i++;
    return style && style->is_coloured ? colours[i].colour : "";
}

static void print_marked(const struct render *render, const char *word)
{
    const char *colour = render_colour(word, strlen(word), render->style);

    fprintf(render->out, "%s%s%s", colour, word, *colour ? "\033[0m" : "");
}

static const json_t *find(const struct render *render, const char *path, size_t len)
{
    const json_t *value = len > 0 && *path == '/' ? render->root : render->item;
    const char *end = path + len;
    char name[MAX_NAME];

    path += len > 0 && *path == '/';
    while (path < end && value) {
        size_t n = 0;

        while (path + n < end && path[n] != '.' && n < MAX_NAME - 1) {
            name[n] = path[n];
            n++;
        }
        name[n] = '\0';
        value = json_object_get(value, name);
        path += n + 1;
    }
    return value;
}

/* Five characters at most: 9999, 12.3k, 123M. */
static void print_bytes(FILE *out, double value)
{
    static const char units[] = "kMGTPE";
    size_t unit = 0;

    if (value < 10000) {
        fprintf(out, "%.0f", value);
        return;
    }
    value /= 1000;
    while (value >= 999.5) {
        value /= 1000;
        unit++;
    }
    fprintf(out, value < 99.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

static void print_clock(FILE *out, long s)
{
    if (s >= 86400)
        fprintf(out, "%ld d ", s / 86400);
    fprintf(out, "%02ld:%02ld:%02ld", s / 3600 % 24, s / 60 % 60, s % 60);
}

static void print_left_out(FILE *out, const json_t *object)
{
    const char *name, *separator = "; left out: ";
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        fprintf(out, "%s%" JSON_INTEGER_FORMAT " %s", separator, json_integer_value(value), name);
        separator = ", ";
    }
}

static void print_plain(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        fwrite(json_string_value(value), 1, json_string_length(value), out);
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%g", json_real_value(value));
}

static void print_value(const struct render *render, const json_t *value, const char *how,
                        size_t len)
{
    double figure = json_number_value(value);
    FILE *out = render->out;

    if (len == 0)
        print_plain(out, value);
    else if (*how == '.')
        fprintf(out, "%.*f", how[1] - '0', figure);
    else if (*how == '+')
        fprintf(out, "%+.*f", how[2] - '0', figure);
    else if (*how == '-')
        fprintf(out, "%-*s", atoi(how + 1), json_string_value(value));
    else if (is_word(how, len, "bytes"))
        print_bytes(out, figure);
    else if (is_word(how, len, "milli"))
        fprintf(out, "%.1f", figure / 1e3);
    else if (is_word(how, len, "s"))
        fprintf(out, "%g", figure / 1e3);
    else if (is_word(how, len, "clock"))
        print_clock(out, (long)figure);
    else if (is_word(how, len, "left_out"))
        print_left_out(out, value);
    else
        print_marked(render, json_string_value(value));
}

static bool is_there(const json_t *value)
{
    return value && !json_is_null(value) && !json_is_false(value) &&
           !(json_is_string(value) && json_string_length(value) == 0);
}

static bool is_true(const json_t *value)
{
    return is_there(value) && !(json_is_number(value) && json_number_value(value) == 0) &&
           !(json_is_array(value) && json_array_size(value) == 0);
}

static bool is_printed_as(const json_t *value, const char *text, size_t len)
{
    char number[24];
    const char *own = json_string_value(value);

    if (!own) {
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        own = number;
    }
    return is_word(text, len, own);
}

/* Prints a place, from after its opening brace. Returns the text after its closing one. */
static const char *walk_place(const struct render *render, const char *at, bool *holds)
{
    const bool is_condition = *at == '?' || *at == '!' || *at == '+' || *at == '-';
    const bool is_contrary = *at == '!' || *at == '-', is_of_truth = *at == '?' || *at == '!';
    const char *path = at + is_condition;
    const size_t n_path = strcspn(path, "=:}"), len = strcspn(path, "}");
    const json_t *value = find(render, path, n_path);
    const char *rest = path + n_path + 1;
    const size_t n_rest = n_path < len ? len - n_path - 1 : 0;
    bool is_so = is_of_truth    ? is_true(value)
                 : is_condition ? value && !json_is_null(value)
                                : is_there(value);

    if (is_condition && n_path < len)
        is_so = is_printed_as(value, rest, n_rest);
    *holds &= is_so != is_contrary;
    if (!is_condition && is_so)
        print_value(render, value, rest, n_rest);
    return path + len + 1;
}

static const char *walk(const struct render *render, const char *at, bool *holds);

/* An alternative, which is discarded if a condition is false. */
static const char *walk_alternative(const struct render *render, const char *at, bool *holds)
{
    long start = ftell(render->out);

    at = walk(render, at, holds);
    if (!*holds)
        fseek(render->out, start, SEEK_SET);
    return at;
}

/* Once for each element of the list whose path begins the text; without elements, not at all. */
static const char *walk_list(const struct render *render, const char *path, bool *holds)
{
    const size_t len = strcspn(path, "}");
    const json_t *list = find(render, path, len);
    const size_t n = json_is_object(list) ? 1 : json_array_size(list);
    struct render element = *render;
    const char *end;
    size_t i = 0;

    *holds &= n > 0;
    do {
        bool is_printed = *holds;

        element.item = json_is_object(list) ? list : json_array_get(list, i);
        end = walk_alternative(&element, path + len + 1, &is_printed);
    } while (++i < n);
    return end;
}

/* Prints a section, from after its opening bracket. */
static const char *walk_section(const struct render *render, const char *at)
{
    bool is_done = false;

    for (;; at++) {
        bool holds = !is_done;

        at = strncmp(at, "{*", 2) ? walk_alternative(render, at, &holds)
                                  : walk_list(render, at + 2, &holds);
        is_done |= holds;
        if (*at != '|')
            return *at ? at + 1 : at;
    }
}

/* Up to the end of an alternative. */
static const char *walk(const struct render *render, const char *at, bool *holds)
{
    while (*at && *at != '|' && *at != ']') {
        size_t n = strcspn(at, "{[|]\\");

        if (*at == '{') {
            at = walk_place(render, at + 1, holds);
        } else if (*at == '[') {
            at = walk_section(render, at + 1);
        } else {
            if (*at == '\\') {
                at++;
                n = 1;
            }
            fwrite(at, 1, n, render->out);
            at += n;
        }
    }
    return at;
}

/* The text, which the caller frees; NULL: no memory. */
static char *render_text(const char *template, const json_t *root, const struct render_style *style)
{
    size_t size;
    char *text = NULL;
    struct render render = {
        .out = open_memstream(&text, &size),
        .root = root,
        .item = root,
        .style = style,
    };

    if (!render.out)
        return NULL;
    walk(&render, template, &(bool){ true });
    putc('\0', render.out); /* discarded text may follow it */
    fclose(render.out);
    return text;
}

void render(FILE *out, const char *template, const json_t *root, const struct render_style *style)
{
    char *text = render_text(template, root, style);

    fputs(text ? text : "", out);
    free(text);
}

void render_string(char *text, size_t size, const char *template, const json_t *root)
{
    char *all = render_text(template, root, NULL);

    snprintf(text, size, "%s", all ? all : "");
    free(all);
}

void render_table(FILE *out, const char *template, const json_t *root, const char *sides,
                  const struct render_style *style)
{
    char *text = render_text(template, root, NULL);

    table_print(out, text ? text : "", sides, style);
    free(text);
}
