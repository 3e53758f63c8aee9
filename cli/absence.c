/* SPDX-License-Identifier: MIT */
#include "absence.h"

#include "client.h"
#include "kernel.h"
#include "lib/tools.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rules and routes of ours in the kernel. */
struct left {
    size_t n_rules, n_routes;
};

static int read_left(const struct command_options *options, struct left *left)
{
    struct riptide_route *routes = NULL;
    struct rule *rules = NULL;
    size_t n_rules = 0;
    int r = kernel_read_routes(&options->settings.applier, &routes, &left->n_routes);

    if (r == 0)
        r = kernel_read_rules(&rules, &n_rules);
    for (size_t i = 0; i < n_rules; i++)
        left->n_rules += rules[i].is_ours;
    free(routes);
    free(rules);
    return r;
}

static void put_left(const struct left *left)
{
    text_field(stdout, "left", "%zu rules, %zu routes: nobody maintains them", left->n_rules,
               left->n_routes);
}

/* The letter of a process's state in /proc/PID/stat; '?': not visible. */
static int read_state(int pid)
{
    char path[32], line[128] = "";
    const char *end;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return '?';
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    end = strrchr(line, ')');
    return end && end[1] == ' ' && end[2] ? end[2] : '?';
}

static void put_hanging(int pid, const struct left *left)
{
    const int state = pid ? read_state(pid) : '?';

    printf("riptide: HANGS. No answer for %d s", CLIENT_TIMEOUT_S);
    if (pid)
        printf("; process %d%s", pid, state == 'T' ? " is stopped" : "");
    puts(".");
    put_left(left);
    if (state == 'T')
        text_field(stdout, "do", "kill -CONT %d", pid);
    else if (pid)
        text_field(stdout, "do", "systemctl restart riptided (without systemd: kill -KILL %d)",
                   pid);
    else
        text_field(stdout, "do", "systemctl restart riptided");
}

static void put_absence(const char *control, const struct left *left)
{
    bool is_left = left->n_rules > 0 || left->n_routes > 0;
    int holder;

    if (riptide_applier_get_holder(&holder) == 0) {
        puts("riptide: NOT RUNNING here, but another process gives windows.");
        if (holder > 0)
            text_field(stdout, "why",
                       "process %d manages this network namespace: an agent that embeds the "
                       "library, or a riptided that --control does not reach",
                       holder);
        else
            text_field(stdout, "why",
                       "a process that this user cannot see manages this network namespace");
        return;
    }
    puts(is_left ? "riptide: NOT RUNNING, but its windows are still in the kernel."
                 : "riptide: NOT RUNNING. It has left nothing in the kernel.");
    text_field(stdout, "asked", "%s", control);
    if (is_left)
        put_left(left);
    text_field(stdout, "do", "systemctl start riptided%s",
               is_left ? "; or, to remove them: riptide flush" : "");
}

int absence_print(const struct command_options *options, int error, int pid, const char *reason)
{
    const bool hangs = error == -ETIMEDOUT;
    struct riptide_error none = { .text = "" };
    struct left left = { 0 };
    int r = read_left(options, &left);

    if (r < 0)
        return command_fail(options, &none, r);
    if (options->json)
        command_print_json(options, json_pack("{s:s, s:s, s:I, s:I}", "health",
                                              hangs ? "hangs" : "not running", "reason", reason,
                                              "rules_left", (json_int_t)left.n_rules,
                                              "routes_left", (json_int_t)left.n_routes));
    else if (hangs)
        put_hanging(pid, &left);
    else
        put_absence(options->settings.control, &left);
    return hangs ? EXIT_NO_WINDOWS : EXIT_NOT_RUNNING;
}
