/* SPDX-License-Identifier: MIT */
/*
 * The table of checks, in the order in which an operator would solve them, and those about
 * connections: whether they can be read, what receivers accept at first, how first flights leave.
 */
#include "checks.h"

#include "lib/netlink.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The default window of all kernels. */
enum { DEFAULT_INITCWND = 10 };

static void check_sockets(const struct host *host, struct finding *finding)
{
    int error = host->connections.error;

    finding_read(finding, "sock_diag dump of the established connections: %s",
                 error ? strerror(-error) : "complete");
    if (!error) {
        finding_is(finding, SEVERITY_OK, "open connections to other hosts: %" PRIu64,
                   host->connections.n);
        return;
    }
    finding_is(finding, SEVERITY_ERROR, "the open connections cannot be read");
    if (error == -EACCES || error == -EPERM)
        finding_do(finding, "run it as root: the sockets are hidden from this user");
    else
        finding_do(finding, "modprobe tcp_diag (CONFIG_INET_TCP_DIAG)");
}

static bool is_by_program(const struct host *host)
{
    return !strcmp(host->apply, "program") || !strcmp(host->apply, "both");
}

static void check_receiver(const struct host *host, struct finding *finding)
{
    uint32_t wanted = host->cwnd_max;
    uint64_t smallest = 4096, initial, largest = 6291456;

    finding_read(finding, "net.ipv4.tcp_rmem = %s",
                 host->tcp_rmem[0] ? host->tcp_rmem : "(cannot be read)");
    if (host->receiver_error) {
        finding_is(finding, SEVERITY_NOTE, "unknown how much this host receives at first: %s",
                   strerror(-host->receiver_error));
        return;
    }
    if (host->initrwnd >= wanted) {
        finding_is(finding, SEVERITY_OK,
                   "this host lets its peers begin with %" PRIu32 " segments (cwnd_max %" PRIu32
                   ")",
                   host->initrwnd, wanted);
        return;
    }
    if (is_by_program(host)) {
        finding_is(finding, SEVERITY_OK,
                   "this host's first receive window is %" PRIu32
                   " segments; where it opens the connection to a known peer, the program "
                   "asks the kernel for %" PRIu32
                   ", which Linux 6.18 gives and 6.1 does not",
                   host->initrwnd, wanted);
        return;
    }
    /* If the peer opens it, a SYN-ACK offers at most 65,535 bytes, whatever tcp_rmem is. */
    finding_is(finding, SEVERITY_NOTE,
               "this host lets its peers begin with %" PRIu32 " segments, not %" PRIu32
               ", on connections that it opens",
               host->initrwnd, wanted);
    sscanf(host->tcp_rmem, "%" SCNu64 " %*u %" SCNu64, &smallest, &largest);
    /* The kernel keeps half of it for its own overhead. */
    initial = UINT64_C(2) * wanted * TYPICAL_MSS_BYTES;
    finding_do(finding,
               "sysctl -w net.ipv4.tcp_rmem=\"%" PRIu64 " %" PRIu64 " %" PRIu64
               "\" (and in /etc/sysctl.d); Linux 6.1 keeps 65536 bytes nevertheless",
               smallest, initial, initial > largest ? initial : largest);
}

/* Queues with other queues below them, or without any packets. */
static bool hands_on(const char *kind)
{
    static const char *const kinds[] = { "noqueue", "noop", "mq",   "mqprio", "ingress",
                                         "clsact",  "htb",  "hfsc", "prio",   "drr" };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!strcmp(kind, kinds[i]))
            return true;
    }
    return false;
}

void queues_add(struct queues *queues, const struct nlmsghdr *message)
{
    const struct tcmsg *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *attr;
    char kind[IF_NAMESIZE];
    uint32_t ifindex;
    bool is_default;

    if (message->nlmsg_type != RTM_NEWQDISC || !netlink_has_header(message, sizeof(*header)))
        return;
    attr = netlink_find(netlink_attrs(message, sizeof(*header)), TCA_KIND);
    if (!attr)
        return;
    ifindex = (uint32_t)header->tcm_ifindex;
    is_default = ifindex == queues->default_ifindex;
    snprintf(kind, sizeof(kind), "%.*s", mnl_attr_get_payload_len(attr),
             (const char *)mnl_attr_get_payload(attr));
    if (hands_on(kind))
        return;
    /* The queue of the default route alone counts, unless that hands packets to links below it. */
    if (is_default && !queues->is_default)
        *queues = (struct queues){ .default_ifindex = ifindex, .is_default = true };
    if (queues->is_default && !is_default)
        return;
    if (!strcmp(kind, "fq")) {
        queues->n_paced++;
    } else if (!queues->ifindex) {
        queues->ifindex = ifindex;
        memcpy(queues->kind, kind, sizeof(kind));
    }
}

