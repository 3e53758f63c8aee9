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

/* All rules; or the routes of one table, of that protocol (0: any). */
struct found {
    uint16_t type;
    uint8_t family;
    struct rule_identity identity; /* with any mark */
    struct rules rules;
    struct route *routes;
    uint32_t n_routes, capacity;
    uint32_t n_rules_before, n_routes_before; /* where an interrupted dump begins again */
};

static void found_deinit(struct found *found)
{
    rules_deinit(&found->rules);
    free(found->routes);
}

static struct nlmsghdr *begin(void *userdata, void *room)
{
    struct found *found = userdata;

    found->rules.n = found->n_rules_before;
    found->n_routes = found->n_routes_before;
    return message_dump(room, found->type, found->family,
                        found->type == RTM_GETROUTE ? found->identity.table : 0);
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct found *found = userdata;
    struct route route;

    if (found->type == RTM_GETRULE)
        return rules_add(&found->rules, &found->identity, message) == -ENOMEM ? -ENOMEM : 0;
    if (route_parse(&route, message) < 0 || route.table != found->identity.table ||
        route.is_cached ||
        (found->identity.protocol && route.protocol != found->identity.protocol))
        return 0;
    return array_append(&found->routes, &found->n_routes, &found->capacity, &route, sizeof(route));
}

/*
 * Continues after an error, and returns the first: `found` has all that could be read; -EINTR:
 * changes interrupted it each time. A family that the kernel lacks is empty.
 */
static int find(struct netlink *channel, struct found *found)
{
    int r, first = 0;

    for (int i = 0; i < 2; i++) {
        found->family = families[i];
        found->n_rules_before = found->rules.n;
        found->n_routes_before = found->n_routes;
        r = netlink_dump_all(channel, begin, on_message, found);
        if (first == 0 && r < 0 && !netlink_is_absence(r))
            first = r;
    }
    return first;
}

struct flush {
    struct netlink *channel;
    const struct rules *rules;
    struct riptide_flush_counts counts;
    uint32_t n; /* deletions that did not fail */
    int r;      /* the first failure to delete or read, with its line in `error` */
    struct riptide_error *error;
};

static void note(struct flush *flush, int r, const char *text)
{
    if (r == 0 || flush->r < 0)
        return;
    flush->r = r;
    error_set(flush->error, "%s", text);
}

/* A missing one needs no deletion, and is not counted. */
static void on_deleted(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                       const char *text)
{
    struct flush *flush = userdata;

    (void)n;
    (void)answer;
    flush->n -= error != 0;
    if (error != -ESRCH && !netlink_is_absence(error))
        note(flush, error, text[0] ? text : strerror(-error));
}

static void send_batch(struct flush *flush)
{
    note(flush, netlink_exchange(flush->channel, on_deleted, flush), "");
}

static void add(struct flush *flush, const struct nlmsghdr *request)
{
    netlink_add(flush->channel, request);
    flush->n++;
    if (!netlink_has_room(flush->channel, 1))
        send_batch(flush);
}

/* One without its partner, which a change may have removed, is ours by its numbers. */
static bool is_ours(const struct flush *flush, const struct rule *rule)
{
    return rules_find_partner(flush->rules, rule) || rule->role != RULE_FOREIGN;
}

/* The lookups first: without them nothing refers to a table. */
static void flush_rules(struct flush *flush)
{
    struct rule_identity own;
    struct rule_place place;

    for (enum rule_role shape = RULE_LOOKUP; shape >= RULE_SKIP; shape--) {
        for (uint32_t i = 0; i < flush->rules->n; i++) {
            const struct rule *rule = &flush->rules->list[i];

            if (rule->shape != shape || !is_ours(flush, rule))
                continue;
            if (flush->counts.table == 0) {
                flush->counts.table = rule->table;
                flush->counts.priority = rule->priority;
            }
            own = (struct rule_identity){ .table = rule->table,
                                          .mark = rule->mark,
                                          .protocol = rule->protocol };
            place = (struct rule_place){ rule->priority, rule->target };
            add(flush, message_rule(netlink_room(flush->channel), RTM_DELRULE, rule->family,
                                    &place, shape, &own));
        }
    }
}

static void add_lookup(struct flush *flush, uint8_t family, uint32_t table)
{
    add(flush, message_lookup_delete(netlink_room(flush->channel), family, table));
}

