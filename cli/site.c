/* SPDX-License-Identifier: MIT */
/*
 * What riptide-fleet asks: what this host has learned, to share, and to count what the other hosts
 * of its site have. docs/fleet.md has the whole.
 */
#include "daemon.h"

#include "clock.h"
#include "effect.h"
#include "render.h"

#include <stdlib.h>

json_t *daemon_learned(struct daemon *daemon)
{
    const struct riptide_estimator *estimator = riptide_agent_get_estimator(daemon->agent);
    const struct arm_config *arms = &riptide_agent_get_outcomes(daemon->agent)->arms;

    return json_pack("{s:I, s:I, s:I}", "life", (json_int_t)daemon->health.started_ns, "revision",
                     (json_int_t)riptide_estimator_get_revision(estimator), "trial_percent",
                     (json_int_t)arms->trial_percent);
}

const struct ladder *daemon_next_ladder(struct daemon *daemon, uint32_t *cursor,
                                        struct riptide_prefix *dst)
{
    return riptide_estimator_next_ladder(riptide_agent_get_estimator(daemon->agent), cursor, dst);
}

double daemon_again_price(const struct daemon *daemon)
{
    return daemon->settings->agent.again_price;
}

json_t *daemon_books(struct daemon *daemon, uint64_t known)
{
    const struct outcomes *outcomes = riptide_agent_get_outcomes(daemon->agent);
    const struct arm_config arms = outcomes->arms;
    /* Other hosts count connections. */
    const struct books *books = arms.turn_ms > 0 ? NULL : outcomes->books;
    json_t *text = json_null(), *pooled = json_null();
    uint64_t n = books ? books_count(books) : 0;

    if (n > 0 && n != known) {
        size_t size = books_save(books, NULL, 0);
        char *buffer = malloc(size);

        if (buffer)
            text = json_stringn(buffer, books_save(books, buffer, size));
        free(buffer);
        if (arms.holdout_percent > 0)
            pooled = effect_pooled(books, &arms);
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}", "connections", (json_int_t)n, "since_s",
                     (json_int_t)outcomes->since_s, "holdout_percent",
                     (json_int_t)arms.holdout_percent, "trial_percent",
                     (json_int_t)arms.trial_percent, "books", text, "pooled", pooled);
}

int daemon_take_site(struct daemon *daemon, const struct riptide_prefix *dst, const char *ladder,
                     double weight)
{
    return riptide_estimator_take_site(riptide_agent_get_estimator(daemon->agent), dst, ladder,
                                       weight);
}

void daemon_keep_site(struct daemon *daemon, bool is_replacing, uint64_t for_ns)
{
    struct riptide_estimator *estimator = riptide_agent_get_estimator(daemon->agent);

    if (is_replacing)
        riptide_estimator_forget_site(estimator);
    daemon->site_ns = clock_read_ns(CLOCK_BOOTTIME);
    daemon->site_until_ns = daemon->site_ns + for_ns;
    riptide_estimator_keep_site(estimator, daemon->site_until_ns, for_ns / 2);
}
