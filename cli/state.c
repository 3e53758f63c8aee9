/* SPDX-License-Identifier: MIT */
/* How riptided is, in the words of status and doctor. Where none answers, the kernel is asked. */
#include "commands.h"
#include "kernel.h"
#include "text.h"

#include <errno.h>
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
    { "failing", "FAILING. The open connections cannot be read", true },
};

#define SET(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

static void read_answer(struct state *state)
{
    const json_t *status = state->status;
    size_t i = sizeof(states) / sizeof(states[0]) - 1;

    while (i > 0 && strcmp(text_of(status, "health"), states[i].health) != 0)
        i--;
    SET(state->line, "%s", states[i].line);
    SET(state->why, "%s", text_of(status, "reason"));
    SET(state->remedy, "%s", text_of(status, "do"));
    state->is_trouble = states[i].is_trouble;
}

/* It has touched its socket at the end of each round. */
static double last_round_s(const char *control)
{
    struct sockaddr_un address;
    struct stat found;

    client_find_socket(control, &address);
    return stat(address.sun_path, &found) == 0 ? difftime(time(NULL), found.st_mtime) : 0;
}

static void read_kernel(struct state *state, const char *control, const char *reason)
{
    const char *name = strchr(control, '/') ? "" : control;
    char unit[64], left[128] = "", before[KERNEL_RULES_BYTES], span[TEXT_SPAN_BYTES];
    int holder;

    SET(unit, "riptided%s%s", *name ? "@" : "", name);
    state->n_rules = kernel_read_rules(0, 0, before);
    if (state->n_rules > 0)
        SET(left, "; %u rules and the routes to which they lead are left, which nobody maintains",
            state->n_rules);
    SET(state->why, "%s%s", reason, left);
    SET(state->remedy, "systemctl start %s", unit);
    if (state->error == -ETIMEDOUT) {
        SET(state->line, "HANGS. Process %d; its last round was %s ago", state->pid,
            text_span(span, last_round_s(control)));
        SET(state->why, "%s%s; its program, if it has one, gives windows, too", reason, left);
        SET(state->remedy, "systemctl restart %s (without systemd: kill -KILL %d)", unit,
            state->pid);
    } else if (kernel_find_holder(&holder)) {
        state->is_trouble = false;
        SET(state->line, "NOT RUNNING here, but another process gives windows");
        SET(state->why,
            "%s; process %d%s manages this network namespace: an agent that embeds the library, or "
            "a riptided with another --control",
            reason, holder, holder ? "" : " (this user cannot see it)");
        SET(state->remedy, "if it is riptided, its socket is gone: systemctl restart %s", unit);
    } else if (state->n_rules > 0) {
        SET(state->line, "NOT RUNNING, but its windows are still in the kernel");
        SET(state->remedy, "systemctl start %s; or, to remove them: riptide flush", unit);
    } else {
        state->is_trouble = false;
        SET(state->line, "NOT RUNNING. No connection gets a window of it");
    }
}

void state_read(struct state *state, const char *control)
{
    struct riptide_error error;

    *state = (struct state){ .line = "NO ANSWER",
                             .remedy = "try again; riptided's log may say more",
                             .is_trouble = true };
    state->error = client_ask(control, json_pack("{s:s}", "request", "status"), &state->status,
                              &state->pid, &error);
    snprintf(state->why, sizeof(state->why), "%s", error.text);
    if (state->status)
        read_answer(state);
    else if (state->error == -ETIMEDOUT || state->error == -ENOENT)
        read_kernel(state, control, error.text);
}
