/* SPDX-License-Identifier: MIT */
/* Windows on their way to the program's map. Only the kernel remembers those that it has. */
#include "apply/program/program.h"
#include "internal.h"
#include "prefix.h"
#include "prefix_table.h"

#include <errno.h>
#include <string.h>

enum { MAX_WRITTEN = 64, MAX_OUTCOMES = 512 /* that nobody pops */ };

int windows_set(struct program *program, const struct riptide_wanted *wanted)
{
    const struct queued added = { .wanted = *wanted, .error = 1, .told = 1 };

    return array_append(&program->queue, &program->n_queued, &program->capacity, &added,
                        sizeof(added));
}

static void write_window(const struct program *program, struct queued *queued)
{
    const struct window_key key = window_key_of(&queued->wanted.dst);
    const struct window window =
        window_of(&queued->wanted, program->config->pacing, program->is_beside_routes);
    bool is_wanted = window.initcwnd > 0;

    queued->error = 0;
    if (program->config->dry_run)
        return;
    queued->error = map_element(is_wanted ? BPF_MAP_UPDATE_ELEM : BPF_MAP_DELETE_ELEM,
                                program->fds[FD_WINDOWS], &key, is_wanted ? &window : NULL);
    /* It was to be removed, and does not exist. */
    if (queued->error == -ENOENT)
        queued->error = queued->told = 0;
}

int windows_dispatch(struct program *program)
{
    for (int i = 0; i < MAX_WRITTEN && program->n_tried < program->n_queued; i++) {
        struct queued *queued = &program->queue[program->n_tried++];

        /* What was written before the last retry waits only to be popped. */
        if (queued->error != 0)
            write_window(program, queued);
    }
    return program->n_tried < program->n_queued ? RIPTIDE_E_MORE : 0;
}

int windows_pop(struct program *program, struct riptide_route *route)
{
    struct queued *queued;

    do {
        if (program->n_popped == program->n_tried)
            return RIPTIDE_E_AGAIN;
        queued = &program->queue[program->n_popped++];
    } while (queued->told == queued->error);
    queued->told = queued->error;
    *route = (struct riptide_route){
        .dst = queued->wanted.dst,
        .state = queued->wanted.initcwnd ? RIPTIDE_ROUTE_APPLIED : RIPTIDE_ROUTE_WITHDRAWN,
        .initcwnd = queued->wanted.initcwnd,
        .error = queued->error,
        .backend = RIPTIDE_PROGRAM,
    };
    if (queued->error) {
        route->state = RIPTIDE_ROUTE_FAILED;
        strncpy(route->reason, "the program's map", sizeof(route->reason) - 1);
    }
    return 0;
}

void windows_retry(struct program *program)
{
    uint32_t first = program->n_queued, slot;
    struct prefix_table newer;

    prefix_table_init(&newer, sizeof(struct riptide_prefix), UINT32_MAX);
    for (uint32_t i = program->n_queued; i-- > 0;) {
        const struct queued *queued = &program->queue[i];
        uint32_t n = newer.n;
        bool is_replaced =
            prefix_table_insert(&newer, &queued->wanted.dst, &slot) == 0 && newer.n == n;
        bool is_unpopped = queued->told != 0 && i + MAX_OUTCOMES >= program->n_tried;

        if (queued->error == 0 ? is_unpopped : !is_replaced)
            program->queue[--first] = *queued;
    }
    prefix_table_deinit(&newer);
    program->n_queued -= first;
    program->n_tried = program->n_popped = 0;
    if (first > 0)
        memmove(program->queue, program->queue + first,
                program->n_queued * sizeof(*program->queue));
}
