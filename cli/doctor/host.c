/* SPDX-License-Identifier: MIT */
/* Reading a host: each fact from its source in the kernel or the configuration. */
#include "host.h"

#include "client.h"
#include "kernel.h"
#include "lib/netlink.h"
#include "log.h"
#include "samples.h"
#include "verify/judge.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The first line without its end; empty if unreadable. Tabs become blanks. */
static void read_line(const char *path, char line[HOST_WORD_BYTES])
{
    FILE *file = fopen(path, "re");

    line[0] = '\0';
    if (!file)
        return;
    if (!fgets(line, HOST_WORD_BYTES, file))
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; (at = strchr(at, '\t'));)
        *at = ' ';
}

/*
 * How many segments this host lets a peer send at once on a new connection that this host has
 * opened: the initial receive window (tcp_select_initial_window in net/ipv4/tcp_output.c). A
 * sender's initcwnd beyond it is of no use. Where the peer has opened the connection, its first
 * flight is bounded by the window of our SYN-ACK as well, which has no scale: 65,535 bytes,
 * whatever tcp_rmem says. A socket starts with tcp_rmem[1] bytes, of which tcp_win_from_space()
 * offers half with the default scaling ratio (include/net/tcp.h, TCP_DEFAULT_SCALING_RATIO and
 * tcp_adv_win_scale 1).
 */
static void find_initrwnd(struct host *host)
{
    unsigned long long rmem_default_bytes;

    if (sscanf(host->tcp_rmem, "%*u %llu", &rmem_default_bytes) == 1)
        host->initrwnd = (uint32_t)(rmem_default_bytes / 2 / TYPICAL_MSS_BYTES);
    else
        host->receiver_error = -EBADMSG;
}

static void read_sysctls(struct host *host)
{
    read_line("/proc/sys/net/ipv4/tcp_rmem", host->tcp_rmem);
    read_line("/proc/sys/net/ipv4/tcp_congestion_control", host->congestion_control);
    read_line("/proc/sys/net/ipv4/tcp_slow_start_after_idle", host->slow_start_after_idle);
    find_initrwnd(host);
}

/* systemd's own tool shows which files count, and in which order: the last line of a key counts. */
static void read_networkd(struct networkd *networkd, const char *root)
{
    char line[256], section[32] = "", key[40], value[12];
    FILE *out;

    snprintf(line, sizeof(line), "%s/run/systemd/netif/state", root);
    networkd->is_in_use = access(line, F_OK) == 0;
    if (!networkd->is_in_use || setenv("ROOT", *root ? root : "/", true))
        return;
    out = popen("systemd-analyze --root=\"$ROOT\" cat-config systemd/networkd.conf 2>&-", "re");
    while (out && fgets(line, sizeof(line), out)) {
        bool is_off;

        if (!strncmp(line, "# /", 3))
            section[0] = '\0'; /* another file begins */
        if (sscanf(line, " [%31[^]]", section) == 1 || strcmp(section, "Network") != 0 ||
            sscanf(line, " %39[A-Za-z] = %11s", key, value) != 2)
            continue;
        snprintf(line, sizeof(line), " %s ", value);
        is_off = strcasestr(" 0 no n false f off ", line);
        if (!is_off && !strcasestr(" 1 yes y true t on ", line))
            continue;
        if (!strcmp(key, "ManageForeignRoutes"))
            networkd->leaves_routes = is_off;
        else if (!strcmp(key, "ManageForeignRoutingPolicyRules"))
            networkd->leaves_rules = is_off;
    }
    if (out)
        pclose(out);
}

static struct nlmsghdr *begin_queues(void *userdata, void *room)
{
    const struct tcmsg header = { .tcm_family = AF_UNSPEC };

    struct queues *queues = userdata;

    *queues = (struct queues){ .default_ifindex = queues->default_ifindex };
    return netlink_begin(room, RTM_GETQDISC, NLM_F_DUMP, &header, sizeof(header));
}

static int on_queue(void *queues, const struct nlmsghdr *message)
{
    queues_add(queues, message);
    return 0;
}

/* The link to addresses that are reserved for documentation (RFC 5737, RFC 3849). */
static uint32_t find_default(struct netlink *netlink)
{
    static const char *const nobodys[] = { "192.0.2.1", "2001:db8::1" };
    struct route_answer answer = { .ifindex = 0 };

    for (size_t i = 0; i < 2 && !answer.ifindex; i++) {
        struct probe probe = { .mark = 0 };

        riptide_prefix_parse(&probe.peer, nobodys[i]);
        probe_ask_route(netlink, &probe, &answer);
    }
    return answer.ifindex;
}

