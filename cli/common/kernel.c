/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include "cidr.h"

#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The protocol of riptided's rules and routes, as rt_protos.conf has it. */
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

/* While rules are read, in their order. */
struct rules {
    uint32_t table;                    /* only rules to this one; 0: to any but the kernel's own */
    const struct riptide_prefix *peer; /* with a table: only rules whose destination contains it */
    char *text;
    bool is_past[2]; /* IPv4, IPv6: riptided's rule, or `lookup main`, has come */
};

/* The kernel's own `lookup main` (fib_default_rules_init in net/ipv4/fib_rules.c). */
enum { PRIORITY_OF_MAIN = 32766 };

struct rule {
    struct riptide_prefix dst;
    uint32_t table, priority, protocol;
};

static void parse_rule(const struct nlmsghdr *message, struct rule *rule)
{
    const struct fib_rule_hdr *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *of[MAX_TYPE + 1] = { NULL };

    mnl_attr_parse(message, sizeof(*header), keep, of);
    *rule = (struct rule){
        .dst = { .family = header->family, .len = header->dst_len },
        .table = number_of(of[FRA_TABLE], header->table),
        .priority = number_of(of[FRA_PRIORITY], 0),
        .protocol = number_of(of[FRA_PROTOCOL], 0),
    };
    if (of[FRA_DST])
        memcpy(rule->dst.addr, mnl_attr_get_payload(of[FRA_DST]),
               cidr_count_bits(header->family) / 8u);
}

static bool is_wanted(const struct rules *rules, const struct rule *rule)
{
    const bool is_of_kernel = rule->table >= RT_TABLE_DEFAULT && rule->table <= RT_TABLE_LOCAL;

    if (is_of_kernel)
        return false;
    if (rules->table == 0)
        return true;
    return rule->table == rules->table && cidr_contains(&rule->dst, rules->peer);
}

static int on_rule(const struct nlmsghdr *message, void *userdata)
{
    struct rules *rules = userdata;
    const size_t n = strlen(rules->text);
    const char *family;
    struct rule rule;
    bool *is_past;

    parse_rule(message, &rule);
    /* Multicast routes have rules as well. */
    if (rule.dst.family != AF_INET && rule.dst.family != AF_INET6)
        return MNL_CB_OK;
    family = rule.dst.family == AF_INET ? "IPv4" : "IPv6";
    is_past = &rules->is_past[rule.dst.family == AF_INET6];
    if (rule.protocol == OUR_PROTOCOL || rule.priority >= PRIORITY_OF_MAIN)
        *is_past = true;
    /* The first of each family is enough. */
    if (*is_past || strstr(rules->text, family) || !is_wanted(rules, &rule))
        return MNL_CB_OK;
    snprintf(rules->text + n, KERNEL_RULES_BYTES - n, "%s%s priority %" PRIu32 " lookup %" PRIu32,
             n > 0 ? ", " : "", family, rule.priority, rule.table);
    return MNL_CB_OK;
}

void kernel_explain_table(uint32_t table, const struct riptide_prefix *peer,
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
    if (table != 0 && text[0] == '\0')
        snprintf(text, KERNEL_RULES_BYTES, "%" PRIu32 "%s", table,
                 table == RT_TABLE_MAIN ? " (main)" : "");
}

static int on_route(const struct nlmsghdr *message, void *userdata)
{
    const struct rtmsg *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *of[MAX_TYPE + 1] = { NULL }, *metrics[MAX_TYPE + 1] = { NULL };
    struct kernel_route *route = userdata;
    uint32_t table;

    mnl_attr_parse(message, sizeof(*header), keep, of);
    if (of[RTA_METRICS])
        mnl_attr_parse_nested(of[RTA_METRICS], keep, metrics);
    table = number_of(of[RTA_TABLE], header->rtm_table);
    /* Until there are rules of others the kernel keeps table local of IPv4 in main, and says so. */
    if (header->rtm_type == RTN_LOCAL && table == RT_TABLE_MAIN)
        table = RT_TABLE_LOCAL;
    *route = (struct kernel_route){
        .match = { .family = header->rtm_family, .len = header->rtm_dst_len },
        .is_ours = header->rtm_protocol == OUR_PROTOCOL,
        .table = table,
        .initcwnd = number_of(metrics[RTAX_INITCWND], 0),
    };
    if (of[RTA_DST])
        memcpy(route->match.addr, mnl_attr_get_payload(of[RTA_DST]),
               cidr_count_bits(header->rtm_family) / 8u);
    return MNL_CB_STOP;
}

void kernel_find_route(const struct riptide_prefix *peer, struct kernel_route *route)
{
    const uint8_t bits = cidr_count_bits(peer->family);
    char buffer[256];
    struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
    struct rtmsg *header = mnl_nlmsg_put_extra_header(request, sizeof(*header));
    int r;

    request->nlmsg_type = RTM_GETROUTE;
    request->nlmsg_flags = NLM_F_REQUEST;
    header->rtm_family = peer->family;
    header->rtm_dst_len = bits;
    /* The entry of the table, with its metrics. */
    header->rtm_flags = RTM_F_FIB_MATCH;
    /* IPv6 shows the table anyway, and refuses the flag. */
    if (peer->family == AF_INET)
        header->rtm_flags |= RTM_F_LOOKUP_TABLE;
    mnl_attr_put(request, RTA_DST, bits / 8u, peer->addr);
    mnl_attr_put_u8(request, RTA_IP_PROTO, IPPROTO_TCP);
    *route = (struct kernel_route){ .error = -EBADMSG };
    r = exchange(request, on_route, route);
    if (r < 0)
        *route = (struct kernel_route){ .error = r };
}
