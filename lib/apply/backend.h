/* SPDX-License-Identifier: MIT */
/*
 * A backend: one means that gives windows. Its own struct begins with `struct backend`, so that a
 * pointer to one is a pointer to the other; its row is what the applier knows of it.
 */
#ifndef RIPTIDE_LIB_APPLY_BACKEND_H
#define RIPTIDE_LIB_APPLY_BACKEND_H

#include <riptide/apply.h>

struct backend {
    const struct backend_row *row;
    int fd;          /* readable where dispatch has something to read; -1: it has none */
    uint32_t in_use; /* bits of all that give windows; until the start, of those to be tried */
    enum riptide_reason paused; /* why windows are off; NONE: they are not */
    const char *paused_text;
};

/* Each does what the function of riptide_applier with its name does (apply.h), with its errors. */
struct backend_row {
    enum riptide_backend bit;
    uint32_t traits; /* enum riptide_backend_trait */
    /* In the namespace of the calling thread. The configuration was checked, and stays there. */
    int (*new)(struct backend **backendp, const struct riptide_applier_config *config,
               struct riptide_error *error);
    void (*free)(struct backend *backend);
    /* Takes back what it has done where it fails. */
    int (*start)(struct backend *backend, struct riptide_error *error);
    /*
     * In place of a start where others give windows: removes what one that was killed has left.
     * NULL: there is nothing that could be left; then it is made only where it is to be tried.
     */
    int (*clean)(struct backend *backend, struct riptide_error *error);
    int (*stop)(struct backend *backend);
    int (*set_paused)(struct backend *backend); /* `paused` was set */
    int (*set)(struct backend *backend, const struct riptide_wanted *wanted);
    void (*tick)(struct backend *backend, uint32_t n_seconds); /* so many have passed */
    int (*dispatch)(struct backend *backend);
    int (*pop)(struct backend *backend, struct riptide_route *route);
    int (*find)(const struct backend *backend, const struct riptide_prefix *dst,
                struct riptide_route *route);
    bool (*is_in_force)(const struct backend *backend); /* it gives windows now */
    /* Adds its own, also where it is not in use. is_idle: only clears it. */
    void (*give_stats)(const struct backend *backend, struct riptide_applier_stats *stats);
};

/*
 * The program is before routes: whether it starts decides what RIPTIDE_AUTO does with routes. Of
 * several in use the last one serves most connections, and decides whether windows are in force.
 */
enum { ROW_PROGRAM, ROW_ROUTES, ROWS };

extern const struct backend_row program_row, routes_row;

static inline bool backend_is_in_use(const struct backend *backend)
{
    return backend->in_use & backend->row->bit;
}

#endif
