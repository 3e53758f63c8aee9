/* SPDX-License-Identifier: MIT */
/* Refusals of the library in the words of options and keys. */
#include "settings.h"

#include <string.h>

/* The library has some fields of settings in another stage, or in none. */
static const char *skip_stage(const char *field)
{
    const char *dot = strchr(field, '.');

    return dot ? dot + 1 : field;
}

/* The row of a field, which may be an element of a list. */
static const struct option_row *find_row(const struct option_row *rows, const char *field)
{
    const char *name = skip_stage(field);
    size_t len = strcspn(name, "[");

    for (const struct option_row *row = rows; row->name; row++) {
        const char *own = row->field ? skip_stage(row->field) : "";

        if (strlen(own) == len && !strncmp(own, name, len))
            return row;
    }
    return NULL;
}

void settings_explain_refusal(const struct settings *settings, struct riptide_error *error)
{
    const struct riptide_error given = *error;
    const char *field = given.field ? given.field : "";
    bool is_of_hint = strncmp(field, "hint.", strlen("hint.")) == 0;
    const struct option_row *row = find_row(is_of_hint ? override_rows : settings_rows, field);
    /* The text after the field's name, which contains no blanks or colons. */
    const char *text = given.text + strcspn(given.text, ": ");
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    if (!row)
        return;
    if (is_of_hint && (size_t)given.index < settings->n_overrides) {
        riptide_prefix_format(&settings->overrides[given.index].dst, dst);
        options_say(error, "[" PREFIX_SECTION " %s] %s%s", dst, row->name, text);
    } else {
        options_say(error, "%s%s", row->name, text);
    }
    error->field = given.field;
    error->index = given.index;
}

void settings_drop_refused(struct settings *settings, const struct riptide_error *refusal)
{
    const struct option_row *row = find_row(settings_rows, refusal->field ? refusal->field : "");
    struct settings defaults;

    if (row && row->kind->form == VALUE_LIST) {
        value_clear(row->kind, (char *)settings + row->offset);
    } else if (row) {
        settings_init(&defaults);
        memcpy((char *)settings + row->offset, (const char *)&defaults + row->offset,
               row->kind->bytes);
    }
    settings_link(settings);
}
