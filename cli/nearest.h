/* SPDX-License-Identifier: MIT */
/*
 * The known name that somebody may have meant. Pure.
 */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *text; /* what was written */
    size_t len;       /* of it */
    const char *name; /* the nearest offered so far; NULL: none is near */
    size_t distance;  /* of that: characters to add, take away or change; the most that counts */
};

/*
 * Names that are further off than a third of the text, and two at least, are not what was meant; a
 * name that begins or ends with the text is.
 */
struct nearest nearest_to(const char *text, size_t len);

void nearest_offer(struct nearest *nearest, const char *name);

/* "; is NAME meant?" or nothing. Static storage until the next call. */
const char *nearest_question(const struct nearest *nearest);

#endif
