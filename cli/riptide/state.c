/* SPDX-License-Identifier: MIT */
#include "state.h"

#include "members.h"
#include "socket.h"

#include <errno.h>
#include <riptide/apply.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Each word for the health in riptided's answer; the last one stands for any other. */
static const struct {
    const char *health, *line; /* line "": the figures say it */
    bool is_trouble;           /* windows should be given, and are not, or not all */
} states[] = {
    { "ok", "", false },
    { "starting", "starting. No round is complete yet", false },
    { "paused", "PAUSED. New connections start without windows", false },
    { "off", "NO EFFECT. No connection gets a window", true },
    { "degraded", "DEGRADED. Not all connections get their window", true },
    { "suspended", "SUSPENDED. Windows did harm; they are tried again later", true },
    { "full", "FULL. New destinations find no free place", true },
    { "failing", "FAILING. Rounds do not do what they should", true },
};

#define SET(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

static void read_kernel(struct state *state, const struct command_options *options,
                        const char *reason)
{
    char name[PROCESS_TEXT_BYTES], span[TEXT_SPAN_BYTES];
    struct riptide_applier_config config;
    struct stat socket = { .st_mtime = 0 };
    int holder;

    riptide_applier_config_init(&config, sizeof(config));
    config.dry_run = true;
    holder = riptide_applier_flush(&config, &state->left);
    if (holder < 0)
        state->left.text[0] = '\0';
    state->is_trouble = state->error == -ETIMEDOUT || (holder == 0 && state->left.text[0]);
    SET(state->remedy, "systemctl start %s", options->unit);
    if (state->error == -ETIMEDOUT) {
        /* It has touched its socket at the end of each round. */
        stat(options->control, &socket);
        SET(state->line, "HANGS. Process %d; its last round was %s ago", state->pid,
            text_span(span, difftime(time(NULL), socket.st_mtime)));
        SET(state->why,
            "%s; its program, if it has one, gives windows for at most 30 s after its last round",
            reason);
        /* A process of another PID namespace has no number here, and 0 is this process's group. */
        if (state->pid > 0)
            SET(state->remedy, "systemctl restart %s (without systemd: kill -KILL %d)",
                options->unit, state->pid);
        else
            SET(state->remedy, "systemctl restart %s", options->unit);
    } else if (holder > 0) {
        state->left.text[0] = '\0';
        SET(state->line, "NOT RUNNING here, but another process gives windows");
        SET(state->why,
            "%s; %s manages this network namespace: an agent that embeds the library, or a "
            "riptided with another --control",
            reason, process_describe(name, holder));
        SET(state->remedy,
            "if it is riptided, name its socket (--control), or, if that is gone, restart it");
    } else if (state->left.text[0]) {
        SET(state->line, "NOT RUNNING, but it has left rules or routes in this network namespace");
        SET(state->remedy, "systemctl start %s; or, to remove them: riptide flush", options->unit);
    } else {
        SET(state->line, "NOT RUNNING. No connection in this network namespace gets a window");
    }
}

void state_read(struct state *state, const struct command_options *options)
{
    size_t i = sizeof(states) / sizeof(states[0]) - 1;
    struct riptide_error error;

    *state = (struct state){ .line = "NO ANSWER",
                             .remedy = "try again; riptided's log may say more",
                             .is_trouble = true };
    state->error = client_ask(options->control, json_pack("{s:s}", "request", "status"),
                              &state->status, &state->pid, &error);
    SET(state->why, "%s", error.text);
    if (state->error == -ETIMEDOUT || state->error == -ENOENT)
        read_kernel(state, options, error.text);
    if (!state->status)
        return;
    while (i > 0 && strcmp(text_of(state->status, "health"), states[i].health) != 0)
        i--;
    SET(state->line, "%s", states[i].line);
    SET(state->why, "%s", text_of(state->status, "reason"));
    SET(state->remedy, "%s", text_of(state->status, "do"));
    state->is_trouble = states[i].is_trouble;
}
