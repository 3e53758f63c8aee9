/* SPDX-License-Identifier: MIT */
/*
 * A ring of lines.
 */
#include "recent.h"

static struct recent_line lines[RECENT_LINES];
static unsigned int n_added;

void recent_add(time_t time, enum log_level level, const char *text)
{
    struct recent_line *line = &lines[n_added++ % RECENT_LINES];

    line->time = time;
    line->level = level;
    snprintf(line->text, sizeof(line->text), "%s", text);
}

const struct recent_line *recent_get(unsigned int n)
{
    unsigned int n_kept = n_added < RECENT_LINES ? n_added : RECENT_LINES;

    return n < n_kept ? &lines[(n_added - n_kept + n) % RECENT_LINES] : NULL;
}
