/* SPDX-License-Identifier: MIT */
/*
 * Text from a JSON document by a template. Pure: prints to a stream of the caller.
 *
 *   {path}     prints a member, "round.ago_s" of the item (the root, except in a list), "/paused"
 *              of the root; nothing if it is null
 *   {path:how} prints it as `how` says: .1f with one decimal, +.1 with its sign as well, -8 padded
 *              to 8 letters, bytes as 12.3k, milli a thousandth with one decimal, s a thousandth,
 *              clock a time in s, left_out members above 0, mark in its colour
 *   [a|b|c]    prints the first alternative whose conditions all hold, if any. Each {path} outside
 *              of inner brackets is a condition, too: the member is not null, false or empty
 *   {?path}    condition, prints nothing: neither 0, empty, false nor null; {!path}: the contrary
 *   {+path}    condition, prints nothing: not null; {-path}: the contrary
 *   {?path=x}  condition, prints nothing: it would be printed as x; {!path=x}: the contrary
 *   [{*path}a] prints `a` for each element of a list, or once for an object, with that as the item,
 *              if its conditions hold; with an empty list the alternative does not hold
 *   \x         the character itself
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How it is printed. */
struct render_style {
    size_t width; /* of the terminal; 0: no terminal, a row is a line */
    bool is_coloured;
};

void render(FILE *out, const char *template, const json_t *root, const struct render_style *style);

/*
 * A table: its template makes rows, each a line with a word for its colour ("error", "warning" or
 * none) and the cells, a tab before each; empty ones show as "-". The first row has the titles.
 * Columns are as wide as their cells; `sides` has a letter for each: left ("l") or right ("r"). A
 * row continues below at the end of a terminal's line.
 */
void render_table(FILE *out, const char *template, const json_t *root, const char *sides,
                  const struct render_style *style);

/* Likewise, from rows as text. */
void table_print(FILE *out, const char *rows, const char *sides, const struct render_style *style);

/* Likewise, into a string; longer text is cut off. */
void render_string(char *text, size_t size, const char *template, const json_t *root);

/* The terminal's sequence for the colour of a word; empty: none. */
const char *render_colour(const char *word, size_t len, const struct render_style *style);

/* Members that exist; a missing one reads as null, 0 or the empty text; and the reverse. */
static inline const json_t *get(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static inline json_int_t number(const json_t *object, const char *name)
{
    return json_integer_value(get(object, name));
}

static inline double real(const json_t *object, const char *name)
{
    return json_number_value(get(object, name));
}

static inline const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(get(object, name));

    return text ? text : "";
}

/* A number, with null in place of 0. */
static inline json_t *figure_or_null(uint64_t value)
{
    return value ? json_integer((json_int_t)value) : json_null();
}

/* A text with any characters; null if there is none, or if it is not UTF-8. */
static inline json_t *text_or_null(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : json_null();
}

#endif
