/* SPDX-License-Identifier: MIT */
/* Our rules and routes among those of other programs. */
#include "checks.h"
#include "explanation.h"
#include "rules.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define REMEDY_PROGRAM "remove that cause (make a missing cgroup again); riptided then continues"

static bool has_rule(const struct host *host, uint8_t family, bool is_ours)
{
    for (size_t i = 0; i < host->n_rules; i++) {
        if (host->rules[i].family == family && (!is_ours || host->rules[i].is_ours))
            return true;
    }
    return false;
}

static bool is_in_place(const struct host *host, uint8_t family)
{
    return rules_are_in_place(host->rules, host->n_rules, family);
}

/* A family without rules does not exist on the host. */
static bool is_incomplete(const struct host *host, uint8_t family)
{
    return has_rule(host, family, false) && !is_in_place(host, family);
}

/* It runs and does not work: stopped by a signal or a debugger, or blocked in a system call. */
static void find_hanging(const struct host *host, struct finding *finding)
{
    finding_is(finding, SEVERITY_ERROR, "a riptided runs and does not answer: its %s",
               !strcmp(host->apply, "program")
                   ? "windows by the program stay in force, and none is learned or withdrawn"
               : !strcmp(host->apply, "both")
                   ? "routes and windows by the program stay in place, unmaintained"
                   : "routes stay in place, unmaintained");
    finding_read(finding, "control socket %s", host->control_failure.text);
    finding_do(finding, "systemctl restart riptided");
    /* kill(1) of process 0 would end the shell's own group. */
    if (host->holder_pid > 0)
        finding_do(
            finding,
            "systemctl restart riptided; without systemd: kill -CONT %d, and if it still does not "
            "answer kill -KILL %d && riptide flush",
            host->holder_pid, host->holder_pid);
}

void check_daemon(const struct host *host, struct finding *finding)
{
    const bool lacks4 = is_incomplete(host, AF_INET), lacks6 = is_incomplete(host, AF_INET6);
    const bool is_riptided = host_is_riptided(host);
    char holder[48] = "held by no process", manager[EXPLANATION_MANAGER_BYTES], chosen[320] = "";
    const char *described = "a riptided runs";

    if (!is_riptided) {
        json_t *holder_pid = json_integer(host->holder_pid);

        described = explanation_manager(manager, holder_pid);
        json_decref(holder_pid);
    }
    if (host->why[0])
        snprintf(chosen, sizeof(chosen), "; --apply auto chose %s: %s", host->apply, host->why);
    if (host->has_holder && host->holder_pid > 0)
        snprintf(holder, sizeof(holder), "held by process %d", host->holder_pid);
    else if (host->has_holder)
        snprintf(holder, sizeof(holder), "held by a process that this user cannot see");
    finding_read(finding,
                 "claim of this network namespace: %s; our rules in place: IPv4 %s, IPv6 %s; our "
                 "routes: %zu",
                 holder, is_in_place(host, AF_INET) ? "yes" : "no",
                 is_in_place(host, AF_INET6) ? "yes" : "no", host->n_routes);
    if (!host->has_holder &&
        (has_rule(host, AF_INET, true) || has_rule(host, AF_INET6, true) || host->n_routes > 0)) {
        finding_is(finding, SEVERITY_WARNING,
                   "rules or routes of riptided exist, and no process maintains them: left by "
                   "--once or by a crash");
        finding_do(finding, "systemctl start riptided, or riptide flush");
    } else if (!host->has_holder) {
        finding_is(finding, SEVERITY_NOTE, "no riptided runs in this network namespace");
        finding_do(finding, "systemctl start riptided");
    } else if (is_riptided && host->control_error == -ETIMEDOUT) {
        find_hanging(host, finding);
    } else if (is_riptided && host->is_paused) {
        finding_is(finding, SEVERITY_NOTE, "a riptided runs and is paused: windows disabled");
        finding_do(finding, "riptide resume");
    } else if (is_riptided && !strcmp(host->apply, "program") && host->reason[0]) {
        finding_is(finding, host->is_suspended ? SEVERITY_WARNING : SEVERITY_ERROR,
                   "a riptided runs and gives no windows by the program: %s", host->reason);
        finding_do(finding, "%s",
                   host->is_suspended
                       ? "riptide verdict has sizes and paths; a smaller --cwnd-max"
                       : REMEDY_PROGRAM);
    } else if (!strcmp(host->apply, "program")) {
        finding_is(finding, SEVERITY_OK, "%s and gives windows by the program%s", described,
                   chosen);
    } else if ((lacks4 || lacks6) && host->is_holder_hidden) {
        finding_is(finding, SEVERITY_NOTE,
                   "%s, but its rules are not in place, or it gives windows by the program",
                   described);
        finding_do(finding,
                   "run it as root: the open files of that process are hidden from this user");
    } else if (lacks4 || lacks6) {
        finding_is(finding, gives_without_routes(host) ? SEVERITY_WARNING : SEVERITY_ERROR,
                   "%s, but its rules for %s are not in place (or its table and protocol are "
                   "others): connections %s",
                   described, lacks4 ? "IPv4" : "IPv6",
                   gives_without_routes(host) ? "have windows by the program only"
                                              : "start with the kernel's window");
        finding_do(finding, is_riptided
                                ? "journalctl -u riptided has the reason: a line `windows disabled`"
                                : "the log of that process has the reason");
    } else {
        finding_is(finding, SEVERITY_OK, "%s and its rules are in place%s%s%s", described,
                   host->reason[0] ? ": by routes, not by the program: " : "", host->reason,
                   chosen);
        if (host->reason[0]) {
            finding->severity = SEVERITY_WARNING;
            finding_do(finding, "%s", REMEDY_PROGRAM);
        }
    }
}

