/* SPDX-License-Identifier: MIT */
/*
 * Reading a host: each fact from where the kernel or the configuration has it.
 */
#include "host.h"

#include "lib/netlink.h"
#include "lib/tools.h"
#include "resolve.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_there(const char *root, const char *path)
{
    char full[PATH_MAX];

    snprintf(full, sizeof(full), "%s%s", root, path);
    return access(full, F_OK) == 0;
}

/* How many entries a directory has; 0 where there is none. */
static uint32_t count_entries(const char *root, const char *path)
{
    char pattern[PATH_MAX];
    glob_t entries = { 0 };
    uint32_t n = 0;

    snprintf(pattern, sizeof(pattern), "%s%s/*", root, path);
    if (glob(pattern, 0, NULL, &entries) == 0)
        n = (uint32_t)entries.gl_pathc;
    globfree(&entries);
    return n;
}

/* The first line without its end; empty where it cannot be read. Tabs become blanks. */
static void read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");

    line[0] = '\0';
    if (!file)
        return;
    if (!fgets(line, (int)size, file))
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; (at = strchr(at, '\t'));)
        *at = ' ';
}

/* 0 or -errno of setting a netlink option on a new socket. */
static int try_netlink_option(int protocol, int option, int value)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    int r = 0;

    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_NETLINK, option, &value, sizeof(value)) < 0)
        r = -errno;
    close(fd);
    return r;
}

static void read_kernel(struct host_kernel *kernel)
{
    char info[1024];
    socklen_t n_bytes = sizeof(info);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &n_bytes) == 0)
        kernel->tcp_info_bytes = n_bytes;
    if (fd >= 0)
        close(fd);
    kernel->strict_error = try_netlink_option(NETLINK_ROUTE, NETLINK_GET_STRICT_CHK, 1);
    kernel->destroy_error =
        try_netlink_option(NETLINK_SOCK_DIAG, NETLINK_ADD_MEMBERSHIP, SKNLGRP_INET_TCP_DESTROY);
}

static void read_namespace(struct host *host, const char *root)
{
    /* A sysctl of the whole machine, which only the namespace that it booted with shows. */
    host->is_initial_namespace = is_there("", "/proc/sys/net/core/default_qdisc");
    host->n_named_namespaces = count_entries(root, "/run/netns");
}

static void read_sysctls(struct host *host)
{
    char ports[HOST_WORD_BYTES];

    read_line("/proc/sys/net/ipv4/ip_local_port_range", ports, sizeof(ports));
    if (sscanf(ports, "%" SCNu16 " %" SCNu16, &host->local_ports[0], &host->local_ports[1]) != 2)
        host->local_ports[0] = UINT16_MAX;
    read_line("/proc/sys/net/ipv4/tcp_rmem", host->tcp_rmem, sizeof(host->tcp_rmem));
    read_line("/proc/sys/net/ipv4/tcp_congestion_control", host->congestion_control,
                    sizeof(host->congestion_control));
    read_line("/proc/sys/net/ipv4/tcp_slow_start_after_idle", host->slow_start_after_idle,
                    sizeof(host->slow_start_after_idle));
    host->receiver_error = riptide_receiver_get_initrwnd(TYPICAL_MSS_BYTES, &host->initrwnd);
}

static struct nlmsghdr *begin_links(void *userdata, void *room)
{
    const struct ifinfomsg header = { .ifi_family = AF_UNSPEC };
    struct links *links = userdata;

    links->n = 0;
    return netlink_begin(room, RTM_GETLINK, NLM_F_DUMP, &header, sizeof(header));
}

static int on_link(void *links, const struct nlmsghdr *message)
{
    links_add(links, message);
    return 0;
}

static struct nlmsghdr *begin_queues(void *userdata, void *room)
{
    const struct tcmsg header = { .tcm_family = AF_UNSPEC };
    struct links *links = userdata;

    for (size_t i = 0; i < links->n; i++)
        links->list[i].n_children = links->list[i].n_fq_children = 0;
    return netlink_begin(room, RTM_GETQDISC, NLM_F_DUMP, &header, sizeof(header));
}

static int on_queue(void *links, const struct nlmsghdr *message)
{
    links_add_queue(links, message);
    return 0;
}

static void read_links(struct links *links)
{
    struct netlink netlink;
    int r = netlink_init(&netlink);

    if (r == 0)
        r = netlink_dump_all(&netlink, begin_links, on_link, links);
    if (r == 0)
        r = netlink_dump_all(&netlink, begin_queues, on_queue, links);
    netlink_deinit(&netlink);
    links->error = r;
}

static void read_starts(struct host *host, const struct riptide_route *routes)
{
    struct start *starts = NULL;

    if (resolve_starts(&host->router, routes, host->n_routes, &starts) < 0)
        return;
    for (size_t i = 0; starts && i < host->n_routes; i++) {
        if (!starts[i].text[0] ||
            !rules_are_in_place(host->rules, host->n_rules, routes[i].dst.family))
            continue;
        if (host->n_not_taken++ == 0) {
            host->not_taken = starts[i];
            host->not_taken_dst = routes[i].dst;
        }
    }
    free(starts);
}

/* What of ours is there, and whether it could be. */
static int read_router(struct host *host, struct riptide_error *error)
{
    struct riptide_router *router;
    struct riptide_route *routes;
    int r = riptide_router_new(&router, &host->router, error);

    if (r < 0)
        return r;
    host->conflict_error = riptide_router_check(router, &host->conflict);
    riptide_router_free(router);
    host->has_holder = riptide_router_get_holder(&host->holder_pid) == 0;
    host->rules_error = riptide_rules_read(&host->router, &host->rules, &host->n_rules);
    if (riptide_routes_read(&host->router, &routes, &host->n_routes) == 0) {
        read_starts(host, routes);
        riptide_routes_free(routes);
    }
    return 0;
}

int host_read(struct host *host, const struct riptide_router_config *router, const char *root,
              struct riptide_error *error)
{
    int r;

    *host = (struct host){ .router = *router };
    r = read_router(host, error);
    if (r < 0)
        return r;
    read_kernel(&host->kernel);
    read_sysctls(host);
    read_namespace(host, root);
    networkd_read(&host->networkd, root);
    read_links(&host->links);
    host_read_connections(host);
    return 0;
}

void host_deinit(struct host *host)
{
    host->rules = riptide_rules_free(host->rules);
}
