/* SPDX-License-Identifier: MIT */
/* The derivation of a window as text. The first failing step on the way decides the sentence. */
#include "explanation.h"

#include "members.h"

#include <stdlib.h>
#include <string.h>

#define FORMAT "%" JSON_INTEGER_FORMAT

static bool is_there(const json_t *object, const char *name)
{
    const json_t *value = get(object, name);

    return value && !json_is_null(value) && !json_is_false(value) &&
           !(json_is_string(value) && json_string_length(value) == 0);
}

static bool is_state(const json_t *route, const char *state)
{
    return !strcmp(text_of(route, "state"), state);
}

/* The window with which connections start in this case. */
static void put_start(FILE *out, const json_t *document)
{
    json_int_t starts_with = number(get(document, "lookup"), "starts_with");

    if (starts_with > 0)
        fprintf(out, "; connections start with " FORMAT " segments", starts_with);
}

/* Why there is no window: the first missing condition. */
static void put_without_window(FILE *out, const json_t *document)
{
    const json_t *seen = get(document, "seen"), *left_out = get(seen, "left_out");

    if (!is_there(document, "in_scope")) {
        fputs("no window: it is outside of --scope, or in --exclude", out);
    } else if (is_there(document, "left_alone")) {
        fprintf(out, "no window, and one would not help: it is left alone: %s",
                text_of(document, "left_alone"));
        put_start(out, document);
    } else if (is_there(document, "seen") && number(seen, "counted") == 0) {
        fprintf(out,
                "no window: none of the " FORMAT " connections that riptided saw last counts "
                "(unused " FORMAT ", idle " FORMAT ", unmeasured " FORMAT ")",
                number(seen, "connections"), number(left_out, "unused"), number(left_out, "idle"),
                number(left_out, "unmeasured"));
    } else {
        fputs("no window: no connection to it is open to learn from, or --max-destinations is "
              "reached",
              out);
    }
}

static void put_by_program(FILE *out, const json_t *program)
{
    if (is_there(program, "kept"))
        fprintf(out,
                "connections start with " FORMAT " segments, their route's, which is no less than "
                "the " FORMAT " by the program",
                number(program, "kept"), number(program, "initcwnd"));
    else
        fprintf(out, "connections start with " FORMAT " segments, given by the program",
                number(program, "initcwnd"));
}

static void put_dry_run(FILE *out, const json_t *route)
{
    fprintf(out, "a dry run: connections would start with " FORMAT " segments",
            number(route, "initcwnd"));
}

static void put_no_route(FILE *out, const json_t *route)
{
    fprintf(out, "no route: %s: %s", text_of(route, "state"),
            is_there(route, "reason") ? text_of(route, "reason") : "no reason known");
}

/* A destination that the program alone gives its window. */
static void put_program_alone(FILE *out, const json_t *document)
{
    const json_t *route = get(document, "route");

    if (is_there(document, "dry_run")) {
        put_dry_run(out, route);
    } else if (is_there(route, "reason")) {
        fprintf(out, "no window is given by the program at present: %s", text_of(route, "reason"));
        put_start(out, document);
    } else if (is_there(document, "program")) {
        put_by_program(out, get(document, "program"));
    } else {
        fputs("no window is given yet: the program has none for it", out);
        put_start(out, document);
    }
}

/* The program gives its window whatever becomes of the route. */
static void put_program_and_route(FILE *out, const json_t *document)
{
    const json_t *lookup = get(document, "lookup"), *rules = get(document, "rules");

    put_by_program(out, get(document, "program"));
    if (!is_state(get(document, "route"), "applied")) {
        fputs("; ", out);
        put_no_route(out, get(document, "route"));
    } else if (is_there(rules, "reason")) {
        fprintf(out, "; the route is not in use: %s", text_of(rules, "reason"));
    } else if (!is_there(document, "kernel")) {
        fputs("; the kernel does not have the route that riptided has written", out);
    } else if (is_there(lookup, "not_ours")) {
        fprintf(out, "; not with the " FORMAT " of our route: %s",
                number(get(document, "kernel"), "initcwnd"), text_of(lookup, "not_ours"));
    }
}