void check_numbers(const struct host *host, struct finding *finding)
{
    finding_read(finding, "rules and routes; table %" PRIu32, host->applier.table);
    if (host->conflict_error == 0) {
        finding_is(finding, SEVERITY_OK, "the table is free");
        return;
    }
    finding_is(finding, SEVERITY_ERROR, "a riptided could not start: %s", host->conflict.text);
    if (host->conflict_error == -EEXIST)
        finding_do(finding, "riptided --table with another number");
    else if (host->conflict_error == -EADDRINUSE)
        finding_do(finding, "delete one of them, or riptided --apply program, which adds no rule");
    else
        finding_do(finding, "ip rule shows them: an unconditional `lookup main` must be there, and "
                            "nothing between it and our priority");
}

static void find_not_taken(const struct host *host, struct finding *finding)
{
    finding_is(finding, gives_without_routes(host) ? SEVERITY_NOTE : SEVERITY_WARNING,
               "a rule of another program makes TCP skip our table: connections to %" PRIu64
               " of %zu destinations %s",
               host->n_not_taken, host->n_routes,
               gives_without_routes(host) ? "have their window by the program only"
                                          : "start with the base route's window");
    finding_read(finding, "riptided: %s", host->why_not_taken);
    finding_do(finding, "delete the rule if it is not needed (ip rule del), or give those "
                        "routes an initcwnd of their own; riptide show names the destinations");
}

/* The first one before our rules, or before main if ours are missing. */
static const struct rule *find_before(const struct host *host, uint8_t family)
{
    const struct rule *rule = rules_find_before(host->rules, host->n_rules, family, 0);

    return rule && rule->is_unconditional && rule->table == RT_TABLE_MAIN ? NULL : rule;
}

void check_rules(const struct host *host, struct finding *finding)
{
    const struct rule *first = find_before(host, AF_INET);
    char text[96];

    if (!first)
        first = find_before(host, AF_INET6);
    finding_is(finding, SEVERITY_OK, "no rule before ours leads TCP to another table");
    finding_read(finding, "RTM_GETRULE: %zu rules%s%s", host->n_rules,
                 host->rules_error ? ", " : "",
                 host->rules_error ? strerror(-host->rules_error) : "");
    if (host->n_rules == 0) {
        finding_is(finding, SEVERITY_ERROR, "this kernel has no policy rules");
        finding_do(
            finding,
            "boot a kernel with CONFIG_IP_MULTIPLE_TABLES=y and CONFIG_IPV6_MULTIPLE_TABLES=y");
    } else if (host->n_not_taken > 0) {
        find_not_taken(host, finding);
    } else if (first) {
        rules_describe(text, sizeof(text), first);
        finding_is(finding, SEVERITY_NOTE,
                   "rules of other programs come before ours: connections that match them do not "
                   "use our routes");
        finding_read(finding, "RTM_GETRULE: the first is %s", text);
        finding_do(finding, "riptide verify ADDRESS PORT, with --mark or --source of the "
                            "application, shows whether it is meant");
    }
}

