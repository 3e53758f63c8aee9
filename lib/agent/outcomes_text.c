/* SPDX-License-Identifier: MIT */
/* Outcomes as text behind a state: books, and the waits of suspended windows. Pure. */
#include "agent/parts.h"
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARES_BYTES = 64 };

int outcomes_save(const struct outcomes *outcomes, uint64_t now_ns, uint64_t realtime_ns,
                  char **textp, size_t *np)
{
    const struct books *books = outcomes->books;
    size_t size = books ? books_save(books, NULL, 0) : 0, n = 0;
    size_t ended_size = outcomes->ended ? books_save(outcomes->ended, NULL, 0) : 0;
    char *text;

    if (!books && outcomes->kept) {
        *textp = strdup(outcomes->kept);
        *np = strlen(outcomes->kept);
        return *textp ? 0 : -ENOMEM;
    }
    text = malloc(size + ended_size + (size_t)5 * SHARES_BYTES + SUSPENSION_LINE_BYTES);
    if (!text)
        return -ENOMEM;
    if (books) {
        n = books_save(books, text, size);
        /* After the last cell, so that truncated books have no known shares. */
        n += (size_t)snprintf(text + n, SHARES_BYTES, "holdout_percent=%u\n",
                              outcomes->arms.holdout_percent);
        n += suspension_save(&outcomes->suspension, now_ns, realtime_ns, text + n);
        n += (size_t)snprintf(text + n, SHARES_BYTES, "books_since_s=%" PRIu64 "\n",
                              outcomes->since_s);
    }
    if (books && outcomes->ended) {
        n += books_save(outcomes->ended, text + n, ended_size);
        n += (size_t)snprintf(text + n, SHARES_BYTES, "ended_due=%" PRIu64 "\n",
                              outcomes->ended_due);
    }
    *textp = text;
    *np = n;
    return 0;
}

/*
 * The books after a state: *booksp, *np bytes, and their share. Errors: -ENOENT, there are none;
 * -EINVAL, truncated, with a line.
 */
static int find_books(const char *state, size_t size, const char **booksp, size_t *np,
                      uint32_t *holdout_percentp, struct riptide_error *error)
{
    static const char head[] = "\nriptide books ", shares_head[] = "\nholdout_percent=";
    const char *end = state + size, *begin = memmem(state, size, head, strlen(head));
    const char *shares =
        begin ? memmem(begin, (size_t)(end - begin), shares_head, strlen(shares_head)) : NULL;
    char line[64] = "", newline = 0;

    if (!begin)
        return -ENOENT;
    if (shares)
        memcpy(line, shares,
               (size_t)(end - shares) < sizeof(line) ? (size_t)(end - shares) : sizeof(line) - 1);
    if (sscanf(line, "\nholdout_percent=%" SCNu32 "%c", holdout_percentp, &newline) != 2 ||
        newline != '\n') {
        error_set(error, "books are incomplete or of another version, and not used");
        return -EINVAL;
    }
    *booksp = begin + 1;
    *np = (size_t)(shares - begin);
    return 0;
}

/* Loads ended books, and books of other shares, as ended ones: exported counters continue. */
static void load_ended(struct outcomes *has, const char *at, const char *others, size_t n,
                       uint32_t holdout_percent)
{
    const char *begin = strstr(at, "\nriptide books ");
    const char *end = begin ? strstr(begin, "\nended_due=") : NULL;
    uint64_t due = 0;

    if ((!end && !others) || !books_get_ended(has))
        return;
    if (others && books_load(has->ended, others, n, NULL, NULL) == 0)
        has->ended_due += books_due(has->ended, holdout_percent);
    if (end && books_load(has->ended, begin + 1, (size_t)(end - begin), NULL, NULL) == 0 &&
        sscanf(end, "\nended_due=%" SCNu64, &due) == 1)
        has->ended_due += due;
}

/* Writes to `said` how many connections the books have then, and why some were not loaded. */
static void load_books(struct outcomes *has, const char *state, size_t size,
                       struct riptide_error *said)
{
    struct riptide_error reason = { .text = "" };
    uint32_t n_skipped = 0, had_percent = 0;
    const char *text, *since;
    size_t n;
    int r = find_books(state, size, &text, &n, &had_percent, &reason);
    bool are_other = had_percent != has->arms.holdout_percent;

    if (r == 0 && are_other)
        error_set(&reason,
                  "the file's books are not used: they are of --holdout-percent %u, now it is %u",
                  had_percent, has->arms.holdout_percent);
    else if (r == 0 && has->books && books_load(has->books, text, n, &n_skipped, &reason) == 0 &&
             (since = strstr(text + n, "\nbooks_since_s=")))
        sscanf(since, "\nbooks_since_s=%" SCNu64, &has->since_s);
    if (r == 0 && has->books)
        load_ended(has, text + n, are_other ? text : NULL, n, had_percent);
    if (n_skipped > 0)
        error_set(&reason, "invalid lines: %u", n_skipped);
    error_set(said, "outcomes of connections: %llu%s%s",
              (unsigned long long)(has->books ? books_count(has->books) : 0),
              reason.text[0] ? ": " : "", reason.text);
}

/* Windows that were withdrawn after harm stay withdrawn, until the same time. */
static void load_suspension(struct outcomes *has, const char *text, uint64_t now_ns, uint64_t realtime_ns)
{
    const char *line = strstr(text, "\nsuspended=");

    if (line)
        suspension_load(&has->suspension, line + 1, now_ns, realtime_ns);
    if (has->suspension.until_ns == 0)
        return;
    snprintf(
        has->why_suspended, sizeof(has->why_suspended),
        "suspended before the last start, for another %llu s; `riptide verdict` has the reason",
        (unsigned long long)((has->suspension.until_ns - now_ns) / NS_PER_S));
}

/* Keeps the text of books and waits, which this agent cannot use, for a later start. */
static void keep_books(struct outcomes *has, const char *text)
{
    const char *begin = strstr(text, "\nriptide books ");

    free(has->kept);
    has->kept = begin ? strdup(begin + 1) : NULL;
}

void outcomes_load(struct outcomes *outcomes, const char *state, size_t size, uint64_t now_ns,
                   uint64_t realtime_ns, struct riptide_error *said)
{
    if (outcomes->books) {
        load_books(outcomes, state, size, said);
        load_suspension(outcomes, state, now_ns, realtime_ns);
        return;
    }
    keep_books(outcomes, state);
    error_set(said, "outcomes of connections: 0%s",
              outcomes->kept ? ": the file's outcomes are kept unused, as no connection "
                               "is held out now"
                             : "");
}
