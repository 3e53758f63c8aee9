/* SPDX-License-Identifier: MIT */
/*
 * The routing table as a backend.
 */
#include "backend.h"

#include "tools.h"

static int set(void *self, const struct riptide_wanted *wanted)
{
    return riptide_router_set(self, wanted);
}

static int dispatch(void *self)
{
    return riptide_router_dispatch(self);
}

static int get_fd(const void *self)
{
    return riptide_router_get_fd(self);
}

static int pop(void *self, const struct riptide_route **routep)
{
    return riptide_router_pop(self, routep);
}

static bool is_idle(const void *self)
{
    return riptide_router_is_idle(self);
}

static int stop(void *self)
{
    return riptide_router_stop(self);
}

const struct backend backend_routes = { set, dispatch, get_fd, pop, is_idle, stop };
