/* SPDX-License-Identifier: MIT */
/*
 * Which backends there are, and each call for all of them.
 */
#include "agent/parts.h"

#include "compute/evidence.h"

#include <errno.h>

static void list(struct backends *backends)
{
    backends->n = 0;
    if (backends->connections)
        backends->list[backends->n++] =
            (struct listed){ &backend_connections, backends->connections };
    if (backends->chosen != RIPTIDE_CONNECTIONS)
        backends->list[backends->n++] = (struct listed){ &backend_routes, backends->router };
}

/* AUTO goes on with routes, whatever it is that keeps connections from it. */
static int refuse(struct backends *backends, int r, struct riptide_error *error)
{
    if (backends->chosen != RIPTIDE_AUTO) {
        if (error)
            *error = backends->why_routes;
        return r;
    }
    backends->connections = connections_free(backends->connections);
    backends->chosen = RIPTIDE_ROUTES;
    return 0;
}

int backends_init(struct backends *backends, enum riptide_backend chosen,
                  struct riptide_router *router, const struct connections_config *config,
                  struct riptide_error *error)
{
    int r = 0;

    *backends = (struct backends){ .asked = chosen, .chosen = chosen, .router = router };
    if (chosen != RIPTIDE_ROUTES) {
        r = connections_new(&backends->connections, config, &backends->why_routes);
        if (r < 0)
            r = refuse(backends, r, error);
    }
    list(backends);
    return r;
}

int backends_compare(const struct backends *backends, enum riptide_backend asked,
                     const char *cgroup, struct riptide_error *error)
{
    const char *field = NULL;

    if (asked != backends->asked)
        field = "apply";
    else if (backends->connections && !connections_are_on(backends->connections, cgroup))
        field = "cgroup";
    if (!field)
        return 0;
    error_set_field(error, field, "cannot change while windows are in place; start anew");
    return -EBUSY;
}

void backends_deinit(struct backends *backends)
{
    backends->connections = connections_free(backends->connections);
}

int backends_start(struct backends *backends, struct riptide_error *error)
{
    int r = 0;

    error_set(error, "%s", "");
    backends->chosen = backends->connections ? backends->asked : RIPTIDE_ROUTES;
    if (backends->connections) {
        r = connections_start(backends->connections, &backends->why_routes);
        if (r < 0)
            r = refuse(backends, r, error);
        else if (backends->chosen == RIPTIDE_AUTO)
            backends->chosen = RIPTIDE_CONNECTIONS;
        list(backends);
    }
    /* Else the router does both: the lock, and what a router left that was killed. */
    if (r == 0 && backends->chosen == RIPTIDE_CONNECTIONS)
        r = connections_lock(backends->connections, error);
    if (r == 0 && backends->chosen == RIPTIDE_CONNECTIONS)
        r = claim_clear(backends->router, error);
    if (r == 0 && backends->chosen != RIPTIDE_CONNECTIONS)
        r = riptide_router_start(backends->router, error);
    if (r < 0 && backends->connections)
        connections_unload(backends->connections);
    return error_fill(error, r);
}

/*
 * A route gives its window also where nothing paces it: outside of the program's cgroup, and behind
 * an agent that was killed. What fits only paced gets no more of it than careful begins with.
 */
static uint32_t route_cwnd(const struct riptide_wanted *wanted)
{
    bool is_paced = wanted->pacing_percent > 0 && wanted->pacing_percent != RIPTIDE_AT_ONCE;

    return is_paced && wanted->initcwnd > START_CWND ? START_CWND : wanted->initcwnd;
}

/* A destination that does not fit in one may be in the other. */
int backends_set(struct backends *backends, const struct riptide_wanted *wanted)
{
    int first = 0;

    for (uint32_t i = 0; i < backends->n; i++) {
        const struct listed *listed = &backends->list[i];
        struct riptide_wanted one = *wanted;
        int r;

        if (listed->backend == &backend_routes)
            one.initcwnd = route_cwnd(wanted);
        r = listed->backend->set(listed->self, &one);

        if (r < 0)
            return r;
        if (first == 0)
            first = r;
    }
    return first;
}

int backends_pop(struct backends *backends, const struct riptide_route **routep)
{
    int r = RIPTIDE_E_AGAIN;

    for (uint32_t i = 0; i < backends->n && r != 0; i++)
        r = backends->list[i].backend->pop(backends->list[i].self, routep);
    return r;
}

bool backends_are_idle(const struct backends *backends)
{
    bool are_idle = true;

    for (uint32_t i = 0; i < backends->n; i++) {
        const struct listed *listed = &backends->list[i];

        are_idle &= !listed->backend->is_idle || listed->backend->is_idle(listed->self);
    }
    return are_idle;
}

int backends_stop(struct backends *backends)
{
    int first = 0;

    for (uint32_t i = 0; i < backends->n; i++) {
        int r = backends->list[i].backend->stop(backends->list[i].self);

        if (first == 0)
            first = r;
    }
    return first;
}

void backends_check(struct backends *backends, uint64_t round_ns)
{
    for (uint32_t i = 0; i < backends->n; i++)
        backends->list[i].backend->check(backends->list[i].self, round_ns);
}

int backends_dispatch(struct backends *backends, int fd, bool *is_one)
{
    for (uint32_t i = 0; i < backends->n; i++) {
        const struct backend *backend = backends->list[i].backend;

        *is_one = backend->get_fd && fd == backend->get_fd(backends->list[i].self);
        if (*is_one)
            return backend->dispatch(backends->list[i].self);
    }
    return 0;
}

void backends_reconfigure(struct backends *backends, const struct connections_config *config)
{
    if (backends->connections)
        connections_reconfigure(backends->connections, config);
}

/* What one of them cannot is no reason for the others not to. */
int backends_set_paused(struct backends *backends, bool is_paused)
{
    int first = 0;

    backends->is_paused = is_paused;
    for (uint32_t i = 0; i < backends->n; i++) {
        int r = backends->list[i].backend->set_paused(backends->list[i].self, is_paused);

        if (first == 0)
            first = r;
    }
    return first;
}

void backends_step_back(struct backends *backends, const char *why)
{
    connections_step_back(backends->connections, why);
    if (backends->chosen == RIPTIDE_BOTH)
        router_step_back(backends->router, why);
}
