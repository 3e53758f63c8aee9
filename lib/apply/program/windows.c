/* SPDX-License-Identifier: MIT */
/*
 * Windows on their way to the program's map: of each destination the one that was set last. They
 * wait in the order of setting, and their outcomes in the order of writing. What was written and
 * popped is forgotten here: only the kernel has it.
 */
#include "apply/program/bpf.h"
#include "apply/program/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WRITTEN = 64, MAX_OUTCOMES = 512 /* that nobody pops */ };

static struct queued *queued_at(const struct program *program, uint32_t slot)
{
    return prefix_table_at(&program->queue, slot);
}

static void append(struct program *program, struct window_list *list, uint32_t slot)
{
    queued_at(program, slot)->before = list->last;
    if (list->n > 0)
        queued_at(program, list->last)->after = slot;
    else
        list->first = slot;
    list->last = slot;
    list->n++;
}

static void take_out(struct program *program, struct window_list *list, uint32_t slot)
{
    const struct queued *queued = queued_at(program, slot);

    if (slot == list->first)
        list->first = queued->after;
    else
        queued_at(program, queued->before)->after = queued->after;
    if (slot == list->last)
        list->last = queued->before;
    else
        queued_at(program, queued->after)->before = queued->before;
    list->n--;
}

/* Of the oldest outcome. */
static void forget_outcome(struct program *program)
{
    const uint32_t slot = program->outcomes.first;

    take_out(program, &program->outcomes, slot);
    prefix_table_remove(&program->queue, slot);
}

int windows_set(struct backend *backend, const struct riptide_wanted *wanted)
{
    struct program *program = program_of(backend);
    uint32_t slot = prefix_table_find(&program->queue, &wanted->dst);
    struct queued *queued;
    int r;

    if (slot == PREFIX_TABLE_NONE) {
        if (program->queue.n == program->queue.max && program->outcomes.n > 0)
            forget_outcome(program);
        r = prefix_table_insert(&program->queue, &wanted->dst, &slot);
        if (r != 0)
            return r;
        append(program, &program->waiting, slot);
    } else if (queued_at(program, slot)->is_written) {
        take_out(program, &program->outcomes, slot);
        append(program, &program->waiting, slot);
    }
    queued = queued_at(program, slot);
    queued->wanted = *wanted;
    queued->is_written = queued->is_told = false;
    return 0;
}

static struct program_decision decide(const struct program *program,
                                      const struct riptide_wanted *wanted)
{
    const struct abilities abilities = { program->can_pace,
                                         program->backend.in_use & RIPTIDE_ROUTES };

    return decide_program(wanted, abilities);
}

static int write_window(const struct program *program, const struct riptide_wanted *wanted)
{
    const struct window_key key = window_key_of(&wanted->dst);
    const struct program_decision decision = decide(program, wanted);
    const struct window window = window_of(wanted, &decision);

    if (program->config->dry_run)
        return 0;
    if (wanted->initcwnd == 0)
        return map_element(BPF_MAP_DELETE_ELEM, program->fds[FD_WINDOWS], &key, NULL);
    return map_element(BPF_MAP_UPDATE_ELEM, program->fds[FD_WINDOWS], &key, &window);
}

int windows_dispatch(struct backend *backend)
{
    struct program *program = program_of(backend);

    for (int i = 0; i < MAX_WRITTEN && program->waiting.n > 0 && !program->refusal; i++) {
        const uint32_t slot = program->waiting.first;
        struct queued *queued = queued_at(program, slot);
        int r = write_window(program, &queued->wanted);

        if (r < 0 && r != -ENOENT) {
            program->refusal = r;
            break;
        }
        take_out(program, &program->waiting, slot);
        /* One that was to be removed and does not exist is no news. */
        if (r == -ENOENT) {
            prefix_table_remove(&program->queue, slot);
            continue;
        }
        queued->is_written = true;
        append(program, &program->outcomes, slot);
    }
    return windows_are_idle(program) ? 0 : RIPTIDE_E_MORE;
}

bool windows_are_idle(const struct program *program)
{
    return program->waiting.n == 0 || program->refusal;
}

int windows_pop(struct backend *backend, struct riptide_route *route)
{
    struct program *program = program_of(backend);
    const bool is_refused = program->outcomes.n == 0 && program->waiting.n > 0 && program->refusal;
    struct program_decision decision;
    struct queued *queued;

    if (program->outcomes.n == 0 && !is_refused)
        return RIPTIDE_E_AGAIN;
    queued = queued_at(program, is_refused ? program->waiting.first : program->outcomes.first);
    if (queued->is_told)
        return RIPTIDE_E_AGAIN;
    decision = decide(program, &queued->wanted);
    *route = (struct riptide_route){
        .dst = queued->wanted.dst,
        .state = queued->wanted.initcwnd ? RIPTIDE_ROUTE_APPLIED : RIPTIDE_ROUTE_WITHDRAWN,
        .initcwnd = decision.initcwnd,
        .backend = RIPTIDE_PROGRAM,
        .bound = decision.bound,
    };
    if (!is_refused) {
        forget_outcome(program);
        return 0;
    }
    queued->is_told = true;
    route->state = RIPTIDE_ROUTE_FAILED;
    route->error = program->refusal;
    route->reason_code = RIPTIDE_REASON_REFUSED;
    snprintf(route->reason, sizeof(route->reason), "%s", strerror(-program->refusal));
    return 0;
}

int windows_find(const struct backend *backend, const struct riptide_prefix *dst,
                 struct riptide_route *route)
{
    const struct program *program = program_of(backend);
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
    while (program->outcomes.n > MAX_OUTCOMES)
        forget_outcome(program);
    /* A table does not shrink, and is large after a start with many windows. */
    if (program->queue.n == 0)
        prefix_table_deinit(&program->queue);
    program->refusal = 0;
}