void check_networkd(const struct host *host, struct finding *finding)
{
    const struct networkd *networkd = &host->networkd;

    finding_read(finding,
                 "/run/systemd/netif/state: %s; systemd-analyze cat-config systemd/networkd.conf: "
                 "ManageForeignRoutes=%s, ManageForeignRoutingPolicyRules=%s",
                 networkd->is_in_use ? "there" : "not there",
                 networkd->leaves_routes ? "no" : "yes", networkd->leaves_rules ? "no" : "yes");
    if (!networkd->is_in_use) {
        finding_is(finding, SEVERITY_OK, "systemd-networkd is not in use");
    } else if (networkd->leaves_routes && networkd->leaves_rules) {
        finding_is(finding, SEVERITY_OK,
                   "systemd-networkd keeps rules and routes of other programs");
    } else {
        finding_is(finding, SEVERITY_WARNING,
                   "systemd-networkd removes our %s whenever it is restarted or a link is set up "
                   "anew; riptided restores them, at a cost each time",
                   networkd->leaves_routes  ? "rules"
                   : networkd->leaves_rules ? "routes"
                                            : "rules and routes");
        finding_do(
            finding,
            "printf '[Network]\\nManageForeignRoutes=no\\nManageForeignRoutingPolicyRules=no\\n' | "
            "install -D -m 644 /dev/stdin /etc/systemd/networkd.conf.d/riptide.conf && systemctl "
            "restart systemd-networkd");
    }
}

/* A dry run writes nothing, so that only riptided knows what the kernel refuses. */
static void find_refused(const struct host *host, struct finding *finding)
{
    const struct connections *connections = &host->connections;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&connections->refused.dst, dst);
    finding_is(finding, gives_without_routes(host) ? SEVERITY_NOTE : SEVERITY_WARNING,
               "the kernel refuses the routes to %" PRIu64 " of %" PRIu64 " destinations: %s",
               connections->n_refused, connections->n_told,
               gives_without_routes(host) ? "they have windows by the program only"
                                          : "they start with the window of their own route");
    finding_read(finding, "riptided's show; the first is %s: %s", dst, connections->refused.reason);
    finding_do(finding,
               "ip route add GATEWAY dev LINK, both as `ip route get %s` prints them, if main "
               "lacks that route to the gateway's link; else report it, with that command's output",
               dst);
}

void check_destinations(const struct host *host, struct finding *finding)
{
    const struct connections *connections = &host->connections;
    const struct resolved *resolved = &connections->destinations;
    const uint64_t n = resolved->n_left_alone;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    finding_is(finding, SEVERITY_OK, "each destination of an open connection can have a window");
    finding_read(finding, "a dry run of the router: %" PRIu64 " destinations", resolved->n);
    if (connections->routes_error) {
        finding_is(finding, SEVERITY_ERROR, "the routes to open connections' peers cannot be read");
        finding_read(finding, "a dry run of the router: %s", strerror(-connections->routes_error));
    } else if (connections->n_refused > 0) {
        find_refused(host, finding);
    } else if (n > 0) {
        riptide_prefix_format(&resolved->left_alone.dst, dst);
        bool are_all = n == resolved->n && !gives_without_routes(host);

        finding_is(finding, are_all ? SEVERITY_WARNING : SEVERITY_NOTE,
                   "%" PRIu64 " of %" PRIu64 " destinations of open connections are left alone: %s",
                   n, resolved->n,
                   gives_without_routes(host)
                       ? "they have no route, and windows by the program only"
                       : "they start with the window of their own route");
        finding_read(finding, "a dry run of the router; the first is %s: %s", dst,
                     resolved->left_alone.reason);
        finding_do(finding, "riptided --dry-run --once names the reason for each");
    }
}
