/* SPDX-License-Identifier: MIT */
/* riptide doctor: reads the host, and prints problems and advice, each with its remedy. */
#include "checks.h"
#include "client.h"
#include "text.h"

#include <linux/capability.h>
#include <linux/magic.h>
#include <riptide/agent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Not in headers before 5.8. */
enum { NUMBER_OF_CAP_BPF = 39 };

const struct option_row doctor_rows[] = {
    COMMAND_ROW("verbose", flag, verbose, "print the checks that passed as well; also -v"),
    { .name = NULL },
};

/* Up to three numbers of a sysctl; -1 for those that cannot be read. */
static void read_sysctl(const char *name, long values[], int n)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
    for (int i = 0; i < n; i++)
        values[i] = -1;
    file = fopen(path, "re");
    if (!file)
        return;
    for (int i = 0; i < n; i++) {
        if (fscanf(file, "%ld", &values[i]) != 1)
            break;
    }
    fclose(file);
}

/* systemd's own tool shows which files count, and in which order: the last line of a key counts. */
static void read_networkd(struct host *host)
{
    char line[256], key[40], value[8];
    bool is_yes;
    FILE *out;

    if (access("/run/systemd/netif/state", F_OK) != 0)
        return;
    host->removes_routes = host->removes_rules = true;
    out = popen("systemd-analyze cat-config systemd/networkd.conf 2>&-", "re");
    while (out && fgets(line, sizeof(line), out)) {
        if (sscanf(line, " %39[A-Za-z] = %7s", key, value) != 2)
            continue;
        is_yes = strchr("1yYtT", value[0]) || !strcasecmp(value, "on");
        if (!strcmp(key, "ManageForeignRoutes"))
            host->removes_routes = is_yes;
        if (!strcmp(key, "ManageForeignRoutingPolicyRules"))
            host->removes_rules = is_yes;
    }
    if (out)
        pclose(out);
}

/* Whether riptided could install its rules and routes: a dry start. */
static int read_conflict(struct host *host, uint32_t table, struct riptide_error *error)
{
    struct riptide_error conflict = { .text = "" };
    struct riptide_applier_config config;
    struct riptide_applier *applier;
    int r;

    riptide_applier_config_init(&config, sizeof(config));
    config.backend = RIPTIDE_ROUTES;
    config.dry_run = true;
    config.table = table;
    r = riptide_applier_new(&applier, &config, error);
    if (r < 0)
        return r;
    if (riptide_applier_start(applier, &conflict) == 0)
        conflict.text[0] = '\0';
    /* "applier.table: ...": the key in the configuration is table. */
    snprintf(host->conflict, sizeof(host->conflict), "%s",
             conflict.text + (conflict.field ? strlen("applier.") : 0));
    riptide_applier_free(applier);
    return 0;
}

static void ask_daemon(struct host *host, const char *control)
{
    struct riptide_estimator_config defaults;
    struct riptide_error error;
    const json_t *apply;
    json_t *answer;

    riptide_estimator_config_init(&defaults, sizeof(defaults));
    host->cwnd_max = defaults.cwnd_max;
    host->is_there = kernel_find_holder(&host->pid);
    host->error = client_ask(control, json_pack("{s:s}", "request", "status"), &answer, NULL,
                             &error);
    if (host->error < 0)
        return;
    apply = get(answer, "apply");
    snprintf(host->health, sizeof(host->health), "%s", text_of(answer, "health"));
    host->is_well = !strcmp(host->health, "ok") || !strcmp(host->health, "starting");
    snprintf(host->reason, sizeof(host->reason), "%s", text_of(answer, "reason"));
    snprintf(host->by, sizeof(host->by), "%s", text_of(apply, "by"));
    snprintf(host->why, sizeof(host->why), "%s", text_of(apply, "why"));
    host->not_taken = number(answer, "not_taken") > 0;
    if (number(answer, "cwnd_max") > 0)
        host->cwnd_max = (uint32_t)number(answer, "cwnd_max");
    json_decref(answer);
}

static int read_host(struct host *host, const struct command_options *options,
                     struct riptide_error *error)
{
    struct statfs cgroup;
    int r;

    *host = (struct host){ .has_cgroup2 = statfs("/sys/fs/cgroup", &cgroup) == 0 &&
                                          cgroup.f_type == CGROUP2_SUPER_MAGIC };
    ask_daemon(host, options->control);
    read_sysctl("tcp_rmem", host->rmem_bytes, 3);
    read_sysctl("tcp_slow_start_after_idle", &host->slow_start_after_idle, 1);
    read_sysctl("tcp_fastopen", &host->fastopen, 1);
    host->may_write_routes = prctl(PR_CAPBSET_READ, CAP_NET_ADMIN) > 0;
    host->may_load_program = prctl(PR_CAPBSET_READ, NUMBER_OF_CAP_BPF) > 0;
    read_networkd(host);
    if (!kernel_find_before(AF_INET, host->before))
        kernel_find_before(AF_INET6, host->before);
    r = kernel_find_left(options->table, &host->left);
    if (r == 0)
        r = read_conflict(host, options->table, error);
    return r;
}

static const char *const kinds[] = { "passed", "advice", "PROBLEM" };

static void print(const struct finding findings[N_CHECKS], const unsigned int n_of[], bool all)
{
    printf("%u problem%s, %u advice, %u checks passed%s\n", n_of[PROBLEM],
           n_of[PROBLEM] == 1 ? "" : "s", n_of[ADVICE], n_of[PASSED],
           all ? "" : " (riptide doctor -v lists them)");
    for (int kind = PROBLEM; kind >= (all ? PASSED : ADVICE); kind--) {
        for (size_t i = 0; i < N_CHECKS; i++) {
            if (findings[i].kind != (enum kind)kind)
                continue;
            text_field(stdout, kinds[kind], "%s: %s", findings[i].check, findings[i].what);
            if (findings[i].remedy[0])
                text_field(stdout, "  do", "%s", findings[i].remedy);
        }
    }
}

static json_t *to_json(const struct finding findings[N_CHECKS])
{
    json_t *rows = json_array();

    for (size_t i = 0; i < N_CHECKS; i++)
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:s, s:s}", "check", findings[i].check, "kind",
                            kinds[findings[i].kind], "what", findings[i].what, "do",
                            findings[i].remedy));
    return json_pack("{s:o}", "findings", rows);
}

int doctor_run(const struct command_options *options)
{
    struct riptide_error error = { .text = "" };
    struct finding findings[N_CHECKS];
    unsigned int n_of[PROBLEM + 1] = { 0 };
    struct host host;
    int status = EXIT_SUCCESS, r = read_host(&host, options, &error);

    if (r < 0)
        return command_fail(options, &error, r);
    for (unsigned int i = 0; i < N_CHECKS; i++) {
        checks_judge(i, &host, &findings[i]);
        n_of[findings[i].kind]++;
    }
    if (options->json)
        status = command_print_json(options, to_json(findings));
    else
        print(findings, n_of, options->verbose);
    return status == EXIT_SUCCESS && n_of[PROBLEM] > 0 ? EXIT_TROUBLE : status;
}
