/* SPDX-License-Identifier: MIT */
/* Destinations judged by their own connections; see watch.h. */
#include "proof/watch.h"

#include "proof/verdict.h"

#include <string.h>

/* Connections refused for lack of room, until destinations with few connections are dropped. */
enum { REFUSALS = 16 * WATCHED };

void watch_init(struct watch *watch, uint64_t hash_seed)
{
    *watch = (struct watch){ 0 };
    prefix_table_init(&watch->table, sizeof(struct watched), WATCHED, hash_seed);
}

void watch_deinit(struct watch *watch)
{
    prefix_table_deinit(&watch->table);
}

struct watched *watch_find(const struct watch *watch, const struct riptide_prefix *dst)
{
    uint32_t slot = prefix_table_find(&watch->table, dst);

    return slot == PREFIX_TABLE_NONE ? NULL : watched_at(watch, slot);
}

/*
 * Chosen by numbers of connections only, never by outcomes. At least one is dropped: the waiting
 * connection most often belongs to the busiest destination that is not watched.
 */
static void make_room(struct watch *watch, uint64_t now_ns)
{
    uint64_t n_all = 0, n = watch->table.n;
    uint32_t idlest = PREFIX_TABLE_NONE, least = UINT32_MAX;

    FOR_EACH_WATCHED(watch, slot)
    n_all += watched_at(watch, slot)->n_lately;
    FOR_EACH_WATCHED(watch, slot)
    {
        struct watched *watched = watched_at(watch, slot);
        uint32_t n_lately = watched->n_lately;

        watched->n_lately = 0;
        if (!harm_is_over(&watched->harm, now_ns))
            continue;
        if (8 * n_lately * n <= n_all) {
            prefix_table_remove(&watch->table, slot);
        } else if (n_lately < least) {
            least = n_lately;
            idlest = slot;
        }
    }
    if (watch->table.n == WATCHED && idlest != PREFIX_TABLE_NONE)
        prefix_table_remove(&watch->table, idlest);
}

struct watched *watch_get(struct watch *watch, const struct riptide_prefix *dst, uint64_t now_ns)
{
    struct watched *watched = watch_find(watch, dst);
    uint32_t slot;

    if (watched)
        return watched;
    if (watch->table.n == WATCHED && ++watch->n_refused % REFUSALS == 0)
        make_room(watch, now_ns);
    return prefix_table_insert(&watch->table, dst, &slot) == 0 ? watched_at(watch, slot) : NULL;
}

void watched_enter(struct watched *watched, enum arm arm, const struct riptide_sample *sample)
{
    watched->n_lately++;
    book_cell_enter(arm == ARM_HOLDOUT ? &watched->holdout : &watched->window, sample);
}

void watch_forget(struct watch *watch, uint32_t slot)
{
    watch->n_back -= watched_is_back(watched_at(watch, slot));
    prefix_table_remove(&watch->table, slot);
}

static void begin_anew(struct watched *watched)
{
    watched->rank = 0;
    watched->window = watched->holdout = (struct book_cell){ 0 };
}

void watch_begin_anew(struct watch *watch)
{
    FOR_EACH_WATCHED(watch, slot)
    begin_anew(watched_at(watch, slot));
}

/* The error budget is shared by all sums that are ever judged, of one destination or several. */
int watched_verdict(const struct watched *watched, struct verdict *verdict)
{
    if (watched->rank == 0)
        return RIPTIDE_E_UNKNOWN;
    return verdict_of_cells(verdict, &watched->window, &watched->holdout,
                            verdict_nth_confidence(watched->rank));
}

void watched_step_back(struct watch *watch, struct watched *watched,
                       const struct harm_config *config, uint64_t now_ns)
{
    if (watched->rank == 0) /* too few for a verdict of their own until now */
        watched->rank = ++watch->n_ranks;
    harm_step_back(&watched->harm, config, now_ns);
    watch->n_back++;
    watch->n_harms++;
}

struct watched *watch_find_cause(const struct watch *watch, const struct harm_config *config)
{
    struct book_cell window = { 0 }, holdout = { 0 };
    struct watched *worst = NULL;
    struct verdict verdict, of_worst;
    double most = 0;

    FOR_EACH_WATCHED(watch, slot)
    {
        struct watched *watched = watched_at(watch, slot);

        if (watched_is_back(watched) ||
            verdict_of_cells(&verdict, &watched->window, &watched->holdout, VERDICT_CONFIDENCE) ||
            harm_of(&verdict) * (double)verdict.n_control <= most)
            continue;
        most = harm_of(&verdict) * (double)verdict.n_control;
        worst = watched;
        of_worst = verdict;
    }
    FOR_EACH_WATCHED(watch, slot)
    {
        const struct watched *watched = watched_at(watch, slot);

        if (watched == worst || watched_is_back(watched))
            continue;
        book_cell_add(&window, &watched->window);
        book_cell_add(&holdout, &watched->holdout);
    }
    if (!worst || verdict_of_cells(&verdict, &window, &holdout, VERDICT_CONFIDENCE) != 0 ||
        harm_is_shown(config, &verdict) ||
        harm_of(&verdict) > harm_of(&of_worst) / 2)
        return NULL;
    return worst;
}

enum harm_step watched_judge(struct watch *watch, struct watched *watched,
                             const struct harm_config *config, struct verdict *verdict,
                             uint64_t now_ns)
{
    enum harm_step step;

    if (watched->rank == 0 && watched->window.n >= VERDICT_MIN_CONNECTIONS &&
        watched->holdout.n >= VERDICT_MIN_CONNECTIONS)
        watched->rank = ++watch->n_ranks;
    step = harm_judge(&watched->harm, config,
                      watched_verdict(watched, verdict) == 0 ? verdict : NULL, now_ns);
    watch->n_back += (uint32_t)(step == HARM_STEPS_BACK) - (uint32_t)(step == HARM_RETURNS);
    watch->n_harms += step == HARM_STEPS_BACK;
    if (step == HARM_RETURNS || (step == HARM_STAYS && watched->rank > 0 &&
                                 watched->window.n + watched->holdout.n >= RECENT))
        begin_anew(watched);
    return step;
}
