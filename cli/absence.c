/* SPDX-License-Identifier: MIT */
/* riptide status where no riptided answers: what is in the kernel all the same, and what to do. */
#include "commands.h"
#include "kernel.h"
#include "text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

/* riptided touches its socket at the end of each round. */
static double last_round_s(const char *control)
{
    struct sockaddr_un address;
    struct stat found;

    client_find_socket(control, &address);
    return stat(address.sun_path, &found) == 0 ? difftime(time(NULL), found.st_mtime) : 0;
}

static void put_hanging(const char *control, int pid, unsigned int n_rules)
{
    const char *at = strchr(control, '/') ? "" : "@", *name = *at ? control : "";
    char span[TEXT_SPAN_BYTES];

    printf("riptide: HANGS. No answer for %d s; process %d, last round %s ago.\n", CLIENT_TIMEOUT_S,
           pid, text_span(span, last_round_s(control)));
    text_field(stdout, "left", "%u rules; they and its program, if it has one, still give windows, "
               "which nobody maintains", n_rules);
    text_field(stdout, "do", "systemctl restart riptided%s%s (without systemd: kill -KILL %d)", at,
               name, pid);
}

static void put_absence(const char *control, unsigned int n_rules)
{
    const char *at = strchr(control, '/') ? "" : "@", *name = *at ? control : "";
    int holder;

    if (kernel_find_holder(&holder)) {
        puts("riptide: NOT RUNNING here, but another process gives windows.");
        text_field(stdout, "asked", "%s", control);
        text_field(stdout, "why", "process %d%s manages this network namespace: an agent that "
                   "embeds the library, or a riptided with another --control", holder,
                   holder ? "" : " (this user cannot see it)");
        text_field(stdout, "do", "if it is riptided, its socket is gone: systemctl restart "
                   "riptided%s%s", at, name);
        return;
    }
    puts(n_rules > 0 ? "riptide: NOT RUNNING, but its windows are still in the kernel."
                     : "riptide: NOT RUNNING. No connection gets a window of it.");
    text_field(stdout, "asked", "%s", control);
    if (n_rules > 0)
        text_field(stdout, "left", "%u rules, and the routes to which they lead: nobody maintains "
                   "them", n_rules);
    text_field(stdout, "do", "systemctl start riptided%s%s%s", at, name,
               n_rules > 0 ? "; or, to remove them: riptide flush" : "");
}

int absence_report(const struct command_options *options, int error, int pid, const char *reason)
{
    const bool hangs = error == -ETIMEDOUT;
    const char *health = hangs ? "hangs" : "not running";
    struct kernel_rules rules;

    kernel_read_rules(&rules);
    if (options->json)
        command_print_json(options, json_pack("{s:s, s:s, s:o, s:i}", "health", health, "reason",
                                              reason, "pid", figure_or_null((uint64_t)pid),
                                              "rules_left", rules.n_ours));
    else if (hangs)
        put_hanging(options->control, pid, rules.n_ours);
    else
        put_absence(options->control, rules.n_ours);
    return hangs ? EXIT_TROUBLE : EXIT_NOT_RUNNING;
}
