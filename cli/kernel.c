/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Of riptided's rules and routes. */
enum { OUR_PROTOCOL = 230 };

/* Sends the request, and gives the answers to the callback until it stops or they end. */
static int exchange(struct nlmsghdr *request, mnl_cb_t on_message, void *userdata)
{
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    char buffer[8192];
    ssize_t n;
    int r = -1;

    if (!socket)
        return -errno;
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) == 0 &&
        mnl_socket_sendto(socket, request, request->nlmsg_len) >= 0) {
        do {
            n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
            r = n < 0 ? -1 : mnl_cb_run(buffer, (size_t)n, 0, 0, on_message, userdata);
        } while (r > MNL_CB_STOP);
    }
    r = r < 0 ? -errno : 0;
    mnl_socket_close(socket);
    return r;
}

/* The attributes of a message by their type; NULL: it has none of it. */
enum { MAX_TYPE = 63 };

static int keep(const struct nlattr *attribute, void *attributes)
{
    const uint16_t type = mnl_attr_get_type(attribute);

    if (type <= MAX_TYPE)
        ((const struct nlattr **)attributes)[type] = attribute;
    return MNL_CB_OK;
}

/* Of one or four bytes. */
static uint32_t number_of(const struct nlattr *attribute, uint32_t otherwise)
{
    if (!attribute)
        return otherwise;
    return mnl_attr_get_payload_len(attribute) == 1 ? mnl_attr_get_u8(attribute)
                                                    : mnl_attr_get_u32(attribute);
}

/* Of an address. */
static uint8_t bits_of(uint8_t family)
{
    return family == AF_INET ? 32 : 128;
}

struct riptide_prefix cidr_cut(const struct riptide_prefix *prefix, uint8_t len)
{
    struct riptide_prefix around = *prefix;

    around.len = len;
    for (size_t i = len / 8; i < sizeof(around.addr); i++)
        around.addr[i] &= i == len / 8 ? (uint8_t)(0xff00 >> len % 8) : 0;
    return around;
}

bool cidr_contains(const struct riptide_prefix *outer, const struct riptide_prefix *inner)
{
    const struct riptide_prefix around = cidr_cut(inner, outer->len);

    return outer->len <= inner->len && memcmp(&around, outer, sizeof(around)) == 0;
}

/* While rules are read, in their order. */
struct rules {
    uint32_t table;
    const struct riptide_prefix *peer;
    char *text;
    bool is_past[2]; /* ours of IPv4, and of IPv6 */
};

static int on_rule(const struct nlmsghdr *message, void *userdata)
{
    const struct fib_rule_hdr *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *of[MAX_TYPE + 1] = { NULL };
    const char *family = header->family == AF_INET ? "IPv4" : "IPv6";
    struct riptide_prefix dst = { .family = header->family, .len = header->dst_len };
    struct rules *rules = userdata;
    bool *is_past = &rules->is_past[header->family == AF_INET6];
    const size_t n = strlen(rules->text);
    uint32_t table, priority;

    if (header->family != AF_INET && header->family != AF_INET6)
        return MNL_CB_OK;
    mnl_attr_parse(message, sizeof(*header), keep, of);
    table = number_of(of[FRA_TABLE], header->table);
    priority = number_of(of[FRA_PRIORITY], 0);
    if (of[FRA_DST])
        memcpy(dst.addr, mnl_attr_get_payload(of[FRA_DST]), bits_of(dst.family) / 8u);
    /* The kernel's own `lookup main` is at 32766. */
    *is_past |= number_of(of[FRA_PROTOCOL], 0) == OUR_PROTOCOL || priority >= 32766;
    if (*is_past || strstr(rules->text, family) ||
        (table >= RT_TABLE_DEFAULT && table <= RT_TABLE_LOCAL) ||
        (rules->table && (table != rules->table || !cidr_contains(&dst, rules->peer))))
        return MNL_CB_OK;
    snprintf(rules->text + n, KERNEL_RULES_BYTES - n, "%s%s priority %" PRIu32 " lookup %" PRIu32,
             n ? ", " : "", family, priority, table);
    return MNL_CB_OK;
}

void kernel_read_rules(uint32_t table, const struct riptide_prefix *peer,
                       char text[KERNEL_RULES_BYTES])
{
    struct rules rules = { .table = table, .peer = peer, .text = text };
    char buffer[128];
    struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);

    text[0] = '\0';
    mnl_nlmsg_put_extra_header(request, sizeof(struct fib_rule_hdr));
    request->nlmsg_type = RTM_GETRULE;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    exchange(request, on_rule, &rules);
    if (table && !*text)
        snprintf(text, KERNEL_RULES_BYTES, "%" PRIu32 "%s", table,
                 table == RT_TABLE_MAIN ? " (main)" : "");
}

static int on_route(const struct nlmsghdr *message, void *userdata)
{
    const struct rtmsg *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *of[MAX_TYPE + 1] = { NULL }, *metrics[MAX_TYPE + 1] = { NULL };
    struct kernel_route *route = userdata;

    mnl_attr_parse(message, sizeof(*header), keep, of);
    if (of[RTA_METRICS])
        mnl_attr_parse_nested(of[RTA_METRICS], keep, metrics);
    *route = (struct kernel_route){ .match = { .family = header->rtm_family,
                                               .len = header->rtm_dst_len },
                                    .is_ours = header->rtm_protocol == OUR_PROTOCOL,
                                    .table = number_of(of[RTA_TABLE], header->rtm_table),
                                    .initcwnd = number_of(metrics[RTAX_INITCWND], 0) };
    if (of[RTA_DST])
        memcpy(route->match.addr, mnl_attr_get_payload(of[RTA_DST]),
               bits_of(header->rtm_family) / 8u);
    return MNL_CB_STOP;
}

void kernel_find_route(const struct riptide_prefix *peer, struct kernel_route *route)
{
    const uint8_t bits = bits_of(peer->family);
    char buffer[256];
    struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
    struct rtmsg *header = mnl_nlmsg_put_extra_header(request, sizeof(*header));
    int r;

    request->nlmsg_type = RTM_GETROUTE;
    request->nlmsg_flags = NLM_F_REQUEST;
    header->rtm_family = peer->family;
    header->rtm_dst_len = bits;
    /* The entry of the table, with its metrics. IPv6 shows the table, and refuses that flag. */
    header->rtm_flags = RTM_F_FIB_MATCH | (bits == 32 ? RTM_F_LOOKUP_TABLE : 0);
    mnl_attr_put(request, RTA_DST, bits / 8u, peer->addr);
    mnl_attr_put_u8(request, RTA_IP_PROTO, IPPROTO_TCP);
    *route = (struct kernel_route){ .error = -EBADMSG };
    r = exchange(request, on_route, route);
    if (r < 0)
        *route = (struct kernel_route){ .error = r };
}

int kernel_connect(const char *path, int timeout_s, int *pidp)
{
    const struct timeval timeout = { .tv_sec = timeout_s };
    struct ucred peer = { .pid = 0 };
    socklen_t n_bytes = sizeof(peer);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

    if (fd < 0)
        return -errno;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    r = connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : fd;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes);
    *pidp = peer.pid;
    if (r < 0)
        close(fd);
    return r;
}

const char *kernel_name_process(char text[48], int pid)
{
    snprintf(text, 48, "process %d", pid);
    return pid == INT_MAX ? "a process that cannot be seen from here" : text;
}
