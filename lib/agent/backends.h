/* SPDX-License-Identifier: MIT */
/*
 * The backends of an agent: the router, the program per connection, or both, as one.
 */
#ifndef RIPTIDE_LIB_AGENT_BACKENDS_H
#define RIPTIDE_LIB_AGENT_BACKENDS_H

#include "apply/backend.h"
#include "connections/connections.h"

/* In the order in which they start. */
enum { MOST_BACKENDS = 2 };

struct backends {
    enum riptide_backend asked;
    enum riptide_backend chosen; /* RIPTIDE_AUTO until the start */
    struct riptide_router *router;
    struct connections *connections; /* NULL: not asked for, or AUTO found none */
    struct listed {
        const struct backend *backend;
        void *self;
    } list[MOST_BACKENDS];
    uint32_t n;
    bool is_paused;
    struct riptide_error why_routes; /* AUTO: why not connections; empty: they are */
};

/* Those asked for; errors as connections_new, but for AUTO, which goes on with routes. */
int backends_init(struct backends *backends, enum riptide_backend chosen,
                  struct riptide_router *router, const struct connections_config *config,
                  struct riptide_error *error);

/* What is given cannot move to others. Errors: -EBUSY, where these would not be the same. */
int backends_compare(const struct backends *backends, enum riptide_backend asked,
                     const char *cgroup, struct riptide_error *error);

/* Frees what init has made. */
void backends_deinit(struct backends *backends);

/* Errors: those of the first that does not start, when none has. */
int backends_start(struct backends *backends, struct riptide_error *error);

/* As the functions of struct backend: `set` for all, `pop` of the first that has something. */
int backends_set(struct backends *backends, const struct riptide_wanted *wanted);
int backends_pop(struct backends *backends, const struct riptide_route **routep);
bool backends_are_idle(const struct backends *backends);
int backends_stop(struct backends *backends);

/* Does what the backend of that fd has to do. *is_one: there is one. */
int backends_dispatch(struct backends *backends, int fd, bool *is_one);

/* For each round. */
void backends_check(struct backends *backends, uint64_t round_ns);

/* Behind backends_compare: what may change, changes at once. */
void backends_reconfigure(struct backends *backends, const struct connections_config *config);

int backends_set_paused(struct backends *backends, bool is_paused);

/* As a pause, and apart from it: until it is NULL. `why` stays the caller's. */
void backends_step_back(struct backends *backends, const char *why);

#endif
