/* SPDX-License-Identifier: MIT */
/*
 * The way out: the rules first, so that nothing is looked up any more, then the routes.
 */
#include "flush.h"

#include "config.h"
#include "internal.h"
#include "message.h"
#include "netns.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rounds of reading and deleting, in case somebody else writes into our table meanwhile. */
enum { MAX_ROUNDS = 4 };

/* One dump into a list. */
struct reading {
    struct rule_identity identity;
    struct rules *rules;
    struct routes *routes;
    uint32_t n_before; /* an interrupted dump forgets only its own */
    uint8_t family;
};

static struct nlmsghdr *begin_rules(void *userdata, void *room)
{
    struct reading *reading = userdata;

    reading->rules->n = reading->n_before;
    return message_dump(room, RTM_GETRULE, reading->family, 0);
}

static int on_rule(void *userdata, const struct nlmsghdr *message)
{
    struct reading *reading = userdata;
    int r = rules_add(reading->rules, &reading->identity, message);

    return r == -ENOMEM ? r : 0;
}

int flush_read_rules(struct netlink *channel, uint8_t family, const struct rule_identity *identity,
                     struct rules *rules)
{
    struct reading reading = {
        .identity = *identity, .rules = rules, .n_before = rules->n, .family = family
    };
    int r = netlink_dump_all(channel, begin_rules, on_rule, &reading);

    return netlink_is_absence(r) ? 0 : r;
}

static struct nlmsghdr *begin_routes(void *userdata, void *room)
{
    struct reading *reading = userdata;

    reading->routes->n = reading->n_before;
    return message_dump(room, RTM_GETROUTE, reading->family, reading->identity.table);
}

static int on_route(void *userdata, const struct nlmsghdr *message)
{
    const struct reading *reading = userdata;
    struct routes *routes = reading->routes;
    struct route route, *list;

    if (route_parse(&route, message) < 0 || route.table != reading->identity.table ||
        route.is_cached ||
        (reading->identity.protocol && route.protocol != reading->identity.protocol))
        return 0;
    list = array_reserve(routes->list, routes->n, &routes->capacity, sizeof(*list));
    if (!list)
        return -ENOMEM;
    routes->list = list;
    routes->list[routes->n++] = route;
    return 0;
}

int flush_read_routes(struct netlink *channel, uint8_t family, uint32_t table, uint8_t protocol,
                      struct routes *routes)
{
    struct reading reading = { .identity = { .table = table, .protocol = protocol },
                               .routes = routes,
                               .n_before = routes->n,
                               .family = family };
    int r = netlink_dump_all(channel, begin_routes, on_route, &reading);

    return netlink_is_absence(r) ? 0 : r;
}

/* Deletes under way: how many went, and the first that did not. */
struct deletion {
    struct netlink *channel;
    uint32_t n;
    int r;
    struct riptide_error *error;
};

/* What is gone already needs no deleting, and is not counted. */
static void on_deleted(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                       const char *text)
{
    struct deletion *deletion = userdata;

    (void)n;
    (void)answer;
    deletion->n -= error != 0;
    if (error == 0 || error == -ESRCH || netlink_is_absence(error) || deletion->r < 0)
        return;
    deletion->r = error;
    error_set(deletion->error, "%s", text[0] ? text : strerror(-error));
}

static void end_batch(struct deletion *deletion)
{
    int r = netlink_exchange(deletion->channel, on_deleted, deletion);

    if (deletion->r == 0)
        deletion->r = r;
}

static void add(struct deletion *deletion, const struct nlmsghdr *request)
{
    netlink_add(deletion->channel, request);
    deletion->n++;
    if (!netlink_has_room(deletion->channel, 1))
        end_batch(deletion);
}

static bool has_lookup_at(const struct rules *rules, uint32_t priority, uint32_t table)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].priority == priority && rules->list[i].table == table)
            return true;
    }
    return false;
}

