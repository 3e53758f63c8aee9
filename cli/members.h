/* SPDX-License-Identifier: MIT */
/* Members of JSON objects, for reading and making documents. Pure. */
#ifndef CLI_MEMBERS_H
#define CLI_MEMBERS_H

#include <jansson.h>
#include <stdint.h>

/* Members that exist; a missing one reads as null, 0 or the empty text; and the reverse. */
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

/* A number, with null in place of 0. */
static inline json_t *figure_or_null(uint64_t value)
{
    return value ? json_integer((json_int_t)value) : json_null();
}

/* A text with any characters; null if it is empty or not UTF-8. */
static inline json_t *text_or_null(const char *text)
{
    json_t *string = *text ? json_string(text) : NULL;

    return string ? string : json_null();
}

#endif
