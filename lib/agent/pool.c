/* SPDX-License-Identifier: MIT */
/*
 * Adds the books in the states of several hosts. Refuses all that would look like an effect: other
 * shares, a state that is void by itself, a host that occurs twice. Pure except for memory.
 */
#include "agent/parts.h"
#include "compute/estimator.h"
#include "proof/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct verdict_classes all_classes = { 0 };

static const char *find(const char *text, const char *end, const char *line)
{
    return text ? memmem(text, (size_t)(end - text), line, strlen(line)) : NULL;
}

int books_find(const char *state, size_t size, const char **booksp, size_t *np,
               struct arm_config *arms, struct riptide_error *error)
{
    const char *end = state + size, *begin = find(state, end, "\nriptide books ");
    const char *shares = find(begin, end, "\nholdout_percent=");
    char line[64] = "", newline = 0;

    if (!begin) {
        error_set(error, "has no books: no connection was held out");
        return -ENOENT;
    }
    if (shares)
        memcpy(line, shares,
               (size_t)(end - shares) < sizeof(line) ? (size_t)(end - shares) : sizeof(line) - 1);
    if ((sscanf(line, "\nholdout_percent=%u trial_percent=%u%c", &arms->holdout_percent,
                &arms->trial_percent, &newline) != 3 ||
         newline != '\n') &&
        (sscanf(line, "\nholdout_percent=%u trial_percent=%u turn_ms=%u%c", &arms->holdout_percent,
                &arms->trial_percent, &arms->turn_ms, &newline) != 4 ||
         newline != '\n')) {
        error_set(error, "books are incomplete, and not used");
        return -EINVAL;
    }
    *booksp = begin + 1;
    *np = (size_t)(shares - begin);
    return 0;
}

/* Whether some condition has excluded more of one arm than of another. */
static bool is_void(const struct books *books, const struct arm_config *arms,
                    struct riptide_error *error)
{
    struct verdict verdict;

    if (arms->holdout_percent == 0 ||
        verdict_compute(&verdict, books, ARM_WINDOW, ARM_HOLDOUT, all_classes,
                        VERDICT_CONFIDENCE) != 0 ||
        !verdict_is_void(&verdict, arms->holdout_percent))
        return false;
    error_set(error, "void: %.1f %% (%.1f to %.1f) of all that counted were held out, not %u %%",
              100 * verdict.share.estimate, 100 * verdict.share.low, 100 * verdict.share.high,
              arms->holdout_percent);
    return true;
}

/* The first state sets *arms; the shares of all others must be the same. */
static int add(struct books *pool, struct arm_config *arms, bool is_first, const char *state,
               size_t size, struct riptide_error *error)
{
    CLEANUP(freep) struct books *books = calloc(1, sizeof(*books));
    struct arm_config has = { 0 };
    uint32_t n_skipped = 0;
    const char *text;
    size_t n;
    int r = books ? books_find(state, size, &text, &n, &has, error) : -ENOMEM;

    if (r == 0)
        r = books_load(books, text, n, &n_skipped, error);
    if (r < 0)
        return r;
    if (is_first)
        *arms = has;
    if (n_skipped > 0) {
        error_set(error, "invalid lines of books: %u", n_skipped);
        return -EINVAL;
    }
    if (arms_differ(&has, arms)) {
        error_set(
            error,
            "books of --holdout-percent %u, --trial-percent %u, --holdout-turn %gs are not "
            "added to those of %u, %u and %gs: differences between the hosts would count as an "
            "effect",
            has.holdout_percent, has.trial_percent, has.turn_ms / 1e3, arms->holdout_percent,
            arms->trial_percent, arms->turn_ms / 1e3);
        return -EINVAL;
    }
    if (is_void(books, &has, error))
        return -EINVAL;
    books_add(pool, books);
    return 0;
}

int riptide_states_add_books(struct books *pool, struct arm_config *arms, const char *const *states,
                             const size_t *sizes, size_t n, size_t *atp,
                             struct riptide_error *error)
{
    int r = 0;

    for (*atp = 0; r == 0 && *atp < n; *atp += r == 0) {
        uint64_t host = state_host(states[*atp], sizes[*atp]);

        for (size_t i = 0; i < *atp && r == 0; i++)
            r = state_host(states[i], sizes[i]) == host ? -EEXIST : 0;
        if (r < 0 && host == 0)
            error_set(error, "has no host id, like another of the states: save it again with this "
                             "version");
        else if (r < 0)
            error_set(error, "is from the same host as another of the states");
        else
            r = add(pool, arms, *atp == 0, states[*atp], sizes[*atp], error);
    }
    return r;
}

STRUCT_ENDS_WITH(struct riptide_verdict, share);

int books_get_verdict(const struct books *books, struct riptide_verdict *verdict, size_t size)
{
    struct riptide_verdict given;
    struct verdict found;
    int r =
        verdict_compute(&found, books, ARM_WINDOW, ARM_HOLDOUT, all_classes, VERDICT_CONFIDENCE);

    if (r != 0)
        return r;
    given = (struct riptide_verdict){ found.n,     found.n_control, found.time, found.rounds_saved,
                                      found.again, found.share };
    struct_give(verdict, size, &given, sizeof(given));
    return 0;
}

RIPTIDE_PUBLIC int riptide_states_get_verdict(const char *const *states, const size_t *sizes,
                                              size_t n, struct riptide_verdict *verdict,
                                              size_t size, struct riptide_error *error)
{
    CLEANUP(freep) struct books *pool = calloc(1, sizeof(*pool));
    struct riptide_error reason = { .text = "" };
    struct arm_config arms = { 0 };
    size_t at = 0;
    int r = pool ? riptide_states_add_books(pool, &arms, states, sizes, n, &at, &reason) : -ENOMEM;

    error_set(error, "%s", "");
    if (r < 0 && reason.text[0])
        error_set(error, "states[%zu]: %s", at, reason.text);
    else if (r == 0 && is_void(pool, &arms, error))
        r = -EINVAL;
    else if (r == 0)
        return books_get_verdict(pool, verdict, size);
    return error_fill(error, r);
}
