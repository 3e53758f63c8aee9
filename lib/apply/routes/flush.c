/* SPDX-License-Identifier: MIT */
/*
 * Reads our rules and routes, for tools, and deletes them: the rules first, so that the table is no
 * longer looked up, then the routes.
 */
#include "router.h"

#include "internal.h"
#include "message.h"
#include "prefix.h"
#include "apply/config.h"
#include "tools.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

/* Rounds of reading and deleting: concurrent changes hide routes from a dump, or add some. */
enum { MAX_ROUNDS = 4 };

struct routes {
    struct route *list;
    uint32_t n, capacity;
};

/* Dumps of one kind into a list, one family after the other. */
struct reading {
    struct rule_identity identity;
    uint16_t type;
    uint8_t family;
    struct rules *rules;
    struct routes *routes;
    uint32_t *n;       /* length of the list, */
    uint32_t n_before; /* where an interrupted dump begins again */
};

static struct nlmsghdr *begin(void *userdata, void *room)
{
    const struct reading *reading = userdata;

    *reading->n = reading->n_before;
    return message_dump(room, reading->type, reading->family,
                        reading->type == RTM_GETROUTE ? reading->identity.table : 0);
}

/*
 * Continues after an error, and returns the first: the list has all that could be read; -EINTR:
 * changes interrupted it each time. A family that the kernel lacks is empty.
 */
static int read_families(struct netlink *channel, struct reading *reading,
                         netlink_message_fn *on_message)
{
    int r, first = 0;

    for (int i = 0; i < 2; i++) {
        reading->family = families[i];
        reading->n_before = *reading->n;
        r = netlink_dump_all(channel, begin, on_message, reading);
        if (first == 0 && r < 0 && !netlink_is_absence(r))
            first = r;
    }
    return first;
}

static int on_rule(void *userdata, const struct nlmsghdr *message)
{
    const struct reading *reading = userdata;
    int r = rules_add(reading->rules, &reading->identity, message);

    return r == -ENOMEM ? r : 0;
}

static int read_rules(struct netlink *channel, const struct rule_identity *identity,
                      struct rules *rules)
{
    struct reading reading = {
        .identity = *identity, .type = RTM_GETRULE, .rules = rules, .n = &rules->n
    };

    return read_families(channel, &reading, on_rule);
}

static int on_route(void *userdata, const struct nlmsghdr *message)
{
    const struct reading *reading = userdata;
    struct routes *routes = reading->routes;
    struct route route;

    if (route_parse(&route, message) < 0 || route.table != reading->identity.table ||
        route.is_cached ||
        (reading->identity.protocol && route.protocol != reading->identity.protocol))
        return 0;
    return array_append(&routes->list, &routes->n, &routes->capacity, &route, sizeof(route));
}

/* The routes of that protocol (0: any) in the table. */
static int read_routes(struct netlink *channel, uint32_t table, uint8_t protocol,
                       struct routes *routes)
{
    struct reading reading = { .identity = { .table = table, .protocol = protocol },
                               .type = RTM_GETROUTE,
                               .routes = routes,
                               .n = &routes->n };

    return read_families(channel, &reading, on_route);
}

/* A deletion: how many were deleted, and the first failure to delete or read. */
struct deletion {
    struct netlink *channel;
    uint32_t n;
    int r;
    struct riptide_error *error;
};

static void note(struct deletion *deletion, int r, const char *text)
{
    if (r == 0 || deletion->r < 0)
        return;
    deletion->r = r;
    error_set(deletion->error, "%s", text);
}

/* A missing one needs no deletion, and is not counted. */
static void on_deleted(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                       const char *text)
{
    struct deletion *deletion = userdata;

    (void)n;
    (void)answer;
    deletion->n -= error != 0;
    if (error != -ESRCH && !netlink_is_absence(error))
        note(deletion, error, text[0] ? text : strerror(-error));
}

