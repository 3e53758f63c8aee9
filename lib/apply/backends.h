/* SPDX-License-Identifier: MIT */
/* All backends, and which of them give windows. */
#ifndef RIPTIDE_LIB_APPLY_BACKENDS_H
#define RIPTIDE_LIB_APPLY_BACKENDS_H

#include "apply/backend.h"

extern const struct backend_row *const backend_rows[ROWS];

struct backends {
    struct backend *made[ROWS]; /* as the rows; NULL: it was not made, as it has nothing to do */
    struct backend *used[ROWS]; /* those in use; until the start, those to be tried */
    int n_used;
    uint32_t in_use;          /* their bits; each backend has a copy */
    bool is_auto;             /* RIPTIDE_AUTO */
    bool has_cgroup;          /* not the default, all of the host */
    bool restarts_after_idle; /* connections of the namespace do, with their route's window */
    struct riptide_error why; /* of AUTO's choice, as in the stats; empty: none was made */
};

/*
 * Makes those that are to be tried, or to clean up, from zeros. Free them, also after an error. The
 * configuration stays there. Errors: those of the rows.
 */
int backends_make(struct backends *backends, const struct riptide_applier_config *config,
                  struct riptide_error *error);

/*
 * Stops those that end with the process; not in a child by fork(2) of the process that made them.
 */
void backends_free(struct backends *backends, bool is_child);

/* Starts them; after an error none is started, and the same are to be tried again. */
int backends_start(struct backends *backends, struct riptide_error *error);

/* That of the row; NULL: it is not in use. */
static inline struct backend *backends_find(const struct backends *backends, int i)
{
    return backends->in_use & backend_rows[i]->bit ? backends->made[i] : NULL;
}

#endif
