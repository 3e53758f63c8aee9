/* SPDX-License-Identifier: MIT */
/*
 * riptide flush: the emergency exit. Whatever state riptided is in, connections start without us
 * afterwards; who may change that is paused, or named.
 */
#include "client.h"
#include "commands.h"
#include "leftover.h"
#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row flush_rows[] = {
    COMMAND_CONTROL,
    COMMAND_KERNEL,
    COMMAND_END,
};

/* Of a riptided that runs there is an answer; rules do not wait longer for one that hangs. */
#define SHORT_TIMEOUT_MS 500

/* What is removed comes back, unless somebody stops who manages the namespace. */
static void warn_of(int holder, const char *why, struct riptide_error *line)
{
    char process[32] = "a process out of sight";

    if (holder > 0)
        snprintf(process, sizeof(process), "process %d", holder);
    snprintf(line->text, sizeof(line->text),
             "%s manages this network namespace and may put all of it back (%.100s): stop it, if "
             "it is riptided by `systemctl stop riptided`, then `riptide flush` again",
             process, why);
}

/* 0: the holder of the namespace stays off from now on; else `line` says what it may do. */
static int pause_holder(const struct command_options *options,
                        const struct riptide_router_config *numbers, int holder,
                        unsigned int timeout_ms, struct riptide_error *line)
{
    const char *control = options->settings.control;
    json_t *status = NULL, *paused = NULL;
    struct riptide_error why = { .text = "" };
    json_int_t table;
    int pid, r = client_ask_within(control, timeout_ms, json_pack("{s:s}", "request", "status"),
                                   &status, &pid, &why);

    table = number(status, "table");
    json_decref(status);
    if (r == 0 && pid != holder) {
        warn_of(holder, "the riptided at --control is of another network namespace", line);
        return -EXDEV;
    }
    if (r == 0 && table != numbers->table) {
        snprintf(line->text, sizeof(line->text),
                 "riptided runs with another table: `riptide flush --table %" JSON_INTEGER_FORMAT
                 "` is about that",
                 table);
        return -ENXIO;
    }
    if (r == 0)
        r = client_ask_within(control, timeout_ms, json_pack("{s:s}", "request", "pause"), &paused,
                              NULL, &why);
    json_decref(paused);
    if (r < 0)
        warn_of(holder, log_error_text(&why, r), line);
    return r;
}

/* Rules that show our table; those that lead marked queries around it change nothing alone. */
static int count_rules(const struct riptide_router_config *numbers, uint32_t *np)
{
    struct rule *rules;
    size_t n_rules;
    int r = riptide_rules_read(numbers, &rules, &n_rules);

    if (r < 0)
        return r;
    *np = 0;
    for (size_t i = 0; i < n_rules; i++)
        *np += rules[i].table == numbers->table;
    free(rules);
    return 0;
}

/* Routes that a paused riptided has are of no effect, and it would write them again. */
static int remove_all(const struct riptide_router_config *numbers, bool is_paused,
                      uint32_t n_before, struct riptide_flush_counts *counts,
                      struct riptide_error *error)
{
    uint32_t n_left = n_before;
    int r = is_paused ? count_rules(numbers, &n_left) : 0;

    if (r == 0 && (!is_paused || n_left > 0))
        r = riptide_router_flush(numbers, counts, error);
    counts->rules += n_before - n_left;
    return r;
}

/* What has become of it. */
struct flushed {
    struct riptide_flush_counts counts;
    int pause;                 /* of pause_holder; -ESRCH: there is nobody to pause */
    struct riptide_error line; /* of pause_holder */
};

static int turn_off(const struct command_options *options,
                    const struct riptide_router_config *numbers, unsigned int timeout_ms,
                    struct flushed *flushed, struct riptide_error *error)
{
    struct riptide_flush_counts counts = { .rules = 0 };
    uint32_t n_before;
    int holder = 0, r = count_rules(numbers, &n_before);

    flushed->pause = -ESRCH;
    flushed->line.text[0] = '\0';
    if (r == 0 && riptide_router_get_holder(&holder) == 0)
        flushed->pause = pause_holder(options, numbers, holder, timeout_ms, &flushed->line);
    if (r == 0)
        r = remove_all(numbers, flushed->pause == 0, n_before, &counts, error);
    flushed->counts.rules += counts.rules;
    flushed->counts.routes += counts.routes;
    return r;
}

int flush_run(const struct command_options *options)
{
    struct riptide_router_config numbers = settings_numbers(&options->settings);
    struct flushed flushed = { .counts = { .rules = 0 } };
    struct riptide_error error = { .text = "" };
    int r = turn_off(options, &numbers, SHORT_TIMEOUT_MS, &flushed, &error);

    /* All is off; who is slow and does not hang is paused, so that it stays off. */
    if (r == 0 && flushed.pause == -ETIMEDOUT)
        r = turn_off(options, &numbers, CLIENT_TIMEOUT_MS, &flushed, &error);
    if (r == -EPERM)
        snprintf(error.text, sizeof(error.text), "%s", NEEDS_NET_ADMIN);
    if (r < 0)
        return command_fail(options, &error, r);
    printf("removed: rules %" PRIu32 ", routes %" PRIu32 "\n", flushed.counts.rules,
           flushed.counts.routes);
    if (flushed.pause == 0)
        printf("paused: riptided keeps its rules away until `riptide resume` or a restart; its "
               "routes stay in table %" PRIu32 ", where nothing looks them up\n",
               numbers.table);
    if (!flushed.line.text[0] && !leftover_find(&numbers, "riptide flush", &flushed.line))
        return EXIT_SUCCESS;
    log_answer("flush: %s", flushed.line.text);
    return EXIT_FAILURE;
}