static void end_batch(struct deletion *deletion)
{
    note(deletion, netlink_exchange(deletion->channel, on_deleted, deletion), "");
}

static void add(struct deletion *deletion, const struct nlmsghdr *request)
{
    netlink_add(deletion->channel, request);
    deletion->n++;
    if (!netlink_has_room(deletion->channel, 1))
        end_batch(deletion);
}

static void delete_lookup(struct deletion *deletion, uint8_t family, uint32_t table)
{
    add(deletion, message_lookup_delete(netlink_room(deletion->channel), family, table));
}

/* One without its partner, which a change may have removed, is ours by its numbers. */
static bool is_ours(const struct rules *rules, const struct rule *rule)
{
    return rules_find_partner(rules, rule) || rule->role != RULE_FOREIGN;
}

/* The lookups first: without them nothing refers to a table. */
static void flush_ours(struct deletion *deletion, const struct rules *rules)
{
    for (enum rule_role shape = RULE_LOOKUP; shape >= RULE_SKIP; shape--) {
        for (uint32_t i = 0; i < rules->n; i++) {
            const struct rule *rule = &rules->list[i];
            const struct rule_place place = { rule->priority, rule->target };
            const struct rule_identity own = { rule->table, rule->protocol, rule->mark };

            if (rule->shape == shape && is_ours(rules, rule))
                add(deletion, message_rule(netlink_room(deletion->channel), RTM_DELRULE,
                                           rule->family, &place, shape, &own));
        }
    }
}

/*
 * Other programs' rules that look up the table. One deletion more than needed is sent for each
 * family that this kernel has, so that a missing privilege is an error even if there is no rule.
 */
static void flush_others(struct deletion *deletion, const struct rules *rules, uint32_t table)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        const struct rule *rule = &rules->list[i];

        if (i == 0 || rule->family != rule[-1].family)
            delete_lookup(deletion, rule->family, table);
        if (rule->table == table && !is_ours(rules, rule))
            delete_lookup(deletion, rule->family, table);
    }
}

/* Even a dump that changes interrupted each time has returned some routes. */
static void flush_routes(struct deletion *deletion, uint32_t table, uint8_t protocol)
{
    struct routes routes = { 0 };
    uint32_t n_before;
    int r = -EINTR;

    for (int round = 0; round < MAX_ROUNDS && (r == 0 || r == -EINTR); round++) {
        routes.n = 0;
        n_before = deletion->n;
        r = read_routes(deletion->channel, table, protocol, &routes);
        for (uint32_t i = 0; i < routes.n; i++)
            add(deletion, message_route_delete(netlink_room(deletion->channel), &routes.list[i]));
        end_batch(deletion);
        if (r == 0 && deletion->n == n_before)
            break;
    }
    note(deletion, r, "");
    free(routes.list);
}

static bool is_reserved(uint32_t table)
{
    return table >= RT_TABLE_DEFAULT && table <= RT_TABLE_LOCAL;
}

/* The tables of pairs, whose routes are of the protocol of the pair; main and its like are not. */
static void flush_pairs(struct deletion *deletion, const struct rules *rules)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        const struct rule *rule = &rules->list[i];

        if (rule->shape == RULE_LOOKUP && !is_reserved(rule->table) &&
            rules_find_partner(rules, rule))
            flush_routes(deletion, rule->table, rule->protocol);
    }
}

static void count(struct riptide_flush_counts *counts, const struct rules *rules, uint32_t n_rules,
                  uint32_t n_routes)
{
    *counts = (struct riptide_flush_counts){ .rules = n_rules, .routes = n_routes };
    for (uint32_t i = rules->n; i-- > 0;) {
        const struct rule *rule = &rules->list[i];

        if (rule->shape == RULE_LOOKUP && is_ours(rules, rule)) {
            counts->table = rule->table;
            counts->priority = rule->priority;
        }
    }
}

