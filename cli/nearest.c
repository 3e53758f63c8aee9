/* SPDX-License-Identifier: MIT */
/*
 * The known name that somebody may have meant: the one of the smallest edit distance.
 */
#include "nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Longer than any name there is; what is longer still is near to none. */
enum { MAX_LEN = 48, MIN_PART_LEN = 3 };

struct nearest nearest_to(const char *text, size_t len)
{
    return (struct nearest){ .text = text, .len = len, .distance = (len > 6 ? len / 3 : 2) + 1 };
}

/* Levenshtein's, row by row. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[MAX_LEN + 1];

    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t least = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < least)
                least = row[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[b_len];
}

/* Whether the text is what the name begins or ends with: level of log-level, warn of warning. */
static size_t distance_of_part(const struct nearest *nearest, const char *name, size_t len)
{
    const char *tail = name + len - nearest->len;

    if (nearest->len < MIN_PART_LEN || nearest->len >= len)
        return SIZE_MAX;
    if (!memcmp(tail, nearest->text, nearest->len) && tail[-1] == '-')
        return 1;
    return memcmp(name, nearest->text, nearest->len) ? SIZE_MAX : 2;
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    size_t len = strlen(name), d, part;

    if (nearest->len > MAX_LEN || len > MAX_LEN)
        return;
    d = distance(nearest->text, nearest->len, name, len);
    part = distance_of_part(nearest, name, len);
    if (part < d)
        d = part;
    /* All of a short text changed is another word. */
    if (d >= nearest->distance || d >= nearest->len)
        return;
    nearest->distance = d;
    nearest->name = name;
}

const char *nearest_question(const struct nearest *nearest)
{
    static char text[MAX_LEN + 32];

    if (!nearest->name)
        return "";
    snprintf(text, sizeof(text), "; is %s meant?", nearest->name);
    return text;
}