static void read_queues(struct queues *queues)
{
    struct netlink netlink;
    int r = netlink_init(&netlink);

    if (r == 0) {
        queues->default_ifindex = find_default(&netlink);
        r = kernel_dump(&netlink, begin_queues, on_queue, queues);
    }
    netlink_deinit(&netlink);
    queues->error = r;
    if (queues->ifindex && log_device_name(queues->ifindex, queues->device)[0] == '#')
        queues->ifindex = 0; /* it has just gone */
}

/* Our rules and routes, and whether they could be installed. */
static int read_applier(struct host *host, struct riptide_error *error)
{
    struct riptide_applier_config config = host->applier;
    struct riptide_applier *applier;
    struct riptide_route *routes;
    int r = riptide_applier_new(&applier, &config, error);

    riptide_applier_free(r == 0 ? applier : NULL);
    config.backend = RIPTIDE_ROUTES;
    config.dry_run = true;
    config.holdout_percent = 0;
    config.cgroup = NULL;
    if (r == 0)
        r = riptide_applier_new(&applier, &config, error);
    if (r < 0)
        return r;
    host->conflict_error = riptide_applier_start(applier, &host->conflict);
    riptide_applier_free(applier);
    host->has_holder = riptide_applier_get_holder(&host->holder_pid) == 0;
    host->rules_error = kernel_read_rules(&host->rules, &host->n_rules);
    if (kernel_read_routes(&host->applier, &routes, &host->n_routes) == 0)
        free(routes);
    return 0;
}

/* Destinations that are checked: further ones have the same routes. */
enum { MAX_DESTINATIONS = 16384 };

static void read_connections(struct host *host)
{
    struct connections *connections = &host->connections;
    struct riptide_prefix *dsts = calloc(MAX_DESTINATIONS, sizeof(*dsts));
    struct riptide_error error;
    struct prefix_table table;
    uint32_t slot;

    connections->error = samples_observe(NULL, &table, NULL, &error);
    for (slot = 0; slot < table.n; slot++) {
        const struct aggregate *row = prefix_table_at(&table, slot);

        connections->n += row->connections;
        if (dsts && slot < MAX_DESTINATIONS)
            dsts[slot] = row->dst;
    }
    if (slot > MAX_DESTINATIONS)
        slot = MAX_DESTINATIONS;
    if (!dsts)
        connections->routes_error = -ENOMEM;
    else if (connections->error == 0 && slot > 0)
        connections->routes_error =
            resolve(&host->applier, host->cwnd_max, dsts, slot,
                    &connections->destinations, &error);
    prefix_table_deinit(&table);
    free(dsts);
}

/* Sections for prefixes may exceed the general one. */
static uint32_t find_largest_window(const struct settings *settings)
{
    uint32_t largest = settings->estimator.cwnd_max;

    for (size_t i = 0; i < settings->n_overrides; i++) {
        if (settings->overrides[i].cwnd_max > largest)
            largest = settings->overrides[i].cwnd_max;
    }
    return largest;
}

int host_read(struct host *host, const struct settings *settings, const char *root,
              struct riptide_error *error)
{
    struct riptide_estimator *estimator = NULL;
    int r;

    *host = (struct host){ .applier = settings->applier,
                           .cwnd_max = find_largest_window(settings) };
    /* Making one checks the largest window. */
    r = riptide_estimator_new(&estimator, &settings->estimator, error);
    riptide_estimator_free(estimator);
    if (r == 0)
        r = read_applier(host, error);
    if (r < 0)
        return r;
    read_sysctls(host);
    read_networkd(&host->networkd, root);
    read_queues(&host->queues);
    read_connections(host);
    return 0;
}

void host_read_holder(struct host *host)
{
    int found = client_has_program(host->holder_pid);
    bool has_rules = rules_are_in_place(host->rules, host->n_rules, AF_INET) ||
                     rules_are_in_place(host->rules, host->n_rules, AF_INET6);

    host->is_holder_hidden = found < 0;
    if (found > 0)
        snprintf(host->apply, sizeof(host->apply), "%s", has_rules ? "both" : "program");
}

void host_deinit(struct host *host)
{
    free(host->rules);
    host->rules = NULL;
}