static void put_route(FILE *out, const json_t *document)
{
    const json_t *lookup = get(document, "lookup"), *rules = get(document, "rules");
    const json_int_t starts_with = number(lookup, "starts_with");

    if (starts_with == 0) {
        fprintf(out, "no connections: %s", text_of(lookup, "not_ours"));
        return;
    }
    fprintf(out, "connections start with " FORMAT " segments", starts_with);
    if (is_there(rules, "reason"))
        fprintf(out, ", as the route is not in use: %s", text_of(rules, "reason"));
    else if (is_there(lookup, "not_ours"))
        fprintf(out, ", not with the " FORMAT " of our route: %s",
                number(get(document, "kernel"), "initcwnd"), text_of(lookup, "not_ours"));
}

static void put_of_daemon(FILE *out, const json_t *document)
{
    const json_t *route = get(document, "route"), *program = get(document, "program");

    if (!is_there(document, "route") && !is_there(document, "window")) {
        put_without_window(out, document);
    } else if (!is_there(document, "route")) {
        fputs("no window is given yet: its route is written in this round", out);
    } else if (is_state(route, "withdrawn")) {
        fprintf(out, "no window is given %s%s",
                is_there(route, "reason") ? "at present: " : "any more: its time to live has passed",
                text_of(route, "reason"));
        put_start(out, document);
    } else if (is_state(route, STATE_PROGRAM)) {
        put_program_alone(out, document);
    } else if (is_there(document, "program") && !is_there(program, "reason") &&
               number(get(document, "lookup"), "starts_with") > 0) {
        put_program_and_route(out, document);
    } else if (!is_state(route, "applied")) {
        put_no_route(out, route);
        put_start(out, document);
    } else if (is_there(document, "dry_run")) {
        put_dry_run(out, route);
    } else if (!is_there(document, "kernel")) {
        fputs("the kernel does not have the route that riptided has written", out);
    } else {
        put_route(out, document);
    }
}

const char *explanation_manager(char text[EXPLANATION_MANAGER_BYTES], const json_t *holder)
{
    const json_int_t pid = json_integer_value(holder);
    char process[48] = "a process that this user cannot see";

    if (!holder || json_is_null(holder))
        return "riptided is not running";
    if (pid > 0)
        snprintf(process, sizeof(process), "process " FORMAT, pid);
    snprintf(text, EXPLANATION_MANAGER_BYTES,
             "%s manages this network namespace (an agent that embeds the library, or a riptided "
             "that --control does not reach)",
             process);
    return text;
}

/* A route without an answering riptided. */
static void put_of_kernel(FILE *out, const json_t *document)
{
    const json_t *lookup = get(document, "lookup");
    const bool is_left = !is_there(document, "holder");
    const char *remedy = is_left ? ": see `riptide flush`" : "";
    char manager[EXPLANATION_MANAGER_BYTES];

    fprintf(out, "%s%s", explanation_manager(manager, get(document, "holder")),
            is_left ? ", and left a route" : "");
    if (number(lookup, "starts_with") == 0) {
        fprintf(out, "%s; no connections: %s", remedy, text_of(lookup, "not_ours"));
        return;
    }
    put_start(out, document);
    fprintf(out, "%s%s%s", is_there(lookup, "not_ours") ? ", " : "", text_of(lookup, "not_ours"),
            remedy);
}

static void put_sentence(FILE *out, const json_t *document)
{
    char manager[EXPLANATION_MANAGER_BYTES];

    if (is_there(document, "daemon_is_running")) {
        put_of_daemon(out, document);
    } else if (is_there(document, "is_program_silent")) {
        fprintf(out,
                "process " FORMAT " gives windows by the program and does not answer on --control",
                number(document, "holder"));
    } else if (is_there(document, "kernel")) {
        put_of_kernel(out, document);
    } else if (!is_there(document, "in_scope") || is_there(document, "left_alone")) {
        put_without_window(out, document);
    } else {
        fprintf(out, "%s; for its window: riptided --dry-run --once --scope %s",
                explanation_manager(manager, get(document, "holder")), text_of(document, "dst"));
    }
}

char *explanation_sentence(const json_t *document)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    put_sentence(out, document);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
