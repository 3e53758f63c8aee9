/* SPDX-License-Identifier: MIT */
/* riptide doctor: reads the host, and prints problems and advice, each with its remedy. */
#include "command.h"
#include "kernel.h"
#include "members.h"
#include "settings.h"
#include "state.h"
#include "text.h"

#include <linux/capability.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The segment size of Ethernet without options. */
enum { MSS_BYTES = 1460 };

/* Bits of net.ipv4.tcp_fastopen, from include/net/tcp.h. */
enum { TFO_SERVER = 2, TFO_WITHOUT_COOKIE = 0x200 };

static const char passed[] = "passed", advice[] = "advice", problem[] = "PROBLEM";

struct host {
    struct state state; /* of riptided; its status is NULL where none answers: then */
    struct settings settings;
    struct riptide_applier *applier; /* a dry start by them */
    const struct command_options *options;
    /* As riptided gives windows, or would: */
    const char *by, *why; /* the backend, and why `auto` chose it; empty: it did not */
    long cwnd_max;
    /* The finding of the check that runs: */
    const char *kind;
    char what[TEXT_BYTES], remedy[TEXT_BYTES];
};

__attribute__((format(printf, 4, 5))) static void found(struct host *host, const char *kind,
                                                        const char *remedy, const char *format, ...)
{
    va_list args;

    host->kind = kind;
    snprintf(host->remedy, sizeof(host->remedy), "%s", remedy);
    va_start(args, format);
    vsnprintf(host->what, sizeof(host->what), format, args);
    va_end(args);
}

/* The n-th number, from 0, of net.ipv4.NAME; -1: it cannot be read. */
static long read_sysctl(const char *name, int n)
{
    long values[3] = { -1, -1, -1 };
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
    file = fopen(path, "re");
    if (file) {
        (void)!fscanf(file, "%ld %ld %ld", &values[0], &values[1], &values[2]);
        fclose(file);
    }
    return values[n];
}

/* Then `auto` chooses the program alone, which misses nothing. */
static bool keeps_idle_windows(void)
{
    return read_sysctl("tcp_slow_start_after_idle", 0) == 0;
}

static void check_daemon(struct host *host)
{
    const struct state *state = &host->state;

    if (state->remedy[0])
        found(host, state->is_trouble ? problem : advice, state->remedy, "%s%s%s", state->line,
              state->line[0] && state->why[0] ? ": " : "", state->why);
}

/* What riptided would do by its configuration. Returns whether it could start. */
static bool try_start(struct host *host)
{
    const char *name = strchr(host->options->unit, '@');
    char file[160], *argv[] = { "riptided", "--config", file };
    struct riptide_error error = { .field = NULL };
    struct riptide_applier_stats stats;
    int r;

    snprintf(file, sizeof(file), "/etc/riptide/%s.conf", name ? name + 1 : "");
    r = load_settings(&host->settings, name ? 3 : 1, argv, &error);
    host->settings.applier.dry_run = true;
    host->cwnd_max = host->settings.estimator.cwnd_max;
    if (r == 0)
        r = riptide_applier_new(&host->applier, &host->settings.applier, &error);
    if (r == 0)
        r = riptide_applier_start(host->applier, &error);
    if (r < 0) {
        settings_explain_refusal(&host->settings, &error);
        found(host, problem, "change that, or the configuration", "%s", error.text);
        return false;
    }
    riptide_applier_get_stats(host->applier, &stats, sizeof(stats));
    host->by = riptide_name(RIPTIDE_NAMES_BACKEND, stats.backend);
    host->why = stats.why ? stats.why : "";
    return true;
}

/* Whether riptided can start, and by what it gives windows, or would. */
static void check_start(struct host *host)
{
    const json_t *status = host->state.status, *apply = get(status, "apply");

    host->by = text_of(apply, "by");
    host->why = text_of(apply, "why");
    host->cwnd_max = (long)number(status, "cwnd_max");
    if (!status && !try_start(host))
        return;
    if (!status && prctl(PR_CAPBSET_READ, CAP_NET_ADMIN) <= 0)
        found(host, problem, "give the container CAP_NET_ADMIN and CAP_BPF",
              "no process here can have CAP_NET_ADMIN: riptided cannot start");
    else if (!status && prctl(PR_CAPBSET_READ, CAP_BPF) <= 0)
        found(host, advice, "give the container CAP_BPF",
              "no process here can have CAP_BPF: windows by routes alone");
    else if (host->why[0] && strcmp(host->by, "both") != 0 &&
             !(keeps_idle_windows() && !strcmp(host->by, "program")))
        found(host, advice, "remove that cause, and restart riptided", "windows by %s alone: %s",
              host->by, host->why);
}

static void check_state(struct host *host)
{
    if (*text_of(host->state.status, "state_failure"))
        found(host, advice, "let riptided write that file, or set `state` to another",
              "a restart forgets what is new: %s", text_of(host->state.status, "state_failure"));
}

/* Unless the daemon has named one and the remedy. */
static void check_rules(struct host *host)
{
    const bool is_named = json_is_true(get(host->state.status, "is_by_rules"));
    char before[KERNEL_RULES_BYTES];

    kernel_explain_table(0, NULL, before);
    if (*before && strcmp(host->by, "program") && !is_named)
        found(host, advice, REMEDY_OF_RULES,
              "connections do not use our routes where rules of others are first: %s", before);
}

