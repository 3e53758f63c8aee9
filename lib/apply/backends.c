/* SPDX-License-Identifier: MIT */
/* All backends: they are made and started, and RIPTIDE_AUTO chooses among them. */
#include "apply/backends.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

const struct backend_row *const backend_rows[ROWS] = {
    [ROW_PROGRAM] = &program_row,
    [ROW_ROUTES] = &routes_row,
};

RIPTIDE_PUBLIC uint32_t riptide_backend_traits(uint32_t backend)
{
    const bool is_both = backend == RIPTIDE_AUTO || backend == RIPTIDE_BOTH;
    uint32_t traits = 0;

    for (int i = 0; i < ROWS; i++) {
        const enum riptide_backend bit = backend_rows[i]->bit;

        if (backend == bit || (is_both && bit & RIPTIDE_BOTH))
            traits |= backend_rows[i]->traits;
    }
    return traits;
}

static void use(struct backends *backends, uint32_t in_use)
{
    backends->in_use = in_use;
    backends->n_used = 0;
    for (int i = 0; i < ROWS; i++) {
        if (backends_find(backends, i))
            backends->used[backends->n_used++] = backends->made[i];
        if (backends->made[i])
            backends->made[i]->in_use = in_use;
    }
}

/* The kernel's default where it cannot be read. Of the network namespace of this thread. */
static bool read_restarts_after_idle(void)
{
    char value = '1';
    CLEANUP(closep)
    int fd = open("/proc/sys/net/ipv4/tcp_slow_start_after_idle", O_RDONLY | O_CLOEXEC);

    return fd < 0 || read(fd, &value, 1) < 1 || value != '0';
}

/*
 * RIPTIDE_AUTO goes on with routes where the program cannot be made or started, for the reason that
 * `error` has; to others it is the error `r`. So is a configured cgroup that is none: routes would
 * serve all of the host in its place.
 */
static int go_without_program(struct backends *backends, int r, struct riptide_error *error)
{
    error_fill(error, r);
    if (!backends->is_auto || (r == -EINVAL && backends->has_cgroup))
        return r;
    use(backends, RIPTIDE_ROUTES);
    error_set(&backends->why, "%s", error_without_field(error));
    error_set(error, "%s", "");
    return 0;
}

int backends_make(struct backends *backends, const struct riptide_applier_config *config,
                  struct riptide_error *error)
{
    int r = 0;

    backends->is_auto = config->backend == RIPTIDE_AUTO;
    backends->has_cgroup = config->cgroup;
    backends->restarts_after_idle = read_restarts_after_idle();
    backends->in_use = backends->is_auto ? RIPTIDE_BOTH : config->backend;
    for (int i = 0; r == 0 && i < ROWS; i++) {
        const struct backend_row *row = backend_rows[i];

        if (backends->in_use & row->bit || row->clean)
            r = row->new(&backends->made[i], config, error);
        if (r < 0 && i == ROW_PROGRAM)
            r = go_without_program(backends, r, error);
    }
    use(backends, backends->in_use);
    return r;
}

void backends_free(struct backends *backends, bool is_child)
{
    for (int i = 0; i < ROWS; i++) {
        const struct backend_row *row = backend_rows[i];

        if (backends->made[i] && row->traits & RIPTIDE_ENDS_WITH_PROCESS && !is_child)
            row->stop(backends->made[i]);
        row->free(backends->made[i]);
    }
}

/* The program runs: routes are only of use to connections that restart with theirs. */
static void choose_by_restarts(struct backends *backends)
{
    if (backends->restarts_after_idle) {
        error_set(&backends->why, "idle connections restart with a route's window "
                                  "(net.ipv4.tcp_slow_start_after_idle is not 0)");
        return;
    }
    use(backends, RIPTIDE_PROGRAM);
    error_set(&backends->why, "idle connections keep their window "
                              "(net.ipv4.tcp_slow_start_after_idle is 0)");
}

/* Routes were started, or not: `r`. Beside the program they may be missing. */
static int choose_routes(struct backends *backends, int r, struct riptide_error *error)
{
    if (r == 0 && backends->has_cgroup)
        error_set(&backends->why, "%s; routes serve all of the host, not its cgroup alone",
                  backends->why.text);
    if (r == 0 || backends->in_use != RIPTIDE_BOTH)
        return r;
    use(backends, RIPTIDE_PROGRAM);
    error_set(&backends->why, "no routes: %s", error_without_field(error));
    error_set(error, "%s", "");
    return 0;
}

/* Starts one, or leaves it out as RIPTIDE_AUTO may. */
static int start(struct backends *backends, int i, struct riptide_error *error)
{
    int r = backend_rows[i]->start(backends->made[i], error);

    if (i == ROW_PROGRAM && r < 0)
        return go_without_program(backends, r, error);
    if (i == ROW_PROGRAM && backends->is_auto)
        choose_by_restarts(backends);
    if (i == ROW_ROUTES && backends->is_auto)
        return choose_routes(backends, r, error);
    return r;
}

int backends_start(struct backends *backends, struct riptide_error *error)
{
    const uint32_t tried = backends->in_use;
    int r = 0;

    for (int i = 0; i < ROWS; i++) {
        if (backends_find(backends, i))
            r = start(backends, i, error);
        if (r == 0 && !backends_find(backends, i) && backend_rows[i]->clean)
            r = backend_rows[i]->clean(backends->made[i], error);
        if (r < 0) {
            while (--i >= 0) {
                if (backends_find(backends, i))
                    backend_rows[i]->stop(backends->made[i]);
            }
            use(backends, tried);
            return r;
        }
    }
    return 0;
}
