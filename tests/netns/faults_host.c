/* SPDX-License-Identifier: MIT */
/*
 * Asks and changes the kernel while nothing fails; see faults_host.h.
 */
#include "faults_host.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int on_rule(struct nl_msg *message, void *text)
{
    struct fib_rule_hdr *rule = nlmsg_data(nlmsg_hdr(message));
    struct nlattr *protocol = nlmsg_find_attr(nlmsg_hdr(message), sizeof(*rule), FRA_PROTOCOL);

    if (protocol && *(uint8_t *)nla_data(protocol) == 230)
        sprintf((char *)text + strlen(text), "rule of family %u, action %u\n", rule->family,
                rule->action);
    return NL_OK;
}

/* Our rules and routes, as the kernel has them. */
void host_read(const struct riptide_router_config *config, char text[HOST_TEXT_BYTES])
{
    struct nl_sock *socket = nl_socket_alloc();
    struct riptide_route *routes = NULL;
    size_t n = 0;

    *text = '\0';
    nl_connect(socket, NETLINK_ROUTE);
    nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, on_rule, text);
    for (unsigned char family = AF_INET; family; family = family == AF_INET ? AF_INET6 : 0) {
        struct fib_rule_hdr rule = { .family = family };

        nl_send_simple(socket, RTM_GETRULE, NLM_F_DUMP, &rule, sizeof(rule));
        nl_recvmsgs_default(socket);
    }
    nl_socket_free(socket);

    if (riptide_routes_read(config, &routes, &n) < 0)
        strcat(text, "unreadable\n");
    for (size_t i = 0; i < n; i++) {
        char dst[RIPTIDE_PREFIX_TEXT_BYTES], gateway[RIPTIDE_PREFIX_TEXT_BYTES];

        riptide_prefix_format(&routes[i].dst, dst);
        riptide_prefix_format(&routes[i].gateway, gateway);
        sprintf(text + strlen(text), "%s via %s link %u initcwnd %u\n", dst, gateway,
                routes[i].ifindex, routes[i].initcwnd);
    }
    riptide_routes_free(routes);
}

bool host_has(const struct riptide_router_config *config, const char *wanted)
{
    char found[HOST_TEXT_BYTES];

    host_read(config, found);
    return strcmp(found, wanted) == 0;
}

static void change(uint16_t type, const struct rtmsg *route, uint32_t table)
{
    static const uint8_t dst[] = { 203, 0, 113, 0 }, gateway[] = { 10, 0, 0, 2 };
    int flags = type == RTM_NEWROUTE ? NLM_F_CREATE : 0;
    struct nl_sock *socket = nl_socket_alloc();
    struct nl_msg *message = nlmsg_alloc_simple(type, flags);

    nl_connect(socket, NETLINK_ROUTE);
    nlmsg_append(message, (void *)route, sizeof(*route), NLMSG_ALIGNTO);
    nla_put(message, RTA_DST, sizeof(dst), dst);
    nla_put(message, RTA_GATEWAY, sizeof(gateway), gateway);
    nla_put_u32(message, RTA_TABLE, table);
    nl_send_sync(socket, message); /* frees the message */
    nl_socket_free(socket);
}

/* 203.0.113.0/24 via 10.0.0.2. */
static struct rtmsg route_of(uint8_t protocol)
{
    return (struct rtmsg){
        .rtm_family = AF_INET, .rtm_dst_len = 24, .rtm_protocol = protocol, .rtm_type = RTN_UNICAST
    };
}

void host_move_route(bool is_moved)
{
    const struct rtmsg route = route_of(RTPROT_STATIC);

    change(is_moved ? RTM_NEWROUTE : RTM_DELROUTE, &route, RT_TABLE_MAIN);
}

void host_close_connection(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n_bytes = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0);

    bind(listener, (struct sockaddr *)&address, sizeof(address));
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &n_bytes);
    connect(near, (struct sockaddr *)&address, sizeof(address));
    close(near);
    close(listener);
}

void host_leave_route(const struct riptide_router_config *config)
{
    const struct rtmsg route = route_of(config->protocol);

    change(RTM_NEWROUTE, &route, config->table);
}
