/* SPDX-License-Identifier: MIT */
#include "checks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The segment size of Ethernet without options. */
enum { MSS_BYTES = 1460 };

/* Bits of net.ipv4.tcp_fastopen, from include/net/tcp.h. */
enum { TFO_SERVER = 2, TFO_WITHOUT_COOKIE = 0x200 };

#define found(finding, is, ...)                                                                    \
    ((finding)->kind = (is), snprintf((finding)->what, sizeof((finding)->what), __VA_ARGS__))
#define remedy(finding, ...) snprintf((finding)->remedy, sizeof((finding)->remedy), __VA_ARGS__)

static void check_daemon(const struct host *host, struct finding *finding)
{
    const bool is_left = host->left.n_rules > 0 || host->left.n_routes > 0;

    if (host->error == -ETIMEDOUT) {
        found(finding, PROBLEM, "riptided does not answer: what it has given stays, unmaintained");
        remedy(finding, "systemctl restart riptided (riptide status)");
    } else if (host->error == 0 && !host->is_well) {
        found(finding, PROBLEM, "riptided is %s%s%s", host->health, host->reason[0] ? ": " : "",
              host->reason);
        remedy(finding, "riptide status");
    } else if (host->error == 0) {
        found(finding, PASSED, "riptided runs and gives windows");
    } else if (host->is_there) {
        found(finding, ADVICE,
              "process %d manages this network namespace: an agent that embeds the library, or a "
              "riptided with another --control", host->pid);
        remedy(finding, "riptide doctor --control FILE, if it is riptided");
    } else if (is_left) {
        found(finding, PROBLEM,
              "riptided is not running, and has left %zu rules and %zu routes, which nobody "
              "maintains", host->left.n_rules, host->left.n_routes);
        remedy(finding, "systemctl start riptided; or, to remove them: riptide flush");
    } else {
        found(finding, ADVICE, "riptided is not running");
        remedy(finding, "systemctl start riptided");
    }
}

static void check_privileges(const struct host *host, struct finding *finding)
{
    found(finding, PASSED, "riptided may write routes and load its program");
    if (host->error == 0 && !strcmp(host->by, "routes") && host->why[0]) {
        found(finding, ADVICE, "windows are given by routes alone: %s", host->why);
        remedy(finding, "remove that cause, and restart riptided");
    } else if (host->error == 0 || host->is_there) {
        return;
    } else if (!host->may_write_routes) {
        found(finding, PROBLEM, "no process here can have CAP_NET_ADMIN: riptided cannot start");
        remedy(finding, "give the container CAP_NET_ADMIN and CAP_BPF");
    } else if (!host->may_load_program) {
        found(finding, ADVICE, "no process here can have CAP_BPF: windows by routes alone");
        remedy(finding, "give the container CAP_BPF");
    } else if (!host->has_cgroup2) {
        found(finding, ADVICE, "/sys/fs/cgroup is no cgroup2: windows by routes alone");
        remedy(finding, "systemd.unified_cgroup_hierarchy=1 on the kernel's command line; in a "
                        "container the host's cgroups, and cgroup = DIRECTORY");
    }
}

static void check_table(const struct host *host, struct finding *finding)
{
    found(finding, PASSED, "table and rules are free");
    if (!host->conflict[0])
        return;
    found(finding, PROBLEM, "routes could not start: %s", host->conflict);
    remedy(finding, "change it (ip rule, ip route), or apply = program, which adds no rule");
}

static void check_rules(const struct host *host, struct finding *finding)
{
    found(finding, PASSED, "no rule of another program comes before ours");
    if (!host->before[0])
        return;
    found(finding, host->not_taken ? PROBLEM : ADVICE, "%s: %s",
          host->not_taken ? "connections do not use our routes, as a rule of another program "
                            "comes first"
                          : "connections that match a rule of another program do not use our "
                            "routes",
          host->before);
    remedy(finding, "ip rule del, if it is not needed; else apply = program");
}

