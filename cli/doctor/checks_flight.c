/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a larger first flight: what receivers take, how it leaves, when it comes again.
 */
#include "checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Windows up to this are every kernel's own. */
enum { DEFAULT_INITCWND = 10 };

void check_receiver(const struct host *host, struct finding *finding)
{
    uint32_t wanted = host->router.cwnd_max;
    uint64_t smallest = 4096, initial, largest = 6291456;

    finding_read(finding,
                 "net.ipv4.tcp_rmem = %s; open connections to other hosts: %" PRIu64
                 ", opened from here: %" PRIu64,
                 host->tcp_rmem[0] ? host->tcp_rmem : "(cannot be read)", host->connections.n,
                 host->connections.n_opened);
    if (host->receiver_error) {
        finding_is(finding, SEVERITY_NOTE, "not known how much this host receives at first: %s",
                   strerror(-host->receiver_error));
        return;
    }
    finding_is(finding, SEVERITY_OK,
               "this host lets its peers begin with %" PRIu32 " segments (cwnd_max %" PRIu32 ")",
               host->initrwnd, wanted);
    if (host->initrwnd >= wanted)
        return;
    /* Where the peer opens it, a SYN-ACK offers at most 65,535 bytes whatever tcp_rmem says. */
    finding_is(finding, host->connections.n_opened > 0 ? SEVERITY_WARNING : SEVERITY_NOTE,
               "this host lets its peers begin with %" PRIu32 " segments, not %" PRIu32
               ", on connections that it opens",
               host->initrwnd, wanted);
    sscanf(host->tcp_rmem, "%" SCNu64 " %*u %" SCNu64, &smallest, &largest);
    /* The kernel keeps half of it for its own overhead. */
    initial = UINT64_C(2) * wanted * TYPICAL_MSS_BYTES;
    finding_do(finding,
               "sysctl -w net.ipv4.tcp_rmem=\"%" PRIu64 " %" PRIu64 " %" PRIu64
               "\" (and in /etc/sysctl.d)",
               smallest, initial, initial > largest ? initial : largest);
}

void check_pacing(const struct host *host, struct finding *finding)
{
    const struct link *unpaced = NULL;
    size_t n_paced = 0;

    for (size_t i = 0; i < host->links.n; i++) {
        const struct link *link = &host->links.list[i];

        /* noqueue hands its packets straight on: what paces them, if anything, is elsewhere. */
        if (!link->is_up || link->is_loopback || !link->queue[0] || !strcmp(link->queue, "noqueue"))
            continue;
        if (link_is_paced(link))
            n_paced++;
        else if (!unpaced)
            unpaced = link;
    }
    finding_read(finding,
                 "net.ipv4.tcp_congestion_control = %s; links with queue fq: %zu; %s%s%s%s",
                 host->congestion_control, n_paced, unpaced ? unpaced->name : "no link",
                 unpaced ? " has queue " : " has another queue", unpaced ? unpaced->queue : "",
                 host->links.error ? " (the links cannot be read)" : "");
    if (!strncmp(host->congestion_control, "bbr", 3)) {
        finding_is(finding, SEVERITY_OK, "first flights leave paced: %s does so itself",
                   host->congestion_control);
    } else if (n_paced > 0 && !unpaced) {
        finding_is(finding, SEVERITY_OK, "first flights leave paced: by queue fq");
    } else if (host->router.cwnd_max <= DEFAULT_INITCWND) {
        finding_is(finding, SEVERITY_OK, "first flights leave at once, and are small");
    } else {
        finding_is(finding, SEVERITY_WARNING,
                   "first flights of up to %" PRIu32 " segments leave at the speed of the link",
                   host->router.cwnd_max);
        finding_do(finding,
                   "tc qdisc replace dev %s root fq (net.core.default_qdisc=fq for links to come), "
                   "or net.ipv4.tcp_congestion_control=bbr, or a smaller --cwnd-max",
                   unpaced ? unpaced->name : "LINK");
    }
}

void check_idle(const struct host *host, struct finding *finding)
{
    finding_read(finding, "net.ipv4.tcp_slow_start_after_idle = %s",
                 host->slow_start_after_idle[0] ? host->slow_start_after_idle : "(cannot be read)");
    finding_is(finding, SEVERITY_OK,
               "idle connections begin again with their route's window, the learned one");
    if (strcmp(host->slow_start_after_idle, "0") != 0)
        return;
    finding_is(finding, SEVERITY_NOTE,
               "idle connections keep the window that they had, however long ago: policy paper "
               "learns from it as if it were of now");
    finding_do(finding,
               "sysctl -w net.ipv4.tcp_slow_start_after_idle=1, or riptided --policy careful");
}
