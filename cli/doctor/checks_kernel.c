/* SPDX-License-Identifier: MIT */
/*
 * What the kernel can, and which part of the machine it shows us.
 */
#include "checks.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static bool has_rules(const struct host *host, uint8_t family)
{
    for (size_t i = 0; i < host->n_rules; i++) {
        if (host->rules[i].family == family)
            return true;
    }
    return false;
}

void check_kernel(const struct host *host, struct finding *finding)
{
    const struct host_kernel *kernel = &host->kernel;

    finding_is(finding, SEVERITY_OK, "this kernel has all that Riptide uses");
    finding_read(finding,
                 "NETLINK_GET_STRICT_CHK: %s; policy rules: IPv4 %s, IPv6 %s; TCP_INFO: %" PRIu32
                 " bytes; notifications of closed connections: %s",
                 kernel->strict_error ? strerror(-kernel->strict_error) : "yes",
                 has_rules(host, AF_INET) ? "yes" : "no", has_rules(host, AF_INET6) ? "yes" : "no",
                 kernel->tcp_info_bytes,
                 kernel->destroy_error ? strerror(-kernel->destroy_error) : "yes");
    if (kernel->strict_error) {
        finding_is(finding, SEVERITY_ERROR, "this kernel is too old: it filters no dumps");
        finding_do(finding, "boot Linux 5.4 or later");
    } else if (!has_rules(host, AF_INET)) {
        finding_is(finding, SEVERITY_ERROR, "this kernel has no policy rules: %s",
                   host->rules_error ? strerror(-host->rules_error) : "it knows not one");
        finding_do(
            finding,
            "boot a kernel with CONFIG_IP_MULTIPLE_TABLES=y and CONFIG_IPV6_MULTIPLE_TABLES=y");
    } else if (kernel->tcp_info_bytes < offsetof(struct tcp_info, tcpi_busy_time)) {
        finding_is(finding, SEVERITY_WARNING,
                   "this kernel's TCP_INFO lacks fields that policies other than paper need");
        finding_do(finding, "boot Linux 5.4 or later, or keep --policy paper");
    } else if (kernel->destroy_error) {
        finding_is(
            finding, SEVERITY_NOTE,
            "connections shorter than the interval are not seen: no notification of closed ones");
        finding_do(finding, "modprobe inet_diag");
    }
}

void check_sockets(const struct host *host, struct finding *finding)
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

void check_namespace(const struct host *host, struct finding *finding)
{
    finding_read(finding, "/proc/sys/net/core/default_qdisc: %s; in /run/netns: %" PRIu32,
                 host->is_initial_namespace ? "there" : "not there", host->n_named_namespaces);
    if (!host->is_initial_namespace) {
        finding_is(finding, SEVERITY_NOTE,
                   "this is a network namespace beside the machine's own, as a container has: only "
                   "its connections are seen, only they start with learned windows");
        finding_do(finding, "run riptided in each network namespace that is to have it (nsenter "
                            "--net=FILE riptided)");
    } else if (host->n_named_namespaces > 0) {
        finding_is(
            finding, SEVERITY_NOTE,
            "there are other network namespaces: a riptided here sees none of their connections");
        finding_do(finding, "ip netns exec NAME riptided ... in each that is to have it");
    } else {
        finding_is(finding, SEVERITY_OK, "this is the machine's own network namespace");
    }
}

void check_vrf(const struct host *host, struct finding *finding)
{
    const struct link *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < host->links.n; i++) {
        if (!host->links.list[i].is_vrf)
            continue;
        if (n++ == 0)
            first = &host->links.list[i];
    }
    if (host->links.error) {
        finding_is(finding, SEVERITY_NOTE, "not known whether there are VRFs");
        finding_read(finding, "RTM_GETLINK, RTM_GETQDISC: %s", strerror(-host->links.error));
        return;
    }
    finding_read(finding, "RTM_GETLINK: %zu links, of kind vrf: %zu%s%s", host->links.n, n,
                 first ? ", the first is " : "", first ? first->name : "");
    finding_is(finding, SEVERITY_OK, "no VRF");
    if (n == 0)
        return;
    finding_is(finding, SEVERITY_WARNING,
               "connections within a VRF are counted, but led to a table of their own before they "
               "come to ours: they start without us");
    finding_do(finding, "riptided --exclude PREFIX for what lies behind VRFs alone");
}
