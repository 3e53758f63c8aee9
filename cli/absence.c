/* SPDX-License-Identifier: MIT */
/* riptide status where no riptided answers: what is in the kernel all the same, and what to do. */
#include "client.h"
#include "kernel.h"
#include "text.h"

#include <errno.h>
#include <string.h>

/* Whether a process is stopped, by a signal or a debugger. */
static bool is_stopped(int pid)
{
    char path[32], line[64], state = '?';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    file = pid > 0 ? fopen(path, "re") : NULL;
    while (file && state == '?' && fgets(line, sizeof(line), file))
        sscanf(line, "State: %c", &state);
    if (file)
        fclose(file);
    return state == 'T' || state == 't';
}

static void put_left(const struct kernel_left *left)
{
    if (left->n_rules > 0 || left->n_routes > 0)
        text_field(stdout, "left", "%zu rules, %zu routes in the kernel: nobody maintains them", left->n_rules,
              left->n_routes);
}

/* Whether `control` is the name of a riptided@NAME.service, which is then to be started. */
static bool is_instance(const char *control)
{
    return !strchr(control, '/');
}

static void put_hanging(const char *control, int pid, const struct kernel_left *left)
{
    const char *at = is_instance(control) ? "@" : "", *name = *at ? control : "";
    const bool has_stopped = is_stopped(pid);

    printf("riptide: HANGS. No answer for %d s", CLIENT_TIMEOUT_S);
    if (pid)
        printf("; process %d%s", pid, has_stopped ? " is stopped" : "");
    puts(".");
    put_left(left);
    if (has_stopped)
        text_field(stdout, "do", "kill -CONT %d", pid);
    else if (pid)
        text_field(stdout, "do", "systemctl restart riptided%s%s (without systemd: kill -KILL %d)",
                   at, name, pid);
    else
        text_field(stdout, "do", "systemctl restart riptided%s%s", at, name);
}

static void put_absence(const char *control, const struct kernel_left *left)
{
    bool is_left = left->n_rules > 0 || left->n_routes > 0;
    int holder;

    if (kernel_find_holder(&holder)) {
        puts("riptide: NOT RUNNING here, but another process gives windows.");
        text_field(stdout, "asked", "%s", control);
        if (holder > 0)
            text_field(stdout, "why", "process %d manages this network namespace: an agent that embeds the "
                  "library, or a riptided with another --control", holder);
        else
            text_field(stdout, "why", "a process that this user cannot see manages this network namespace");
        return;
    }
    puts(is_left ? "riptide: NOT RUNNING, but its windows are still in the kernel."
                 : "riptide: NOT RUNNING. It has left nothing in the kernel.");
    text_field(stdout, "asked", "%s", control);
    put_left(left);
    text_field(stdout, "do", "systemctl start riptided%s%s%s", is_instance(control) ? "@" : "",
          is_instance(control) ? control : "", is_left ? "; or, to remove them: riptide flush" : "");
}

int absence_report(const struct command_options *options, int error, int pid,
                   const char *reason)
{
    const bool hangs = error == -ETIMEDOUT;
    struct riptide_error none = { .text = "" };
    struct kernel_left left;
    int r = kernel_find_left(options->table, &left);

    if (r < 0)
        return command_fail(options, &none, r);
    if (options->json)
        command_print_json(options, json_pack("{s:s, s:s, s:o, s:I, s:I}", "health",
                                              hangs ? "hangs" : "not running", "reason", reason,
                                              "pid", figure_or_null((uint64_t)pid),
                                              "rules_left", (json_int_t)left.n_rules,
                                              "routes_left", (json_int_t)left.n_routes));
    else if (hangs)
        put_hanging(options->control, pid, &left);
    else
        put_absence(options->control, &left);
    return hangs ? EXIT_TROUBLE : EXIT_NOT_RUNNING;
}
