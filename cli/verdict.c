/* SPDX-License-Identifier: MIT */
/* riptide verdict: whether windows help, by the connections that were held out. */
#include "client.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Besides those of all commands. */
enum { EXIT_HARM = 4 };

#define FORMAT "%" JSON_INTEGER_FORMAT

static void put_word(const json_t *pooled, const char *word)
{
    if (!strcmp(word, "helps"))
        puts("Windows help.");
    else if (!strcmp(word, "harms"))
        puts("Windows harm.");
    else if (!strcmp(word, "mixed"))
        puts("Windows help one figure and harm the other: see the signs.");
    else if (!strcmp(word, "void"))
        printf("Not valid: %.1f %% of those that count were held out, not %.1f %%.\n",
               real(get(pooled, "share_percent"), "estimate"), real(pooled, "due_percent"));
    else if (!strcmp(word, "few"))
        printf("Not known yet: " FORMAT " with a window and " FORMAT " held out; " FORMAT
               " of each are needed.\n",
               number(pooled, "connections"), number(pooled, "held_out"),
               number(pooled, "needed"));
    else
        puts("No difference is shown.");
}

/* The change with its interval: "-25.0 %  (-30.3 to -19.3)". */
static void put_change(const json_t *change, const char *unit)
{
    printf("%+7.1f %-6s (%+.1f to %+.1f)\n", real(change, "estimate"), unit, real(change, "low"),
           real(change, "high"));
}

static void put_table(const json_t *pooled)
{
    if (json_is_null(get(pooled, "time_percent")))
        return;
    puts("                      held out  with window   change       95 % interval");
    printf("  time, round trips %10.2f %12.2f  ", real(pooled, "rounds_held_out"),
           real(pooled, "rounds"));
    put_change(get(pooled, "time_percent"), "%");
    printf("  retransmitted     %8.2f %% %10.2f %%  ", real(pooled, "again_held_out_percent"),
           real(pooled, "again_percent"));
    put_change(get(pooled, "again_points"), "points");
    printf("  connections       %10" JSON_INTEGER_FORMAT " %12" JSON_INTEGER_FORMAT "\n",
           number(pooled, "held_out"), number(pooled, "connections"));
}

static void put_classes(const json_t *classes)
{
    const char *lead = "  change of time, by bytes acknowledged and smallest round trip time:\n";
    const json_t *class;
    size_t i;

    json_array_foreach(classes, i, class)
    {
        if (json_is_null(get(class, "time_percent")))
            continue;
        printf("%s    %-30s", lead, text_of(class, "class"));
        put_change(get(class, "time_percent"), "%");
        lead = "";
    }
}

static void put_rest(const json_t *answer)
{
    const json_t *pooled = get(answer, "pooled"), *halves = get(answer, "halves_percent");
    const json_t *left_out = get(answer, "left_out");
    char span[TEXT_SPAN_BYTES];

    if (json_is_number(get(pooled, "shown_percent")))
        text_field(stdout, "precision", "a change of time by %.1f %% would have been shown by now",
                   real(pooled, "shown_percent"));
    if (json_is_object(halves))
        text_field(stdout, "check",
                   "one half of those held out took %+.1f %% (%+.1f to %+.1f) of the other's time: "
                   "an interval without 0 says that the comparison is wrong",
                   real(halves, "estimate"), real(halves, "low"), real(halves, "high"));
    if (json_is_object(left_out))
        text_field(stdout, "left out",
                   FORMAT " within the kernel's window, " FORMAT " opened without one, " FORMAT
                          " not measured, " FORMAT " limited by the application",
                   number(left_out, "small"), number(left_out, "without"),
                   number(left_out, "unmeasured"), number(left_out, "application"));
    if (json_is_string(get(answer, "since")))
        text_field(stdout, "since", "%s; %g %% are held out in the %s phase",
                   text_of(answer, "since"), real(answer, "holdout_percent"),
                   text_of(answer, "phase"));
    if (real(answer, "suspended_s") > 0)
        text_field(stdout, "suspended", "windows are given again in %s; riptide status says why",
                   text_span(span, real(answer, "suspended_s")));
}

int verdict_run(const struct command_options *options)
{
    const json_t *pooled;
    json_t *answer;
    int status = client_ask_or_say(options, json_pack("{s:s}", "request", "verdict"), &answer);
    bool is_harm;

    if (status != EXIT_SUCCESS)
        return status;
    pooled = get(answer, "pooled");
    is_harm = strcmp(text_of(pooled, "verdict"), "harms") == 0;
    if (options->json) {
        status = command_print_json(options, answer);
        return status == EXIT_SUCCESS && is_harm ? EXIT_HARM : status;
    }
    if (json_is_object(pooled)) {
        put_word(pooled, text_of(pooled, "verdict"));
        put_table(pooled);
        put_classes(get(answer, "classes"));
    } else {
        puts("Nothing is compared.");
        text_field(stdout, "why", "%s", text_of(answer, "reason"));
    }
    put_rest(answer);
    json_decref(answer);
    return is_harm ? EXIT_HARM : EXIT_SUCCESS;
}
