/* SPDX-License-Identifier: MIT */
/*
 * Windows on their way to the program's map, in the order of setting, so that the last one of a
 * destination prevails. Only the kernel remembers those that it has.
 */
#include "apply/program/program.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WRITTEN = 64, MAX_OUTCOMES = 512 /* that nobody pops */ };

int windows_set(struct program *program, const struct riptide_wanted *wanted)
{
    const struct queued queued = { .wanted = *wanted };

    /* Where the kernel refuses one the newest of each destination waits, not all of them. */
    for (uint32_t i = program->n_queued; program->refusal && i-- > program->n_written;) {
        if (prefix_equal(&program->queue[i].wanted.dst, &wanted->dst)) {
            program->queue[i] = queued;
            return 0;
        }
    }
    return array_append(&program->queue, &program->n_queued, &queued, sizeof(queued));
}

static int write_window(const struct program *program, const struct riptide_wanted *wanted)
{
    const struct window_key key = window_key_of(&wanted->dst);
    const struct window window = window_of(wanted, program->can_pace, program->is_beside_routes);

    if (program->config->dry_run)
        return 0;
    if (wanted->initcwnd == 0)
        return map_element(BPF_MAP_DELETE_ELEM, program->fds[FD_WINDOWS], &key, NULL);
    return map_element(BPF_MAP_UPDATE_ELEM, program->fds[FD_WINDOWS], &key, &window);
}

int windows_dispatch(struct program *program)
{
    for (int i = 0; i < MAX_WRITTEN && program->n_written < program->n_queued; i++) {
        struct queued *queued = &program->queue[program->n_written];
        int r = program->refusal ? program->refusal : write_window(program, &queued->wanted);

        if (r < 0 && r != -ENOENT) {
            program->refusal = r;
            return 0;
        }
        /* One that was to be removed and does not exist is no news. */
        queued->is_told = r == -ENOENT;
        program->n_written++;
    }
    return program->n_written < program->n_queued ? RIPTIDE_E_MORE : 0;
}

int windows_pop(struct program *program, struct riptide_route *route)
{
    const uint32_t n_answered = program->n_written + (program->refusal != 0);
    struct queued *queued;

    while (program->n_popped < program->n_written && program->queue[program->n_popped].is_told)
        program->n_popped++;
    if (program->n_popped == n_answered || program->queue[program->n_popped].is_told)
        return RIPTIDE_E_AGAIN;
    queued = &program->queue[program->n_popped];
    queued->is_told = true;
    *route = (struct riptide_route){
        .dst = queued->wanted.dst,
        .state = queued->wanted.initcwnd ? RIPTIDE_ROUTE_APPLIED : RIPTIDE_ROUTE_WITHDRAWN,
        .initcwnd = queued->wanted.initcwnd,
        .backend = RIPTIDE_PROGRAM,
    };
    if (program->n_popped == program->n_written) {
        route->state = RIPTIDE_ROUTE_FAILED;
        route->error = program->refusal;
        route->reason_code = RIPTIDE_REASON_REFUSED;
        snprintf(route->reason, sizeof(route->reason), "%s", strerror(-program->refusal));
    }
    return 0;
}

int windows_find(const struct program *program, const struct riptide_prefix *dst,
                 struct riptide_route *route)
{
    const struct window_key key = window_key_of(dst);
    struct window window = { .initcwnd = 0 };

    if (map_element(BPF_MAP_LOOKUP_ELEM, program->fds[FD_WINDOWS], &key, &window) < 0)
        return RIPTIDE_E_UNKNOWN;
    *route = (struct riptide_route){ .dst = *dst,
                                     .state = RIPTIDE_ROUTE_APPLIED,
                                     .initcwnd = window.initcwnd,
                                     .backend = RIPTIDE_PROGRAM };
    return 0;
}

void windows_tick(struct program *program)
{
    uint32_t n = program->n_popped;

    if (n + MAX_OUTCOMES < program->n_written)
        n = program->n_written - MAX_OUTCOMES;
    program->n_popped = 0;
    program->n_written -= n;
    program->n_queued -= n;
    if (n > 0)
        memmove(program->queue, program->queue + n, program->n_queued * sizeof(*program->queue));
    program->refusal = 0;
}