/* One deletion more than needed for each family: a missing privilege is always an error. */
static void flush_lookups(struct flush *flush, uint32_t table)
{
    for (int i = 0; i < 2; i++)
        add_lookup(flush, families[i], table);
    for (uint32_t i = 0; i < flush->rules->n; i++) {
        if (flush->rules->list[i].table == table)
            add_lookup(flush, flush->rules->list[i].family, table);
    }
}

/* Even a dump that changes interrupted each time has returned some routes. */
static void flush_routes(struct flush *flush, uint32_t table, uint8_t protocol)
{
    CLEANUP(found_deinit) struct found found = {
        .type = RTM_GETROUTE, .identity = { .table = table, .protocol = protocol }
    };
    uint32_t n_before;
    int r = -EINTR;

    for (int round = 0; round < MAX_ROUNDS && (r == 0 || r == -EINTR); round++) {
        found.n_routes = 0;
        n_before = flush->n;
        r = find(flush->channel, &found);
        for (uint32_t i = 0; i < found.n_routes; i++)
            add(flush, message_route_delete(netlink_room(flush->channel), &found.routes[i]));
        send_batch(flush);
        if (r == 0 && flush->n == n_before)
            break;
    }
    note(flush, r, "");
}

/* The tables of pairs, whose routes are of the protocol of the pair; main and its like are not. */
static void flush_tables(struct flush *flush)
{
    for (uint32_t i = 0; i < flush->rules->n; i++) {
        const struct rule *rule = &flush->rules->list[i];

        if (rule->shape == RULE_LOOKUP && rules_find_partner(flush->rules, rule) &&
            (rule->table < RT_TABLE_DEFAULT || rule->table > RT_TABLE_LOCAL))
            flush_routes(flush, rule->table, rule->protocol);
    }
}

int flush(struct netlink *channel, const struct rule_identity *identity, enum flush_extent extent,
          struct riptide_flush_counts *counts, struct riptide_error *error)
{
    CLEANUP(found_deinit) struct found found = {
        .type = RTM_GETRULE,
        .identity = { .table = identity->table, .protocol = identity->protocol },
    };
    struct flush flush = { .channel = channel, .rules = &found.rules, .error = error };

    note(&flush, find(channel, &found), "");
    flush_rules(&flush);
    if (extent == FLUSH_ALL)
        flush_lookups(&flush, identity->table);
    send_batch(&flush);
    flush.counts.rules = flush.n;
    flush.n = 0;
    flush_tables(&flush);
    if (extent != FLUSH_RULES)
        flush_routes(&flush, identity->table, extent == FLUSH_ALL ? 0 : identity->protocol);
    flush.counts.routes = flush.n;
    if (counts)
        *counts = flush.counts;
    return flush.r;
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
        r = flush(&channel, &identity, FLUSH_ALL, counts, error);
    return error_fill(error, r);
}

/* Of the type of `found`. */
static int read_all(const struct riptide_applier_config *config, struct found *found)
{
    CLEANUP(netlink_deinit) struct netlink channel = { 0 };
    int r = open_channel(&channel, &found->identity, config, NULL);

    found->identity.mark = 0;
    return r < 0 ? r : find(&channel, found);
}

int riptide_routes_read(const struct riptide_applier_config *config,
                        struct riptide_route **routesp, size_t *n_routesp)
{
    CLEANUP(found_deinit) struct found found = { .type = RTM_GETROUTE };
    struct riptide_route *routes;
    int r = read_all(config, &found);

    if (r < 0)
        return r;
    routes = calloc(found.n_routes + 1, sizeof(*routes));
    if (!routes)
        return -ENOMEM;
    for (uint32_t i = 0; i < found.n_routes; i++) {
        const struct route *route = &found.routes[i];

        routes[i] = (struct riptide_route){
            .dst = route->dst,
            .state = RIPTIDE_ROUTE_APPLIED,
            .initcwnd = route->metrics.initcwnd,
            .initrwnd = route->metrics.initrwnd,
            .gateway = route->gateway,
            .ifindex = route->ifindex,
        };
    }
    qsort(routes, found.n_routes, sizeof(*routes), prefix_compare);
    *routesp = routes;
    *n_routesp = found.n_routes;
    return 0;
}

int riptide_rules_read(const struct riptide_applier_config *config, struct rule **rulesp,
                       size_t *n_rulesp)
{
    CLEANUP(found_deinit) struct found found = { .type = RTM_GETRULE };
    int r = read_all(config, &found);

    if (r < 0)
        return r;
    *n_rulesp = found.rules.n;
    *rulesp = found.rules.list;
    found.rules = (struct rules){ 0 };
    return 0;
}