/* The rules that look up the table, and then those that lead around it: a goto names no table. */
static void delete_rules(struct deletion *deletion, uint8_t family,
                         const struct rule_identity *identity, const struct rules *rules)
{
    struct netlink *channel = deletion->channel;

    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].table == identity->table)
            add(deletion, message_lookup_delete(netlink_room(channel), family, identity->table));
    }
    /* Once too often: a missing privilege is an error even if nothing is there. */
    add(deletion, message_lookup_delete(netlink_room(channel), family, identity->table));
    for (uint32_t i = 0; i < rules->n; i++) {
        const struct rule *rule = &rules->list[i];
        const struct rule_place place = { rule->priority, rule->target };
        const struct rule_identity own = { .protocol = rule->protocol, .mark = rule->fwmark };

        if (rule->role == RULE_SKIP &&
            (rule->protocol == identity->protocol ||
             has_lookup_at(rules, rule->priority, identity->table)))
            add(deletion, message_rule(netlink_room(channel), RTM_DELRULE, family, &place,
                                       RULE_SKIP, &own));
    }
    end_batch(deletion);
}

int flush_rules(struct netlink *channel, uint8_t family, const struct rule_identity *identity,
                uint32_t *n, struct riptide_error *error)
{
    const struct rule_identity any = { .table = identity->table };
    struct deletion deletion = { .channel = channel, .error = error };
    struct rules rules = { 0 };
    int r = flush_read_rules(channel, family, &any, &rules);

    /* No rules at all: this kernel does not have the family. */
    if (r == 0 && rules.n > 0)
        delete_rules(&deletion, family, identity, &rules);
    rules_deinit(&rules);
    *n += deletion.n;
    return r < 0 ? r : deletion.r;
}

static int flush_routes(struct netlink *channel, uint8_t family, uint32_t table, uint8_t protocol,
                        uint32_t *n, struct riptide_error *error)
{
    struct deletion deletion = { .channel = channel, .error = error };
    struct routes routes = { 0 };
    int r = 0;

    for (int round = 0; r == 0 && deletion.r == 0 && round < MAX_ROUNDS; round++) {
        routes.n = 0;
        r = flush_read_routes(channel, family, table, protocol, &routes);
        if (routes.n == 0)
            break;
        for (uint32_t i = 0; i < routes.n; i++)
            add(&deletion, message_route_delete(netlink_room(channel), &routes.list[i]));
        end_batch(&deletion);
    }
    free(routes.list);
    *n += deletion.n;
    return r < 0 ? r : deletion.r;
}

int flush_all(struct netlink *channel, const struct rule_identity *identity, uint8_t protocol,
              struct riptide_flush_counts *counts, struct riptide_error *error)
{
    struct riptide_flush_counts own = { 0 };
    int r, first = 0;

    for (size_t i = 0; i < 4; i++) {
        struct riptide_error words = { .text = "" };

        r = i < 2 ? flush_rules(channel, families[i], identity, &own.rules, &words)
                  : flush_routes(channel, families[i - 2], identity->table, protocol, &own.routes,
                                 &words);
        if (first == 0 && r < 0) {
            first = r;
            error_set(error, "%s", words.text);
        }
    }
    if (counts)
        *counts = own;
    return first;
}

struct flushing {
    struct rule_identity identity;
    struct riptide_flush_counts *counts;
};

static int flush_here(void *userdata, struct riptide_error *error)
{
    const struct flushing *flushing = userdata;
    struct netlink channel;
    int r = netlink_init(&channel);

    if (r == 0)
        r = flush_all(&channel, &flushing->identity, 0, flushing->counts, error);
    netlink_deinit(&channel);
    return r;
}

RIPTIDE_PUBLIC int riptide_router_flush(const struct riptide_router_config *config,
                                        struct riptide_flush_counts *counts,
                                        struct riptide_error *error)
{
    struct riptide_router_config checked;
    struct flushing flushing = { .counts = counts };
    int r;

    error_set(error, "%s", "");
    r = router_config_take(&checked, config, error);
    if (r < 0)
        return error_fill(error, r);
    flushing.identity = router_config_identity(&checked);
    return error_fill(error, netns_call(checked.netns_fd, flush_here, &flushing, error));
}
