/* SPDX-License-Identifier: MIT */
/* The rules go first, so that the table is no longer looked up, then the routes. */
#include "flush.h"

#include "apply/config.h"
#include "internal.h"
#include "message.h"
#include "plan.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>

/* Rounds of reading and deleting: concurrent changes hide routes from a dump, or add some. */
enum { MAX_ROUNDS = 4 };

void found_deinit(struct found *found)
{
    rules_deinit(&found->rules);
    free(found->routes);
}

static struct nlmsghdr *begin(void *userdata, void *room)
{
    struct found *found = userdata;
    struct rules *rules = &found->rules;

    /* What an interrupted dump has shown of this family. */
    while (rules->n > 0 && rules->list[rules->n - 1].family == found->family)
        rules->n--;
    while (found->n_routes > 0 && found->routes[found->n_routes - 1].dst.family == found->family)
        found->n_routes--;
    return message_dump(room, found->type, found->family,
                        found->type == RTM_GETROUTE ? found->identity.table : 0);
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct found *found = userdata;
    const struct rule_identity *identity = &found->identity;
    struct route route;

    if (found->type == RTM_GETRULE)
        return rules_add(&found->rules, identity, message) == -ENOMEM ? -ENOMEM : 0;
    if (route_parse(&route, message) < 0 || route.table != identity->table || route.is_cached ||
        (identity->protocol && route.protocol != identity->protocol))
        return 0;
    return array_append(&found->routes, &found->n_routes, &found->capacity, &route, sizeof(route));
}

int found_read(struct found *found, struct netlink *channel)
{
    int r, first = 0;

    for (int i = 0; i < 2; i++) {
        found->family = families[i];
        r = netlink_dump_all(channel, begin, on_message, found);
        if (first == 0 && r < 0 && !netlink_is_absence(r))
            first = r;
    }
    return first;
}

static void note(struct flush *flush, int r, const char *text)
{
    if (r == 0 || flush->r < 0)
        return;
    flush->r = r;
    error_set(flush->error, "%s", text);
}

/* Returns whether it was there: a missing one needs no deletion. */
static bool delete(struct flush *flush, uint32_t *counter, const struct nlmsghdr *request)
{
    struct riptide_error text = { .text = "" };
    int r = netlink_request(flush->channel, request, &text);

    if (r < 0 && r != -ESRCH && !netlink_is_absence(r))
        note(flush, r, text.text);
    *counter += r == 0;
    return r == 0;
}

/* Even a dump that changes interrupted each time has returned some routes. */
int flush_routes(struct flush *flush, uint32_t table, uint8_t protocol)
{
    CLEANUP(found_deinit) struct found found = {
        .type = RTM_GETROUTE, .identity = { .table = table, .protocol = protocol }
    };
    bool is_done = false;
    int r = 0;

    for (int round = 0; round < MAX_ROUNDS && !is_done && (r == 0 || r == -EINTR); round++) {
        found.n_routes = 0;
        r = found_read(&found, flush->channel);
        is_done = r == 0;
        for (uint32_t i = 0; i < found.n_routes; i++)
            is_done &= !delete(flush, &flush->counts.routes,
                               message_route_delete(netlink_room(flush->channel),
                                                    &found.routes[i]));
    }
    note(flush, r, "");
    return flush->r;
}

static void delete_rule(struct flush *flush, const struct rule *rule)
{
    const struct rule_identity identity = { rule->table, rule->mark, rule->protocol };
    const struct rule_place place = { rule->priority, rule->target };

    if (flush->counts.table == 0) {
        flush->counts.table = rule->table;
        flush->counts.priority = rule->priority;
    }
    delete(flush, &flush->counts.rules,
           message_rule(netlink_room(flush->channel), RTM_DELRULE, rule->family, &place,
                        rule->shape, &identity));
}

int flush_rules(struct flush *flush)
{
    CLEANUP(found_deinit) struct found found = { .type = RTM_GETRULE, .identity = flush->identity };
    const struct rules *rules = &found.rules;

    found.identity.mark = 0;
    note(flush, found_read(&found, flush->channel), "");
    /* The lookups first: without them nothing refers to a table. */
    for (enum rule_role shape = RULE_LOOKUP; shape >= RULE_SKIP; shape--) {
        for (uint32_t i = 0; i < rules->n; i++) {
            const struct rule *rule = &rules->list[i];

            if (rule->shape == shape &&
                (rule->role != RULE_FOREIGN || rules_find_partner(rules, rule)))
                delete_rule(flush, rule);
        }
    }
    /* Tables of the kernel's own are nobody's. */
    for (uint32_t i = 0; i < rules->n; i++) {
        const struct rule *rule = &rules->list[i];

        if (rule->shape == RULE_LOOKUP && rules_find_partner(rules, rule) &&
            (rule->table < RT_TABLE_DEFAULT || rule->table > RT_TABLE_LOCAL))
            flush_routes(flush, rule->table, rule->protocol);
    }
    return flush->r;
}

RIPTIDE_PUBLIC int riptide_applier_flush(const struct riptide_applier_config *config,
                                         struct riptide_flush_counts *counts,
                                         struct riptide_error *error)
{
    CLEANUP(netlink_deinit) struct netlink channel = { 0 };
    struct riptide_applier_config checked;
    struct flush flush = { .channel = &channel, .error = error };
    int r;

    error_set(error, "%s", "");
    r = applier_config_take(&checked, config, error);
    if (r == 0)
        r = netlink_init(&channel);
    if (r < 0)
        return error_fill(error, r);
    flush.identity = router_config_identity(&checked);
    flush_rules(&flush);
    /* Rules of any program; without privilege one deletion fails even where there is none. */
    for (int i = 0; i < 2; i++) {
        while (delete(&flush, &flush.counts.rules,
                      message_lookup_delete(netlink_room(&channel), families[i], checked.table)))
            ;
    }
    r = flush_routes(&flush, checked.table, 0);
    if (counts)
        *counts = flush.counts;
    return error_fill(error, r);
}
