/* SPDX-License-Identifier: MIT */
/*
 * riptide doctor: reads the host, and prints problems with evidence and remedy. doctor/ has the
 * reading and the checks.
 */
#include "doctor/checks.h"

#include "client.h"
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The verdict as exit status; 2: wrong usage. */
enum { EXIT_WARNINGS = 3, EXIT_ERRORS = 4 };

const struct option_row doctor_rows[] = {
    COMMAND_ROW("cwnd-max", u32, settings.estimator.cwnd_max,
                "riptided's largest window, segments"),
    COMMAND_ROW("root", directory, root, "read configuration files below this directory"),
    { .name = NULL },
};

static int status_of(enum severity worst)
{
    return worst == SEVERITY_ERROR     ? EXIT_ERRORS
           : worst == SEVERITY_WARNING ? EXIT_WARNINGS
                                       : EXIT_SUCCESS;
}

static json_t *finding_to_json(const struct finding *finding)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s?}", "check", finding->check, "severity",
                     severity_name(finding->severity), "summary", finding->summary, "evidence",
                     finding->evidence, "remedy", finding->remedy[0] ? finding->remedy : NULL);
}

static void print_finding(const struct finding *finding)
{
    printf("%-8s %-13s %s\n", severity_name(finding->severity), finding->check, finding->summary);
    if (finding->severity != SEVERITY_OK)
        printf("%23sread: %s\n", "", finding->evidence);
    if (finding->remedy[0])
        printf("%23sdo:   %s\n", "", finding->remedy);
}

static int report(const struct host *host, const struct command_options *options)
{
    json_t *rows = json_array();
    enum severity worst = SEVERITY_OK;
    struct finding finding;
    int status = EXIT_SUCCESS;

    for (size_t i = 0; i < checks_count(); i++) {
        checks_judge(i, host, &finding);
        if (finding.severity > worst)
            worst = finding.severity;
        if (options->json)
            json_array_append_new(rows, finding_to_json(&finding));
        else
            print_finding(&finding);
    }
    if (options->json)
        status = command_print_json(options, json_pack("{s:s, s:O}", "verdict",
                                                       severity_name(worst), "findings", rows));
    json_decref(rows);
    return status == EXIT_SUCCESS ? status_of(worst) : status;
}

static int note_refused(void *userdata, const json_t *page)
{
    struct connections *connections = userdata;
    struct explanation_row told;
    const json_t *row;
    size_t i;

    json_array_foreach(get(page, "routes"), i, row)
    {
        if (!explanation_read_row(&told, row))
            continue;
        connections->n_told++;
        if (!strcmp(told.state, "failed") && connections->n_refused++ == 0)
            connections->refused = told;
    }
    return 0;
}

/* The status of the daemon at --control, which may not be the one of this namespace. */
static void ask_daemon(struct host *host, const char *control)
{
    const json_t *apply;
    json_t *answer;

    host->control_error = client_ask(control, json_pack("{s:s}", "request", "status"), &answer,
                                     &host->control_pid, &host->control_failure);
    if (host->control_error < 0 || !host->has_holder || !host_is_riptided(host)) {
        json_decref(answer);
        return;
    }
    apply = get(answer, "apply");
    host->is_paused = json_is_true(get(answer, "paused"));
    if (!host->is_paused)
        host->n_not_taken = (uint64_t)number(answer, "not_taken");
    snprintf(host->why_not_taken, sizeof(host->why_not_taken), "%s", text_of(answer, "reason"));
    snprintf(host->apply, sizeof(host->apply), "%s", text_of(apply, "by"));
    if (json_is_string(get(apply, "why")))
        snprintf(host->why, sizeof(host->why), "%s", text_of(apply, "why"));
    if (json_is_string(get(apply, "reason")))
        snprintf(host->reason, sizeof(host->reason), "%s", text_of(apply, "reason"));
    host->is_suspended = json_number_value(get(apply, "suspended_s")) > 0;
    host->is_careful = !strcmp(text_of(answer, "policy"), "careful");
    host->is_pacing = json_is_true(get(apply, "pacing"));
    json_decref(answer);
    client_show(control, NULL, note_refused, &host->connections, &host->control_failure);
}

int doctor_run(const struct command_options *options)
{
    struct riptide_error error = { .text = "" };
    struct host host;
    int status,
        r = host_read(&host, &options->settings, options->root ? options->root : "", &error);

    if (r < 0)
        return command_fail(options, &error, r);
    settings_explain_refusal(&options->settings, &host.conflict);
    ask_daemon(&host, options->settings.control);
    if (host.has_holder && (host.control_error < 0 || !host_is_riptided(&host)))
        host_read_holder(&host);
    status = report(&host, options);
    host_deinit(&host);
    return status;
}
