/* SPDX-License-Identifier: MIT */
/*
 * One dump of the open connections, from its start to its end.
 */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include <riptide/observe.h>

struct samples_sink {
    int (*add)(void *userdata, const struct riptide_sample *sample); /* 0, or what ends the dump */
    void (*clear)(void *userdata); /* the dump begins anew: what was added comes again */
    void *userdata;
};

/*
 * Of the connections in that scope, or of all where it is NULL; what was left out is in `stats`,
 * where somebody asks. Errors: those of the observer, the first ones with a line, and of poll(2);
 * what `add` returned.
 */
int samples_observe(const struct riptide_scope *scope, const struct samples_sink *sink,
                    struct riptide_observer_stats *stats, struct riptide_error *error);

#endif