static bool is_no(const char *value)
{
    return strchr("0nNfF", value[0]) || strncasecmp(value, "of", 2) == 0;
}

/* systemd's own tool shows which files count, and in which order: the last line of a key counts. */
static void check_networkd(struct host *host)
{
    char line[256], routes[4] = "yes", rules[4] = "yes";
    FILE *out;

    if (access("/run/systemd/netif/state", F_OK) != 0 || !strcmp(host->by, "program"))
        return;
    out = popen("systemd-analyze cat-config systemd/networkd.conf 2>&-", "re");
    while (out && fgets(line, sizeof(line), out)) {
        sscanf(line, " ManageForeignRoutes = %3s", routes);
        sscanf(line, " ManageForeignRoutingPolicyRules = %3s", rules);
    }
    if (out)
        pclose(out);
    if (!is_no(routes) || !is_no(rules))
        found(host, problem,
              "ManageForeignRoutes=no and ManageForeignRoutingPolicyRules=no in section [Network] "
              "of /etc/systemd/networkd.conf; systemctl restart systemd-networkd",
              "systemd-networkd removes our rules or routes when it restarts or sets up a link");
}

/*
 * How many segments a peer may send at once on a connection that this host has opened: half of
 * tcp_rmem[1], with the default scaling (tcp_select_initial_window in net/ipv4/tcp_output.c). If
 * the peer opens it, our SYN-ACK offers at most 65,535 bytes, whatever tcp_rmem is.
 */
static void check_receiver(struct host *host)
{
    const long begins = read_sysctl("tcp_rmem", 1) / 2 / MSS_BYTES;
    const long needed = 2 * host->cwnd_max * MSS_BYTES;
    const long most = read_sysctl("tcp_rmem", 2);
    char remedy[96];

    snprintf(remedy, sizeof(remedy), "sysctl -w net.ipv4.tcp_rmem=\"%ld %ld %ld\"",
             read_sysctl("tcp_rmem", 0), needed, most > needed ? most : needed);
    /* The program asks the kernel for more, where riptided knows the peer. */
    if (begins < host->cwnd_max && (!host->state.status || !strcmp(host->by, "routes")))
        found(host, advice, remedy,
              "peers may begin with %ld segments, not %ld, on connections that this host opens",
              begins, host->cwnd_max);
}

static void check_idle(struct host *host)
{
    if (keeps_idle_windows())
        found(host, advice, "sysctl -w net.ipv4.tcp_slow_start_after_idle=1, where paths change",
              "idle connections keep their window, however old");
    else if (!strcmp(host->by, "program") && !host->why[0])
        found(host, advice, "apply = auto, or sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
              "idle connections restart with their route's window, not ours");
}

static void check_fastopen(struct host *host)
{
    const long bits = read_sysctl("tcp_fastopen", 0);
    char remedy[64];

    snprintf(remedy, sizeof(remedy), "sysctl -w net.ipv4.tcp_fastopen=%ld",
             bits & ~(long)TFO_WITHOUT_COOKIE);
    if (bits >= 0 && bits & TFO_SERVER && bits & TFO_WITHOUT_COOKIE)
        found(host, problem, remedy,
              "TCP Fast Open without cookies: one forged SYN draws a whole window to its victim");
}

/* `start` reads what later ones ask. */
static const struct {
    const char *name;
    void (*run)(struct host *host);
} checks[] = {
    { "daemon", check_daemon },     { "state", check_state },       { "start", check_start },
    { "rules", check_rules },       { "networkd", check_networkd }, { "receiver", check_receiver },
    { "idle-restart", check_idle }, { "fastopen", check_fastopen },
};

#define N_CHECKS (sizeof(checks) / sizeof(checks[0]))

int doctor_run(const struct command_options *options)
{
    struct host host = { .options = options };
    unsigned int n_passed = 0, n_problems = 0;
    json_t *findings = json_array();

    state_read(&host.state, options);
    for (size_t i = 0; i < N_CHECKS; i++) {
        found(&host, passed, "", "%s", "");
        checks[i].run(&host);
        n_passed += host.kind == passed;
        n_problems += host.kind == problem;
        json_array_append_new(findings,
                              json_pack("{s:s, s:s, s:s, s:s}", "check", checks[i].name, "kind",
                                        host.kind, "what", host.what, "do", host.remedy));
        if (options->json || (host.kind == passed && !options->verbose))
            continue;
        text_field(host.kind, "%s%s%s", checks[i].name, host.what[0] ? ": " : "", host.what);
        text_field("  do", "%s", host.remedy);
    }
    riptide_applier_free(host.applier);
    settings_deinit(&host.settings);
    json_decref(host.state.status);
    if (options->json)
        command_print_json(json_pack("{s:O}", "findings", findings));
    else
        printf("%u problem%s, %zu advice, %u checks passed%s\n", n_problems,
               n_problems == 1 ? "" : "s", N_CHECKS - n_problems - n_passed, n_passed,
               options->verbose ? "" : " (riptide doctor -v lists them)");
    json_decref(findings);
    return n_problems > 0 ? EXIT_TROUBLE : EXIT_SUCCESS;
}
