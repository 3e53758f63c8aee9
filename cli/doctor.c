/* SPDX-License-Identifier: MIT */
/*
 * riptide doctor: looks at the host, says what stands in the way, how it knows, and what to do.
 * What it reads and how it judges is in doctor/.
 */
#include "doctor/checks.h"

#include "client.h"
#include "commands.h"
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The verdict as exit status; 2 is wrong usage, as everywhere. */
enum { EXIT_WARNINGS = 3, EXIT_ERRORS = 4 };

const struct option_row doctor_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_CONTROL,
    COMMAND_ROW("cwnd-max", u32, settings.estimator.cwnd_max, "its largest window, segments"),
    COMMAND_KERNEL,
    COMMAND_ROW("mark", mark, settings.router.mark, "of its route queries"),
    COMMAND_ROW("rule-priority", u32, settings.router.rule_priority,
                "of its rules; 0: directly before `lookup main`"),
    COMMAND_ROW("root", directory, root, "look for configuration files below this directory"),
    COMMAND_END,
};

static int status_of(enum severity worst)
{
    return worst == SEVERITY_ERROR     ? EXIT_ERRORS
           : worst == SEVERITY_WARNING ? EXIT_WARNINGS
                                       : EXIT_SUCCESS;
}

static void print_finding(const struct finding *finding)
{
    printf("%-8s %-13s %s\n", severity_name(finding->severity), finding->check, finding->summary);
    if (finding->severity == SEVERITY_OK)
        return;
    printf("%22s read: %s\n", "", finding->evidence);
    if (finding->remedy[0])
        printf("%22s do:   %s\n", "", finding->remedy);
}

static json_t *finding_to_json(const struct finding *finding)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "check", finding->check, "severity",
                     severity_name(finding->severity), "summary", finding->summary, "evidence",
                     finding->evidence, "remedy",
                     finding->remedy[0] ? json_string(finding->remedy) : json_null());
}

/* Prints one finding after the other; in JSON they are gathered in `rows`. */
static int judge(const struct host *host, json_t *rows, enum severity *worst)
{
    struct finding finding;

    *worst = SEVERITY_OK;
    for (size_t i = 0; i < checks_count(); i++) {
        checks_judge(i, host, &finding);
        if (finding.severity > *worst)
            *worst = finding.severity;
        if (!rows)
            print_finding(&finding);
        else if (json_array_append_new(rows, finding_to_json(&finding)))
            return -ENOMEM;
    }
    return 0;
}

static int report(const struct host *host, bool json, enum severity *worst)
{
    json_t *rows = json ? json_array() : NULL;
    int r = json && !rows ? -ENOMEM : judge(host, rows, worst);

    if (r < 0) {
        json_decref(rows);
        return r;
    }
    if (!json)
        return 0;
    return command_print_json(
        json_pack("{s:s, s:o}", "verdict", severity_name(*worst), "findings", rows));
}

/* What the daemon at --control says of itself; it may be another than holds this namespace. */
static void ask_daemon(struct host *host, const char *control)
{
    struct client_exchange exchange = { .path = control, .fd_sent = -1 };
    json_t *answer;

    host->control_error = -ENOENT;
    if (!strcmp(control, "none"))
        return;
    host->control_error = client_ask(&exchange, json_pack("{s:s}", "request", "status"), &answer,
                                     &host->control_failure);
    host->control_pid = exchange.pid;
    if (host->control_error < 0)
        return;
    host->is_paused = json_is_true(json_object_get(answer, "paused"));
    json_decref(answer);
}

int doctor_run(const struct command_options *options)
{
    struct riptide_error error = { .text = "" };
    enum severity worst;
    struct host *host = calloc(1, sizeof(*host));
    int r = host ? host_read(host, &options->settings.router, options->root ? options->root : "",
                             &error)
                 : -ENOMEM;

    if (r == 0) {
        if (host->has_holder)
            ask_daemon(host, options->settings.control);
        r = report(host, options->json, &worst);
        host_deinit(host);
    }
    free(host);
    if (r == 0)
        return status_of(worst);
    return command_fail(options, &error, r);
}
