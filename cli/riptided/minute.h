/* SPDX-License-Identifier: MIT */
/* Connections of the last minute, for `riptide status`. Pure. */
#ifndef CLI_MINUTE_H
#define CLI_MINUTE_H

#include <jansson.h>
#include <riptide/apply.h>
#include <stdbool.h>

/* Counters are noted every ten seconds. */
enum { MINUTE_PARTS = 6 };

struct minute_counts {
    struct riptide_program_counts opened; /* by routes alone, those that closed */
    uint64_t closed_with_window;          /* as struct riptide_agent_stats has them */
    uint64_t closed_without;
};

struct minute {
    struct minute_counts then[MINUTE_PARTS]; /* a ring */
    uint64_t noted_ns;                       /* when the last one was noted */
    unsigned int n;                          /* noted so far */
};

/* Notes counters, if it is time to. */
void minute_note(struct minute *minute, const struct minute_counts *now, uint64_t now_ns);

/* By how much they have grown in the last 50 to 60 seconds; false: not known. */
bool minute_count(const struct minute *minute, const struct minute_counts *now,
                  struct minute_counts *grown);

/* The same for answers; null: not known. NULL: no memory. */
json_t *minute_json(const struct minute *minute, const struct minute_counts *now);

#endif
