/* SPDX-License-Identifier: MIT */
/* The backends, and each call for all of them. */
#include "agent/parts.h"

#include "apply/routes/router.h"
#include "compute/evidence.h"

#include <errno.h>

/* Until the start AUTO may still choose them. */
static bool has_routes(const struct backends *backends)
{
    return backends->chosen != RIPTIDE_CONNECTIONS;
}

/* AUTO uses routes, whatever the error of connections. */
static int refuse(struct backends *backends, int r, struct riptide_error *error)
{
    if (backends->chosen != RIPTIDE_AUTO) {
        if (error)
            *error = backends->why_routes;
        return r;
    }
    backends->connections = windows_free(backends->connections);
    backends->chosen = RIPTIDE_ROUTES;
    return 0;
}

int backends_init(struct backends *backends, enum riptide_backend chosen,
                  struct riptide_router *router, const struct windows_config *config,
                  struct riptide_error *error)
{
    int r = 0;

    *backends = (struct backends){ .asked = chosen, .chosen = chosen, .router = router };
    if (chosen != RIPTIDE_ROUTES) {
        r = windows_new(&backends->connections, config, &backends->why_routes);
        if (r < 0)
            r = refuse(backends, r, error);
    }
    return r;
}

void backends_deinit(struct backends *backends)
{
    backends->connections = windows_free(backends->connections);
}

int backends_start(struct backends *backends, struct riptide_error *error)
{
    int r = 0;

    error_set(error, "%s", "");
    backends->chosen = backends->connections ? backends->asked : RIPTIDE_ROUTES;
    if (backends->connections) {
        r = windows_start(backends->connections, &backends->why_routes);
        if (r < 0)
            r = refuse(backends, r, error);
        else if (backends->chosen == RIPTIDE_AUTO)
            backends->chosen = RIPTIDE_CONNECTIONS;
    }
    if (r == 0)
        r = backends->chosen == RIPTIDE_CONNECTIONS
                ? start_program(backends->router, error)
                : riptide_router_start(backends->router, error);
    if (r < 0 && backends->connections)
        windows_stop(backends->connections);
    return error_fill(error, r);
}

/*
 * A route gives its window also where nothing paces it: outside the program's cgroup, and after the
 * agent was killed. So if a window fits only when paced, the route gets at most careful's start.
 */
static uint32_t route_cwnd(const struct riptide_wanted *wanted)
{
    bool is_paced = wanted->pacing_percent > 0 && wanted->pacing_percent != RIPTIDE_AT_ONCE;

    return is_paced && wanted->initcwnd > START_CWND ? START_CWND : wanted->initcwnd;
}

/* Routes first: after a failure the caller sets both again, and the router finds no difference. */
int backends_set(struct backends *backends, const struct riptide_wanted *wanted)
{
    struct riptide_wanted by_route = *wanted;
    int first = 0, r = 0;

    by_route.initcwnd = route_cwnd(wanted);
    if (has_routes(backends))
        first = riptide_router_set(backends->router, &by_route);
    if (first >= 0 && backends->connections)
        r = windows_set(backends->connections, wanted);
    return r < 0 ? r : first;
}

void backends_flush(struct backends *backends)
{
    while (backends->connections && windows_dispatch(backends->connections) == RIPTIDE_E_MORE)
        ;
}

int backends_pop(struct backends *backends, const struct riptide_route **routep)
{
    if (backends->connections && windows_pop(backends->connections, routep) == 0)
        return 0;
    return has_routes(backends) ? riptide_router_pop(backends->router, routep) : RIPTIDE_E_AGAIN;
}

bool backends_are_idle(const struct backends *backends)
{
    return !has_routes(backends) || !work_has_more(&backends->router->plan);
}

/* A failure of one does not stop the other. */
int backends_stop(struct backends *backends)
{
    int first = backends->connections ? windows_stop(backends->connections) : 0;
    int r = riptide_router_stop(backends->router);

    return first ? first : r;
}

void backends_check(struct backends *backends, uint64_t round_ns)
{
    if (backends->connections)
        windows_check(backends->connections);
    backends_flush(backends);
    if (has_routes(backends))
        router_check(backends->router, round_ns);
}

static int pause_windows(struct backends *backends)
{
    const char *why = backends->is_paused ? "paused" : backends->why_back;

    return backends->connections ? windows_set_paused(backends->connections, why) : 0;
}

int backends_set_paused(struct backends *backends, bool is_paused)
{
    int first, r = 0;

    backends->is_paused = is_paused;
    first = pause_windows(backends);
    if (has_routes(backends))
        r = riptide_router_set_paused(backends->router, is_paused);
    return first ? first : r;
}

void backends_step_back(struct backends *backends, const char *why)
{
    backends->why_back = why;
    pause_windows(backends);
    if (has_routes(backends))
        router_step_back(backends->router, why);
}
