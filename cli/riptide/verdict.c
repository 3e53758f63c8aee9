/* SPDX-License-Identifier: MIT */
/* riptide verdict: whether windows help, by the connections that were held out. */
#include "command.h"
#include "members.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static void put_word(const json_t *answer)
{
    const char *word = text_of(answer, "verdict");

    if (!strcmp(word, "helps"))
        puts("Windows help.");
    else if (!strcmp(word, "harms"))
        puts("Windows harm.");
    else if (!strcmp(word, "mixed"))
        puts(real(get(answer, "time"), "change") < 0 ? "Windows save time, and retransmit more."
                                                     : "Windows retransmit less, and take time.");
    else if (!strcmp(word, "none"))
        puts("No difference is shown.");
    else
        puts("Not known.");
    text_field("why", "%s", text_of(answer, "reason"));
}

/* The change with its interval: "-25.0 %  (-30.3 to -19.3)". */
static void put_change(const json_t *change, const char *unit)
{
    printf("%+7.1f %-6s (%+.1f to %+.1f)\n", 100 * real(change, "change"), unit,
           100 * real(change, "low"), 100 * real(change, "high"));
}

static void put_figures(const json_t *answer)
{
    const json_t *time = get(answer, "time"), *retransmitted = get(answer, "retransmitted");
    const json_t *halves = get(answer, "halves");
    char span[TEXT_SPAN_BYTES];

    if (json_is_object(time)) {
        puts("                      held out  with window   change       95 % interval");
        printf("  time, round trips %10.2f %12.2f  ", real(time, "held_out"),
               real(time, "with_window"));
        put_change(time, "%");
        printf("  retransmitted     %8.2f %% %10.2f %%  ", 100 * real(retransmitted, "held_out"),
               100 * real(retransmitted, "with_window"));
        put_change(retransmitted, "points");
        printf("  connections       %10lld %12lld\n", number(answer, "held_out"),
               number(answer, "connections"));
        text_field("precision", "a change of time by %.1f %% would have been shown by now",
                   100 * ((1 + real(time, "high")) / (1 + real(time, "change")) - 1));
    }
    text_field("best", "%s", text_of(answer, "best"));
    text_field("worst", "%s", text_of(answer, "worst"));
    text_field("left out", "%s", text_of(answer, "left_out"));
    if (number(answer, "not_noted") > 0)
        text_field("not noted",
                   "%lld more: there was no room to note how they opened, as some "
                   "200,000 or more connections are open",
                   number(answer, "not_noted"));
    if (real(answer, "holdout_percent") > 0)
        text_field("held out", "%g %% of connections, %s", real(answer, "holdout_percent"),
                   json_is_true(get(answer, "is_settled"))
                       ? "after the first verdict; a pause begins a new one"
                       : "until a verdict that no single network decides");
    if (json_is_object(halves))
        text_field("check",
                   "one half of those held out took %+.1f %% (%+.1f to %+.1f) of the other's time: "
                   "an interval without 0 says that the comparison is wrong",
                   100 * real(halves, "change"), 100 * real(halves, "low"),
                   100 * real(halves, "high"));
    if (real(answer, "suspended_s") > 0)
        text_field("suspended", "windows are given again in %s",
                   text_span(span, real(answer, "suspended_s")));
}

int verdict_run(const struct command_options *options)
{
    json_t *answer = client_get(options, json_pack("{s:s}", "request", "verdict"));
    const bool is_harm = strcmp(text_of(answer, "verdict"), "harms") == 0;

    if (options->json) {
        command_print_json(answer);
    } else {
        put_word(answer);
        put_figures(answer);
        json_decref(answer);
    }
    return is_harm ? EXIT_TROUBLE : EXIT_SUCCESS;
}