static void check_networkd(const struct host *host, struct finding *finding)
{
    found(finding, PASSED, "systemd-networkd leaves our rules and routes alone");
    if (!host->removes_routes && !host->removes_rules)
        return;
    found(finding, PROBLEM, "systemd-networkd removes our %s%s%s when it restarts or sets up a link",
          host->removes_rules ? "rules" : "",
          host->removes_rules && host->removes_routes ? " and " : "",
          host->removes_routes ? "routes" : "");
    remedy(finding, "ManageForeignRoutes=no and ManageForeignRoutingPolicyRules=no in section "
                    "[Network] of /etc/systemd/networkd.conf; systemctl restart systemd-networkd");
}

/*
 * How many segments a peer may send at once on a connection that this host has opened: half of
 * tcp_rmem[1], with the default scaling (tcp_select_initial_window in net/ipv4/tcp_output.c). If
 * the peer opens it, our SYN-ACK offers at most 65,535 bytes, whatever tcp_rmem is.
 */
static void check_receiver(const struct host *host, struct finding *finding)
{
    const long begins = host->rmem_bytes[1] / 2 / MSS_BYTES;
    const long needed = 2L * (long)host->cwnd_max * MSS_BYTES;
    const long most = host->rmem_bytes[2] > needed ? host->rmem_bytes[2] : needed;

    found(finding, PASSED, "peers may begin with %ld segments", begins);
    /* The program asks the kernel for more, where riptided knows the peer. */
    if (host->rmem_bytes[1] < 0 || begins >= (long)host->cwnd_max ||
        (host->error == 0 && strcmp(host->by, "routes") != 0))
        return;
    found(finding, ADVICE,
          "peers may begin with %ld segments, not %" PRIu32 ", on connections that this host opens",
          begins, host->cwnd_max);
    remedy(finding, "sysctl -w net.ipv4.tcp_rmem=\"%ld %ld %ld\"", host->rmem_bytes[0], needed,
           most);
}

static void check_idle(const struct host *host, struct finding *finding)
{
    found(finding, PASSED, "idle connections restart with a window of ours");
    if (host->slow_start_after_idle == 0) {
        found(finding, ADVICE, "idle connections keep their window, however old");
        remedy(finding, "sysctl -w net.ipv4.tcp_slow_start_after_idle=1, where paths change");
    } else if (host->error == 0 && !strcmp(host->by, "program")) {
        found(finding, ADVICE, "idle connections restart with their route's window, not ours");
        remedy(finding, "apply = auto, or sysctl -w net.ipv4.tcp_slow_start_after_idle=0");
    }
}

static void check_fastopen(const struct host *host, struct finding *finding)
{
    found(finding, PASSED, "TCP Fast Open asks for cookies, or is off");
    if (host->fastopen < 0 || !(host->fastopen & TFO_SERVER) ||
        !(host->fastopen & TFO_WITHOUT_COOKIE))
        return;
    found(finding, PROBLEM,
          "TCP Fast Open without cookies: one forged SYN draws a whole window to its victim");
    remedy(finding, "sysctl -w net.ipv4.tcp_fastopen=%ld",
           host->fastopen & ~(long)TFO_WITHOUT_COOKIE);
}

static const struct {
    const char *name;
    void (*judge)(const struct host *host, struct finding *finding);
    bool is_of_routes; /* it does not matter where the program alone gives windows */
} checks[N_CHECKS] = {
    { "daemon", check_daemon, false },     { "privileges", check_privileges, false },
    { "table", check_table, true },        { "rules", check_rules, true },
    { "networkd", check_networkd, true },  { "receiver", check_receiver, false },
    { "idle-restart", check_idle, false }, { "fastopen", check_fastopen, false },
};

void checks_judge(unsigned int n, const struct host *host, struct finding *finding)
{
    *finding = (struct finding){ .check = checks[n].name };
    if (checks[n].is_of_routes && host->error == 0 && !strcmp(host->by, "program"))
        found(finding, PASSED, "windows are given by the program, without rules or routes");
    else
        checks[n].judge(host, finding);
}
