/* SPDX-License-Identifier: MIT */
/*
 * What a query for one destination does not show: the host's rules, and the place of ours among
 * them; flags of its routes, and its links, in bounded memory. A scan reads them, notifications add
 * to flags and links; what has ended only the next scan finds. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTING_H
#define RIPTIDE_LIB_APPLY_ROUTING_H

#include "route.h"

/*
 * Ours is one for each family, directly before `lookup main`, for TCP of this host alone:
 *
 *     iif lo ipproto tcp lookup TABLE suppress_prefixlength 31    (IPv6: 127)
 *
 * A query of another protocol passes it by: the kernel answers it as if we were not there.
 * Of our table only routes to single addresses count. No other program has a use for such a rule:
 * it is known as ours whatever its table and priority are.
 */
struct rule {
    uint8_t family;        /* AF_INET or AF_INET6 */
    bool is_unconditional; /* it matches every packet, and takes any route that it finds */
    bool is_ours;          /* by its shape */
    uint32_t priority;
    uint32_t table;  /* 0: no lookup (goto, blackhole, ...) */
    uint32_t target; /* priority to which a goto leads; 0: no goto */
};

/* The rules of one family, in the kernel's order. */
struct rules {
    struct rule *list;
    uint32_t n, capacity;
    uint32_t n_ours;
    bool has_conditional; /* of another program, so that TCP may not use our table */
};

/* Errors: -EBADMSG, a malformed message. */
int rule_parse(struct rule *rule, const struct nlmsghdr *message);

/* RTM_NEWRULE, RTM_DELRULE, as the requests of route.h: ours with that family, priority, table. */
struct nlmsghdr *message_rule(void *room, uint16_t type, const struct rule *rule);

/* Adds the rule of a message. Errors: -EBADMSG, -ENOMEM. */
int rules_add(struct rules *rules, const struct nlmsghdr *message);

void rules_deinit(struct rules *rules);

/*
 * The priority that puts a new rule directly before the unconditional `lookup main`, whatever ours
 * are. Returns NULL, or the reason (static) why there is none.
 */
const char *rules_place(const struct rules *rules, uint32_t *priority);

/* The first one that leads to that table, of ours or of another program; NULL: none. */
const struct rule *rules_find(const struct rules *rules, uint32_t table, bool is_ours);

/* Whether ours exists once, with that table, directly before the unconditional `lookup main`. */
bool rules_has_ours_in_place(const struct rules *rules, uint32_t table);

struct link {
    uint32_t ifindex;
    uint32_t mtu_bytes[2]; /* for each of families[]; 0: none, or more than a route can have */
    uint32_t flags;        /* IFF_UP, IFF_RUNNING, IFF_LOWER_UP, */
    uint32_t master;       /* and 0 or its master */
    bool is_used;          /* a base route left by it: its changes concern us */
};

struct routing {
    struct link *links;
    uint32_t n_links, links_capacity;
    /* For each of families[]: why no destination can have a window (static); NULL: it can. */
    const char *reason[2];
    bool has_foreign[2];     /* our table has a route of another protocol to a host */
    bool depends_on_carrier; /* routes by a link without carrier may be ignored */
    /*
     * IPv6: while a gateway does not answer, a host that does not forward uses other routes, and
     * nothing announces it (rt6_check_neigh in net/ipv6/route.c). So there must be no second
     * gateway, and no route without one to a shorter or the same prefix.
     */
    bool may_fail_over, is_forwarding;
    struct riptide_prefix gateway; /* the first one; family 0: none */
    uint32_t gateway_ifindex;
    uint8_t longest_behind, shortest_direct; /* prefix lengths of routes with a gateway, without */
    struct route previous; /* of main in the dump, to detect several routes of one metric */
    /*
     * Until a namespace gets its first IPv4 rule, local and main are one trie, in which the longest
     * prefix wins. The rule splits them for good (fib_unmerge in net/ipv4/fib_frontend.c); then a
     * prefix of type local (AnyIP) wins over main's routes inside it.
     */
    struct riptide_prefix *anyip;
    uint32_t n_anyip, anyip_capacity;
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

/* Why no destination of families[i] can have a window (static); NULL: it can. */
const char *routing_reason(const struct routing *routing, int i);

/*
 * Processes a message about an added, changed or removed link. Returns 1 if routes of ours may have
 * come or gone with the change, or have another MTU. Errors: -EBADMSG, -ENOMEM.
 */
int routing_take_link(struct routing *routing, const struct nlmsghdr *message);

/*
 * The base route leaves by its link, whose changes concern us from now on. Without an mtu it gets
 * that of the link, if known. That would apply anyway, but must be explicit for open connections
 * when our route is deleted, and with it its device (docs/design.md). Errors: -ENOMEM.
 */
int routing_use_link(struct routing *routing, struct route *base);

#endif
