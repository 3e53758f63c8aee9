/* SPDX-License-Identifier: MIT */
/*
 * riptide verdict: what riptided's books say of its windows. Named after the library's folder, as
 * verdict.c has the one of explain.
 */
#include "client.h"
#include "effect.h"

#include <string.h>

/* Beside those of all commands. */
enum { EXIT_HARM = 4 };

const struct option_row proof_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_CONTROL,
    COMMAND_NETNS,
    COMMAND_END,
};

static void print_classes(const json_t *rows)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (strcmp(text_of(row, "verdict"), "few") == 0)
            continue;
        fputs("  ", stdout);
        render(stdout, effect_sentence, row, NULL, NULL);
        fputs("\n", stdout);
    }
}

int proof_run(const struct command_options *options)
{
    json_t *answer;
    const json_t *row;
    size_t i;
    int status = client_ask_or_say(options, json_pack("{s:s}", "request", "verdict"), NULL, &answer);
    bool is_harm;

    if (status != EXIT_SUCCESS)
        return status;
    is_harm = strcmp(text_of(get(answer, "pooled"), "verdict"), "harms") == 0;
    if (!options->json && json_is_object(get(answer, "pooled"))) {
        render(stdout, effect_sentence, get(answer, "pooled"), NULL, NULL);
        fputs("\n", stdout);
        print_classes(get(answer, "classes"));
    }
    json_array_foreach(get(answer, "trials"), i, row)
    {
        if (options->json)
            break;
        render(stdout, effect_trial_sentence, row, NULL, NULL);
        fputs("\n", stdout);
    }
    status = command_print(options, answer, NULL, "[nothing is compared: {reason}\n]"
                           "[{?stepped_back_s}stepped back: windows are given again in "
                           "{stepped_back_s:clock}, `riptide status` says why\n]");
    return status == EXIT_SUCCESS && is_harm ? EXIT_HARM : status;
}