/* `protocol`: of routes in our own table, in addition to those of pairs; -1: none, 0: any. */
static int flush(struct netlink *channel, const struct rule_identity *identity, int protocol,
                 struct riptide_flush_counts *counts, struct riptide_error *error)
{
    const struct rule_identity any_mark = { identity->table, identity->protocol, 0 };
    struct deletion rules = { .channel = channel, .error = error };
    struct deletion routes = rules;
    CLEANUP(rules_deinit) struct rules found = { 0 };

    note(&rules, read_rules(channel, &any_mark, &found), "");
    flush_ours(&rules, &found);
    if (protocol >= 0)
        flush_others(&rules, &found, identity->table);
    end_batch(&rules);
    routes.r = rules.r;
    flush_pairs(&routes, &found);
    if (protocol >= 0)
        flush_routes(&routes, identity->table, (uint8_t)protocol);
    if (counts)
        count(counts, &found, rules.n, routes.n);
    return routes.r;
}

int flush_leftovers(struct netlink *channel, const struct rule_identity *identity,
                    struct riptide_flush_counts *counts, struct riptide_error *error)
{
    return flush(channel, identity, -1, counts, error);
}

int flush_all(struct netlink *channel, const struct rule_identity *identity, uint8_t protocol,
              struct riptide_flush_counts *counts, struct riptide_error *error)
{
    return flush(channel, identity, protocol, counts, error);
}

/* A channel in the thread's namespace, and the identity of a configuration's rules and routes. */
static int open_channel(struct netlink *channel, struct rule_identity *identity,
                        const struct riptide_applier_config *config, struct riptide_error *error)
{
    struct riptide_applier_config checked;
    int r = applier_config_take(&checked, config, error);

    if (r == 0)
        r = netlink_init(channel);
    if (r == 0)
        *identity = router_config_identity(&checked);
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_flush(const struct riptide_applier_config *config,
                                         struct riptide_flush_counts *counts,
                                         struct riptide_error *error)
{
    CLEANUP(netlink_deinit) struct netlink channel = { 0 };
    struct rule_identity identity;
    int r;

    error_set(error, "%s", "");
    r = open_channel(&channel, &identity, config, error);
    if (r == 0)
        r = flush_all(&channel, &identity, 0, counts, error);
    return error_fill(error, r);
}

int riptide_routes_read(const struct riptide_applier_config *config,
                        struct riptide_route **routesp, size_t *n_routesp)
{
    CLEANUP(netlink_deinit) struct netlink channel = { 0 };
    struct riptide_route *routes = NULL;
    struct rule_identity identity;
    struct routes found = { 0 };
    int r = open_channel(&channel, &identity, config, NULL);

    if (r == 0)
        r = read_routes(&channel, identity.table, identity.protocol, &found);
    if (r == 0) {
        routes = calloc(found.n + 1, sizeof(*routes));
        r = routes ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < found.n; i++) {
        const struct route *route = &found.list[i];

        routes[i] = (struct riptide_route){
            .dst = route->dst,
            .state = RIPTIDE_ROUTE_APPLIED,
            .initcwnd = route->metrics.initcwnd,
            .initrwnd = route->metrics.initrwnd,
            .gateway = route->gateway,
            .ifindex = route->ifindex,
        };
    }
    free(found.list);
    if (r != 0)
        return r;
    qsort(routes, found.n, sizeof(*routes), prefix_compare);
    *routesp = routes;
    *n_routesp = found.n;
    return 0;
}

int riptide_rules_read(const struct riptide_applier_config *config, struct rule **rulesp,
                       size_t *n_rulesp)
{
    CLEANUP(netlink_deinit) struct netlink channel = { 0 };
    struct rule_identity identity;
    struct rules found = { 0 };
    int r = open_channel(&channel, &identity, config, NULL);

    identity.mark = 0;
    if (r == 0)
        r = read_rules(&channel, &identity, &found);
    if (r < 0) {
        rules_deinit(&found);
        return r;
    }
    *rulesp = found.list;
    *n_rulesp = found.n;
    return 0;
}
