/* SPDX-License-Identifier: MIT */
/* riptide verdict: the verdict of riptided's books. */
#include "client.h"
#include "effect.h"

#include <stdlib.h>
#include <string.h>

/* Besides those of all commands. */
enum { EXIT_HARM = 4 };

static const char text[] =
    "[{*pooled}" EFFECT_SENTENCE "\n]"
    "[{*classes}{!verdict=few}  " EFFECT_SENTENCE "\n]"
    EFFECT_TABLE EFFECT_EXTREMES EFFECT_LEFT_OUT
    "[nothing is compared: {reason}\n]"
    "[counted since {since}\n]"
    "[{phase} phase: {holdout_percent} % are held out\n]"
    "[{?suspended_s}suspended: windows are given again in {suspended_s:clock}, "
    "`riptide status` has the reason\n]";

int verdict_run(const struct command_options *options)
{
    json_t *answer;
    int status = client_ask_or_say(options, json_pack("{s:s}", "request", "verdict"), &answer);
    bool is_harm;

    if (status != EXIT_SUCCESS)
        return status;
    is_harm = strcmp(text_of(get(answer, "pooled"), "verdict"), "harms") == 0;
    status = command_print(options, answer, text, NULL);
    return status == EXIT_SUCCESS && is_harm ? EXIT_HARM : status;
}
