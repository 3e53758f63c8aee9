/* SPDX-License-Identifier: MIT */
/* Members of JSON objects, for reading and making documents. Pure. */
#ifndef CLI_MEMBERS_H
#define CLI_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Members of documents of others, of any type: a missing one reads as null, 0 or the empty text. */
static inline const json_t *get(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static inline long long number(const json_t *object, const char *name)
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

/*
 * Members of documents of our own. The value of add_member is taken; where it is NULL, or memory is
 * short, *objectp is freed and becomes NULL, to which nothing is added any more: no document lacks
 * a member that it should have.
 */
void add_member(json_t **objectp, const char *name, json_t *value);
#define add_word(objectp, name, word) add_member(objectp, name, json_string(word))
#define add_number(objectp, name, n)  add_member(objectp, name, json_integer((json_int_t)(n)))
#define add_real(objectp, name, x)    add_member(objectp, name, json_real(x))
#define add_flag(objectp, name, is)   add_member(objectp, name, json_boolean(is))

/* A number, with null in place of 0. */
json_t *figure_or_null(uint64_t value);

/* A text with any characters; null if it is NULL, empty or not UTF-8. */
json_t *text_or_null(const char *text);

#endif
