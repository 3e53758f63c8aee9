/* SPDX-License-Identifier: MIT */
/*
 * Members of JSON objects that are there, or read as nothing: null, 0, the empty text; and back.
 */
#ifndef CLI_MEMBERS_H
#define CLI_MEMBERS_H

#include <jansson.h>
#include <stdint.h>

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

/* A figure where 0 says that there is none. */
static inline json_t *figure_or_null(uint64_t value)
{
    return value ? json_integer((json_int_t)value) : json_null();
}

#endif
