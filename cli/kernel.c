/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of riptided's rules and routes. */
enum { OUR_PROTOCOL = 230 };

/* A policy rule. */
struct kernel_rule {
    uint8_t family; /* AF_INET or AF_INET6 */
    bool is_ours;   /* by its shape, whatever its priority and table are */
    uint32_t priority;
    uint32_t table; /* 0: no lookup (goto, blackhole, ...) */
};

static uint8_t bits_of(uint8_t family)
{
    return family == AF_INET ? 32 : 128;
}

/* Sends the request, and gives the answers to the callback until it stops or they end. */
static int exchange(struct nlmsghdr *request, mnl_cb_t on_message, void *userdata)
{
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    /* The largest message of a dump. */
    static char buffer[32768];
    const int is_strict = 1;
    ssize_t n;
    int r = -1;

    if (!socket)
        return -errno;
    /* The kernel then dumps the asked table alone; one before Linux 4.20 dumps all. */
    mnl_socket_setsockopt(socket, NETLINK_GET_STRICT_CHK, (void *)&is_strict, sizeof(is_strict));
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

static struct rtmsg *begin(struct nlmsghdr **requestp, void *buffer, uint16_t type, uint16_t flags,
                           uint8_t family)
{
    struct rtmsg *header;

    *requestp = mnl_nlmsg_put_header(buffer);
    (*requestp)->nlmsg_type = type;
    (*requestp)->nlmsg_flags = NLM_F_REQUEST | flags;
    header = mnl_nlmsg_put_extra_header(*requestp, sizeof(*header));
    header->rtm_family = family;
    return header;
}

/* The header of rules has the size of that of routes, and begins with the family as well. */
_Static_assert(sizeof(struct fib_rule_hdr) == sizeof(struct rtmsg), "see dump()");

/* All rules, or the routes of a table. The callback counts in *np, which begins anew if changes
 * interrupt the dump. A family or a table that does not exist is empty. */
static int dump(uint16_t type, uint8_t family, uint32_t table, mnl_cb_t on_message, void *userdata,
                size_t *np)
{
    const size_t n_before = *np;
    struct nlmsghdr *request;
    char buffer[128];
    int r = -EINTR;

    for (int i = 0; i < 8 && r == -EINTR; i++) {
        begin(&request, buffer, type, NLM_F_DUMP, family);
        if (table)
            mnl_attr_put_u32(request, RTA_TABLE, table);
        *np = n_before;
        r = exchange(request, on_message, userdata);
    }
    return r == -ENOENT || r == -EOPNOTSUPP || r == -EAFNOSUPPORT ? 0 : r;
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

static uint32_t u32_of(const struct nlattr *attribute, uint32_t otherwise)
{
    if (!attribute || mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
        return otherwise;
    return mnl_attr_get_u32(attribute);
}

static bool is_u8(const struct nlattr *attribute, uint8_t value)
{
    return attribute && mnl_attr_get_payload_len(attribute) == 1 &&
           mnl_attr_get_u8(attribute) == value;
}

struct rules {
    struct kernel_rule *list;
    size_t n;
};

static int on_rule(const struct nlmsghdr *message, void *userdata)
{
    const struct fib_rule_hdr *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *attributes[MAX_TYPE + 1] = { NULL };
    struct rules *rules = userdata;
    struct kernel_rule *list = reallocarray(rules->list, rules->n + 1, sizeof(*list));
    struct kernel_rule *rule;

    if (!list) {
        errno = ENOMEM;
        return MNL_CB_ERROR;
    }
    rules->list = list;
    rule = &list[rules->n++];
    mnl_attr_parse(message, sizeof(*header), keep, attributes);
    *rule = (struct kernel_rule){ .family = header->family,
                                  .priority = u32_of(attributes[FRA_PRIORITY], 0) };
    if (header->action == FR_ACT_TO_TBL)
        rule->table = u32_of(attributes[FRA_TABLE], header->table);
    rule->is_ours = rule->table && is_u8(attributes[FRA_PROTOCOL], OUR_PROTOCOL) &&
                    is_u8(attributes[FRA_IP_PROTO], IPPROTO_TCP) &&
                    u32_of(attributes[FRA_SUPPRESS_PREFIXLEN], 0) == bits_of(rule->family) - 1u;
    return MNL_CB_OK;
}

/*
 * The rules of both families in the kernel's order, IPv4 first. The caller frees the array. A
 * kernel without policy rules has none.
 */
static int read_rules(struct kernel_rule **rulesp, size_t *n_rulesp)
{
    struct rules rules = { .list = NULL };
    int r = dump(RTM_GETRULE, AF_INET, 0, on_rule, &rules, &rules.n);

    if (r == 0)
        r = dump(RTM_GETRULE, AF_INET6, 0, on_rule, &rules, &rules.n);
    if (r < 0) {
        free(rules.list);
        return r;
    }
    *rulesp = rules.list;
    *n_rulesp = rules.n;
    return 0;
}

/* Of the kernel's own `lookup main`, before which others' rules are; table local comes first. */
enum { PRIORITY_OF_MAIN = 32766 };

bool kernel_find_before(uint8_t family, char text[KERNEL_RULE_BYTES])
{
    char table[16] = "main";
    struct kernel_rule *rules = NULL;
    bool is_found = false;
    size_t n = 0;

    read_rules(&rules, &n);
    for (size_t i = 0; i < n && !is_found; i++) {
        if (rules[i].family != family || rules[i].table == RT_TABLE_LOCAL)
            continue;
        if (rules[i].is_ours || rules[i].priority >= PRIORITY_OF_MAIN)
            break;
        is_found = true;
        if (rules[i].table != RT_TABLE_MAIN)
            snprintf(table, sizeof(table), "%" PRIu32, rules[i].table);
        snprintf(text, KERNEL_RULE_BYTES, "IPv%c priority %" PRIu32 " lookup %s",
                 family == AF_INET ? '4' : '6', rules[i].priority, table);
    }
    free(rules);
    return is_found;
}

static int on_route(const struct nlmsghdr *message, void *userdata)
{
    const struct rtmsg *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *attributes[MAX_TYPE + 1] = { NULL }, *metrics[MAX_TYPE + 1] = { NULL };
    const struct nlattr *dst;
    struct kernel_route *route = userdata;

    mnl_attr_parse(message, sizeof(*header), keep, attributes);
    if (attributes[RTA_METRICS])
        mnl_attr_parse_nested(attributes[RTA_METRICS], keep, metrics);
    *route = (struct kernel_route){ .match = { .family = header->rtm_family,
                                               .len = header->rtm_dst_len },
                                    .is_ours = header->rtm_protocol == OUR_PROTOCOL,
                                    .table = u32_of(attributes[RTA_TABLE], header->rtm_table),
                                    .initcwnd = u32_of(metrics[RTAX_INITCWND], 0),
                                    .ifindex = u32_of(attributes[RTA_OIF], 0) };
    dst = attributes[RTA_DST];
    if (dst && mnl_attr_get_payload_len(dst) <= sizeof(route->match.addr))
        memcpy(route->match.addr, mnl_attr_get_payload(dst), mnl_attr_get_payload_len(dst));
    return MNL_CB_STOP;
}

static void put_port(struct nlmsghdr *request, uint16_t type, uint16_t port)
{
    const uint16_t bytes = htons(port);

    if (port)
        mnl_attr_put(request, type, sizeof(bytes), &bytes);
}

void kernel_find_route(const struct kernel_query *query, struct kernel_route *route)
{
    const uint8_t family = query->peer.family;
    struct nlmsghdr *request;
    char buffer[256];
    struct rtmsg *header = begin(&request, buffer, RTM_GETROUTE, 0, family);
    int r;

    header->rtm_dst_len = bits_of(family);
    /* The entry of the table, with its metrics. IPv6 shows the table, and refuses that flag. */
    header->rtm_flags = RTM_F_FIB_MATCH | (family == AF_INET ? RTM_F_LOOKUP_TABLE : 0);
    mnl_attr_put(request, RTA_DST, bits_of(family) / 8u, query->peer.addr);
    if (query->source.family) {
        header->rtm_src_len = bits_of(family);
        mnl_attr_put(request, RTA_SRC, bits_of(family) / 8u, query->source.addr);
    }
    mnl_attr_put_u8(request, RTA_IP_PROTO, IPPROTO_TCP);
    put_port(request, RTA_SPORT, query->source_port);
    put_port(request, RTA_DPORT, query->port);
    mnl_attr_put_u32(request, RTA_UID, geteuid());
    *route = (struct kernel_route){ .error = -EBADMSG };
    r = exchange(request, on_route, route);
    if (r < 0)
        *route = (struct kernel_route){ .error = r };
}

struct count {
    uint32_t table;
    size_t n;
};

static int on_counted(const struct nlmsghdr *message, void *userdata)
{
    const struct rtmsg *header = mnl_nlmsg_get_payload(message);
    struct count *count = userdata;
    struct kernel_route route;

    on_route(message, &route);
    count->n += route.is_ours && route.table == count->table &&
                !(header->rtm_flags & RTM_F_CLONED);
    return MNL_CB_OK;
}

int kernel_find_left(uint32_t table, struct kernel_left *left)
{
    struct count count = { .n = 0 };
    struct kernel_rule *rules;
    size_t n;
    int r = read_rules(&rules, &n);

    *left = (struct kernel_left){ 0 };
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        if (rules[i].is_ours) {
            left->n_rules++;
            table = rules[i].table;
        }
    }
    free(rules);
    count.table = table;
    r = dump(RTM_GETROUTE, AF_INET, table, on_counted, &count, &count.n);
    if (r == 0)
        r = dump(RTM_GETROUTE, AF_INET6, table, on_counted, &count, &count.n);
    left->n_routes = count.n;
    return r;
}

/*
 * The manager of a network namespace holds a netlink socket, whose port has its process in 22 bits,
 * and whose groups are those of a claim and the number of its PID namespace (/proc/self/ns/pid).
 */
bool kernel_find_holder(int *pidp)
{
    const uint32_t groups_of_claim = UINT32_C(0xe0000000);
    FILE *sockets = fopen("/proc/thread-self/net/netlink", "re");
    uint32_t port, groups;
    struct stat own = { .st_ino = 0 };
    bool is_found = false;
    char line[256];
    int protocol;

    if (stat("/proc/self/ns/pid", &own) < 0)
        own.st_ino = 0;
    while (sockets && !is_found && fgets(line, sizeof(line), sockets)) {
        if (sscanf(line, "%*s %d %" SCNu32 " %" SCNx32, &protocol, &port, &groups) != 3 ||
            protocol != NETLINK_USERSOCK || (groups & groups_of_claim) != groups_of_claim ||
            groups == UINT32_MAX)
            continue;
        *pidp = 0;
        if (groups == (groups_of_claim | (uint32_t)own.st_ino))
            *pidp = (int)(port & 0x3fffff);
        is_found = *pidp == 0 || kill(*pidp, 0) == 0 || errno != ESRCH;
    }
    if (sockets)
        fclose(sockets);
    return is_found;
}
