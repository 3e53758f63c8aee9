/* SPDX-License-Identifier: MIT */
/*
 * What a query for one destination does not show: flags of the host's routes, and its links, in
 * bounded memory. A scan reads them, notifications add to them; what has ended only the next scan
 * finds. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTING_H
#define RIPTIDE_LIB_APPLY_ROUTING_H

#include "apply/routes/message.h"

struct link {
    uint32_t ifindex;
    uint32_t mtu_bytes[2]; /* for each of families[]; 0: none, or more than a route can have */
    uint32_t flags;        /* IFF_UP, IFF_RUNNING, IFF_LOWER_UP */
    uint32_t master;       /* ifindex of the bridge or bond that it belongs to; 0: none */
};

struct routing {
    struct link *links;
    uint32_t n_links;
    enum riptide_reason reason[2]; /* of families[]: why no destination can have a window */
    bool has_foreign[2];           /* our table has a route of another protocol to a host */
    bool depends_on_carrier;       /* routes by a link without carrier may be ignored */
    /*
     * IPv6: while a gateway does not answer, a host that does not forward uses other routes, and
     * nothing announces it (rt6_check_neigh in net/ipv6/route.c). So there must be no second
     * gateway, and no route without one to a shorter or the same prefix.
     */
    bool may_fail_over;            /* there is such a gateway, or such a route */
    bool is_forwarding;            /* the host forwards IPv6 */
    struct riptide_prefix gateway; /* the first one; family 0: none */
    uint32_t gateway_ifindex;      /* of the link to it */
    uint8_t longest_behind;        /* the longest prefix of routes with a gateway */
    uint8_t shortest_direct;       /* the shortest prefix of routes without one */
    struct route previous;         /* of main in the dump, to detect several routes of one metric */
    /*
     * Until a namespace gets its first IPv4 rule, local and main are one trie, in which the longest
     * prefix wins. The rule splits them for good (fib_unmerge in net/ipv4/fib_frontend.c); then a
     * prefix of type local (AnyIP) wins over main's routes inside it.
     */
    struct riptide_prefix *anyip;
    uint32_t n_anyip;
    struct riptide_prefix inside; /* a route of main inside one of them; family 0: none */
};

void routing_deinit(struct routing *routing);

/* Forgets what is known of routes, before a scan of them. */
void routing_begin_routes(struct routing *routing);

/* Adds a route of local, before those of main. Errors: -ENOMEM. */
int routing_add_local(struct routing *routing, const struct route *route);

/* Adds a route of main, in the order of the dump. */
void routing_add(struct routing *routing, const struct route *route);

/* Likewise a new one that was announced, with the flags of the message. */
void routing_follow(struct routing *routing, const struct route *route, uint16_t flags);

/*
 * Whether the host forwards IPv6, and ignores routes without carrier, if the message says so.
 * Returns the link that it is about, or NETCONFA_IFINDEX_...; 0: it is malformed.
 */
int routing_take_netconf(struct routing *routing, const struct nlmsghdr *message);

/* Why no destination of families[i] can have a window; RIPTIDE_REASON_NONE: it can. */
enum riptide_reason routing_reason(const struct routing *routing, int i);

/*
 * Processes a message about an added, changed or removed link. Returns 1 if routes by it may have
 * come or gone with the change, or have another MTU. Errors: -EBADMSG, -ENOMEM.
 */
int routing_take_link(struct routing *routing, const struct nlmsghdr *message);

/*
 * Without an mtu the base route gets that of its link, if known. That would apply anyway, but must
 * be explicit for open connections when our route is deleted, and with it its device.
 */
void routing_take_mtu(const struct routing *routing, struct route *base);

#endif
