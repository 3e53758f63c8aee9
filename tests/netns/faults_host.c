/* SPDX-License-Identifier: MIT */
/*
 * Asks and changes the kernel while nothing fails; see faults_host.h.
 */
#include "faults_host.h"

#include "tools.h"

#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for a request, and for what answers it. */
union room {
    struct nlmsghdr header;
    char bytes[32 * 1024];
};

static struct nlmsghdr *begin(union room *room, uint16_t type, int flags, const void *header,
                              size_t n)
{
    struct nlmsghdr *request = mnl_nlmsg_put_header(room);

    request->nlmsg_type = type;
    request->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    memcpy(mnl_nlmsg_put_extra_header(request, n), header, n);
    return request;
}

static void ask(union room *room, mnl_cb_t on_answer, void *userdata)
{
    struct mnl_socket *socket = mnl_socket_open(NETLINK_ROUTE);
    ssize_t n;

    mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID);
    mnl_socket_sendto(socket, room, room->header.nlmsg_len);
    do
        n = mnl_socket_recvfrom(socket, room, sizeof(*room));
    while (n > 0 && mnl_cb_run(room, (size_t)n, 0, 0, on_answer, userdata) == MNL_CB_OK);
    mnl_socket_close(socket);
}

static int on_attribute(const struct nlattr *attribute, void *protocol)
{
    if (mnl_attr_get_type(attribute) == FRA_PROTOCOL)
        *(uint8_t *)protocol = mnl_attr_get_u8(attribute);
    return MNL_CB_OK;
}

static int on_rule(const struct nlmsghdr *message, void *text)
{
    const struct fib_rule_hdr *rule = mnl_nlmsg_get_payload(message);
    uint8_t protocol = 0;

    mnl_attr_parse(message, sizeof(*rule), on_attribute, &protocol);
    if (protocol == 230)
        sprintf((char *)text + strlen(text), "rule of family %u, action %u\n", rule->family,
                rule->action);
    return MNL_CB_OK;
}

/* Our rules and routes, as the kernel has them. */
void host_read(const struct riptide_router_config *config, char text[HOST_TEXT_BYTES])
{
    struct riptide_route *routes = NULL;
    union room room;
    size_t n = 0;

    *text = '\0';
    for (unsigned char family = AF_INET; family; family = family == AF_INET ? AF_INET6 : 0) {
        struct fib_rule_hdr rule = { .family = family };

        begin(&room, RTM_GETRULE, NLM_F_DUMP, &rule, sizeof(rule));
        ask(&room, on_rule, text);
    }

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
    union room room;
    struct nlmsghdr *request = begin(&room, type, flags | NLM_F_ACK, route, sizeof(*route));

    mnl_attr_put(request, RTA_DST, sizeof(dst), dst);
    mnl_attr_put(request, RTA_GATEWAY, sizeof(gateway), gateway);
    mnl_attr_put_u32(request, RTA_TABLE, table);
    ask(&room, NULL, NULL);
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