static void check_pacing(const struct host *host, struct finding *finding)
{
    const struct queues *queues = &host->queues;
    const char *device = queues->ifindex ? queues->device : "no link";
    bool cannot_load = !strcmp(host->apply, "routes") && host->why[0];
    const char *why = cannot_load ? host->why : host->reason;

    finding_read(finding,
                 "net.ipv4.tcp_congestion_control = %s; queues of kind fq: %zu; %s%s has %s%s%s%s",
                 host->congestion_control, queues->n_paced, device,
                 queues->is_default ? ", of the default route," : "",
                 queues->ifindex ? "queue " : "another queue", queues->kind,
                 *why ? "; not by the program: " : "", why);
    if (queues->error)
        finding_read(finding, "RTM_GETQDISC: %s", strerror(-queues->error));
    if (!strncmp(host->congestion_control, "bbr", 3)) {
        finding_is(finding, SEVERITY_OK, "first flights are paced: by %s",
                   host->congestion_control);
    } else if (queues->n_paced > 0 && !queues->ifindex) {
        finding_is(finding, SEVERITY_OK, "first flights are paced: by queue fq");
    } else if (is_by_program(host) && host->is_pacing && !host->reason[0]) {
        finding_is(finding, SEVERITY_OK,
                   host->is_careful ? "first flights are paced after a loss: by riptided, policy "
                                      "careful"
                                    : "first flights are paced: by riptided");
    } else if (is_by_program(host) && (host->control_error || !host_is_riptided(host))) {
        finding_is(finding, SEVERITY_OK,
                   "first flights are paced, unless that agent has turned pacing off");
    } else if (host->cwnd_max <= DEFAULT_INITCWND) {
        finding_is(finding, SEVERITY_OK, "first flights leave at once, and are small");
    } else {
        finding_is(finding, SEVERITY_WARNING,
                   "first flights of up to %" PRIu32 " segments leave at the speed of the link",
                   host->cwnd_max);
        finding_do(finding,
                   "tc qdisc replace dev %s root fq (net.core.default_qdisc=fq for new links), "
                   "or net.ipv4.tcp_congestion_control=bbr, %sor a smaller --cwnd-max",
                   queues->ifindex ? device : "LINK",
                   cannot_load ? "" : "or riptided --apply auto, which paces them itself, ");
    }
}

static void check_idle(const struct host *host, struct finding *finding)
{
    finding_read(finding, "net.ipv4.tcp_slow_start_after_idle = %s",
                 host->slow_start_after_idle[0] ? host->slow_start_after_idle : "(cannot be read)");
    finding_is(finding, SEVERITY_OK,
               "idle connections restart with their route's window, the learned one");
    if (strcmp(host->slow_start_after_idle, "0") != 0 && !strcmp(host->apply, "program")) {
        finding_is(finding, SEVERITY_NOTE,
                   "idle connections restart with their route's window, which is not ours");
        finding_do(finding, "%ssysctl -w net.ipv4.tcp_slow_start_after_idle=0",
                   host_is_riptided(host) ? "riptided --apply both, or " : "");
    }
    if (strcmp(host->slow_start_after_idle, "0") != 0)
        return;
    finding_is(finding, SEVERITY_NOTE,
               "idle connections keep their window, however old: policy paper learns from it as "
               "from a new one");
    finding_do(finding,
               "sysctl -w net.ipv4.tcp_slow_start_after_idle=1, or riptided --policy careful");
}

static const struct {
    const char *name;
    check_fn *judge;
    bool is_of_routes; /* it does not apply to windows by the program */
} checks[] = {
    { "sockets", check_sockets, false },   { "daemon", check_daemon, false },
    { "numbers", check_numbers, true },    { "rules", check_rules, true },
    { "networkd", check_networkd, true },  { "destinations", check_destinations, true },
    { "receiver", check_receiver, false }, { "pacing", check_pacing, false },
    { "idle-restart", check_idle, false },
};

const char *severity_name(enum severity severity)
{
    static const char *const names[] = { "ok", "note", "warning", "error" };

    return names[severity];
}

void finding_print(char *text, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, size, format, args);
    va_end(args);
}

size_t checks_count(void)
{
    return sizeof(checks) / sizeof(checks[0]);
}

void checks_judge(size_t n, const struct host *host, struct finding *finding)
{
    *finding = (struct finding){ .check = checks[n].name, .severity = SEVERITY_OK };
    checks[n].judge(host, finding);
    if (checks[n].is_of_routes && finding->severity != SEVERITY_OK &&
        !strcmp(host->apply, "program")) {
        finding_is(finding, SEVERITY_OK,
                   "no rule or route is installed: windows are given by the program");
        finding_do(finding, "%s", "");
    }
}
