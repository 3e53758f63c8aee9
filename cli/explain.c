/* SPDX-License-Identifier: MIT */
/*
 * riptide show DST: every step from a destination's connections to its window, or what prevents it.
 * All facts are collected in one document, which is printed as JSON or as text.
 */
#include "explain.h"

#include "client.h"
#include "explanation.h"
#include "lib/tools.h"
#include "log.h"
#include "resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The destination to which the address belongs by the configuration. */
static int find_group(const struct riptide_estimator_config *config,
                      const struct riptide_prefix *dst, struct riptide_prefix *group)
{
    struct riptide_estimator *estimator;
    int r = riptide_estimator_new(&estimator, config, NULL);

    if (r < 0)
        return r;
    riptide_estimator_group(estimator, dst, group);
    riptide_estimator_free(estimator);
    return 0;
}

/* The daemon's answer if it had no data on the destination. */
static json_t *without_daemon(const struct settings *settings, const struct riptide_prefix *dst)
{
    struct riptide_prefix group;

    if (find_group(&settings->estimator, dst, &group) != 0)
        group = *dst;
    return json_pack("{s:o, s:b, s:s, s:b, s:n, s:n, s:n, s:n, s:n, s:n}", "destination",
                     explanation_prefix(&group), "in_scope", settings_have_peer(settings, dst),
                     "policy", settings->estimator.policy->name, "dry_run", true, "window",
                     "seen", "route", "program", "rules", "apply");
}

/* The daemon's answer, or, if none answers, what it would be. */
static int ask_daemon(const struct command_options *options, const struct riptide_prefix *dst,
                      json_t **documentp, struct riptide_error *error)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    bool is_running, has_holder;
    int holder, r;

    riptide_prefix_format(dst, text);
    r = client_ask(options->settings.control,
                   json_pack("{s:s, s:s}", "request", "explain", "dst", text), documentp, NULL,
                   error);
    is_running = r == 0;
    if (r < 0 && r != -ENOMEM) {
        if (!client_is_absence(r))
            log_answer("show: %s; only the kernel's part is shown", log_error_text(error, r));
        error->text[0] = '\0';
        *documentp = without_daemon(&options->settings, dst);
        r = *documentp ? 0 : -ENOMEM;
    }
    if (r == 0) {
        has_holder = riptide_applier_get_holder(&holder) == 0;
        json_object_update_new(
            *documentp, json_pack("{s:b, s:s, s:b, s:o}", "daemon_is_running", is_running, "dst",
                                  text, "is_program_silent",
                                  !is_running && has_holder && client_has_program(holder) > 0,
                                  "holder", has_holder ? json_integer(holder) : json_null()));
    }
    return r;
}

/* Whether the program gives windows, which needs no route for that. */
static bool has_program(const json_t *document)
{
    const char *by = text_of(get(document, "apply"), "by");

    return *by && strcmp(by, "routes") != 0;
}

/*
 * Without a window there is no route, but there may be a reason why there never will be. A prefix
 * never has one, nor needs it beside the program.
 */
static int add_left_alone(const struct command_options *options, json_t *document,
                          const struct riptide_prefix *dst, struct riptide_error *error)
{
    const struct settings *settings = &options->settings;
    struct resolved resolved = { .n = 0 };
    bool needs_no_route = has_program(document) && !prefix_is_host(dst);
    int r = 0;

    if (json_is_true(get(document, "in_scope")) && !needs_no_route)
        r = resolve(&settings->applier, settings->estimator.cwnd_max, dst, 1, &resolved, error);
    json_object_set_new(document, "left_alone",
                        resolved.n_left_alone ? json_string(resolved.left_alone.reason)
                                              : json_null());
    return r;
}

static int add_kernel(const struct command_options *options, json_t *document,
                      const struct riptide_prefix *dst)
{
    const struct riptide_route asked = { .dst = *dst };
    struct riptide_route route;
    struct start *start;
    int r = resolve_find_ours(&options->settings.applier, dst, &route);

    if (r < 0 && r != -ENOENT)
        return r;
    json_object_set_new(document, "kernel", r == 0 ? explanation_route(&route) : json_null());
    r = resolve_starts(&options->settings.applier, &asked, 1, &start);
    if (r < 0)
        return r;
    json_object_set_new(document, "lookup",
                        json_pack("{s:o, s:o, s:s?}", "table", figure_or_null(start->table),
                                  "starts_with", figure_or_null(start->cwnd), "not_ours",
                                  start->text[0] ? start->text : NULL));
    free(start);
    return 0;
}

/* A larger initcwnd of the base route stays, unless losses or a hint lowered ours. */
static void add_kept(json_t *document)
{
    const json_t *program = get(document, "program");
    const json_int_t starts_with = number(get(document, "lookup"), "starts_with");
    bool is_kept =
        json_is_false(get(program, "may_lower")) && starts_with > number(program, "initcwnd");

    json_object_set_new(json_object_get(document, "program"), "kept",
                        is_kept ? json_integer(starts_with) : json_null());
}

/* The destination to which it belongs. RIPTIDE_E_UNKNOWN: it holds several. */
static int find_destination(const json_t *document, const struct riptide_prefix *dst,
                            struct riptide_prefix *destination)
{
    if (riptide_prefix_parse(destination, text_of(document, "destination")) != 0)
        return -EBADMSG;
    return destination->len <= dst->len ? 0 : RIPTIDE_E_UNKNOWN;
}

static int complete(const struct command_options *options, const struct riptide_prefix *dst,
                    json_t *document, struct riptide_error *error)
{
    struct riptide_prefix destination;
    char *verdict;
    int r = find_destination(document, dst, &destination);

    if (r == 0)
        r = add_left_alone(options, document, &destination, error);
    if (r == 0)
        r = add_kernel(options, document, dst);
    if (r != 0)
        return r;
    add_kept(document);
    verdict = explanation_sentence(document);
    if (!verdict)
        return -ENOMEM;
    json_object_set_new(document, "verdict", json_string(verdict));
    free(verdict);
    return 0;
}

static int gather(const struct command_options *options, const struct riptide_prefix *dst,
                  json_t **documentp, struct riptide_error *error)
{
    json_t *document;
    int r = ask_daemon(options, dst, &document, error);

    if (r < 0)
        return r;
    r = complete(options, dst, document, error);
    if (r != 0)
        json_decref(document);
    else
        *documentp = document;
    return r;
}

int explain(const struct command_options *options, const struct riptide_prefix *dst, int *statusp)
{
    struct riptide_error error = { .text = "" };
    json_t *document;
    int r = gather(options, dst, &document, &error);

    if (r == RIPTIDE_E_UNKNOWN)
        return r;
    if (r != 0) {
        *statusp = command_fail(options, &error, r);
    } else if (options->json) {
        *statusp = command_print_json(options, document);
    } else {
        explain_print(document);
        json_decref(document);
        *statusp = EXIT_SUCCESS;
    }
    return 0;
}
