/* SPDX-License-Identifier: MIT */
#include "members.h"

void add_member(json_t **objectp, const char *name, json_t *value)
{
    if (!*objectp) {
        json_decref(value);
        return;
    }
    /* It takes the value also where it fails. */
    if (json_object_set_new(*objectp, name, value) < 0) {
        json_decref(*objectp);
        *objectp = NULL;
    }
}

json_t *figure_or_null(uint64_t value)
{
    return value > 0 ? json_integer((json_int_t)value) : json_null();
}

json_t *text_or_null(const char *text)
{
    json_t *string = NULL;

    if (text && *text)
        string = json_string(text);
    return string ? string : json_null();
}
