/* SPDX-License-Identifier: MIT */
/* riptide verdict: the verdict of riptided's books, or of several hosts' states. */
#include "client.h"
#include "effect.h"
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Besides those of all commands. */
enum { EXIT_HARM = 4 };

static const char text[] =
    "[{*pooled}" EFFECT_SENTENCE "\n]"
    "[{*classes}{!verdict=few}  " EFFECT_SENTENCE "\n]"
    "[{*trials}" EFFECT_TRIAL "\n]"
    "[nothing is compared: {reason}\n]"
    "[counted since {since}\n]"
    "[{?has_stepped_back}these figures include destinations that stepped back alone, and cause no "
    "step back\n]"
    "[{?stepped_back_s}stepped back: windows are given again in {stepped_back_s:clock}, "
    "`riptide status` has the reason\n]";

/* The states of the operands, as one host. */
static int add_states(const struct command_options *options, json_t **answerp)
{
    size_t n = (size_t)options->n_operands, n_read = 0, at = 0;
    char **states = calloc(n, sizeof(*states));
    size_t *sizes = calloc(n, sizeof(*sizes));
    struct books *books = calloc(1, sizeof(*books));
    struct riptide_error error = { .text = "" };
    struct arm_config arms = { 0 };
    int r = states && sizes && books ? 0 : -ENOMEM;

    for (; r == 0 && n_read < n; n_read += r == 0)
        r = riptide_file_read(options->operands[n_read], RIPTIDE_STATE_MAX_BYTES,
                              (void **)&states[n_read], &sizes[n_read], &error);
    if (r < 0) {
        log_answer("verdict: %s", log_error_text(&error, r));
    } else {
        r = riptide_states_add_books(books, &arms, (const char *const *)states, sizes, n, &at,
                                     &error);
        if (r < 0)
            log_answer("verdict: %s: %s", options->operands[at], log_error_text(&error, r));
        else
            *answerp = effect_document(NULL, books, &arms, 0);
    }
    while (n_read > 0)
        free(states[--n_read]);
    free(states);
    free(sizes);
    free(books);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int verdict_run(const struct command_options *options)
{
    json_t *answer;
    int status =
        options->n_operands > 0
            ? add_states(options, &answer)
            : client_ask_or_say(options, json_pack("{s:s}", "request", "verdict"), NULL, &answer);
    bool is_harm;

    if (status != EXIT_SUCCESS)
        return status;
    is_harm = strcmp(text_of(get(answer, "pooled"), "verdict"), "harms") == 0;
    status = command_print(options, answer, text, NULL);
    return status == EXIT_SUCCESS && is_harm ? EXIT_HARM : status;
}
