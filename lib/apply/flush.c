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
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounds of dumping and deleting, in case somebody else writes into our table meanwhile. */
enum { MAX_ROUNDS = 4 };

/* Rules of ours in one family, by whichever router they were made. */
struct search {
    const struct rule_identity *identity;
    uint8_t family;
    uint32_t priorities[16]; /* of rules that look up our table */
    uint32_t n_priorities;
    struct netlink_room room;
    struct nlmsghdr *delete; /* in the room: of the first way around that was found */
};

static struct nlmsghdr *begin_rules(void *userdata, void *room)
{
    struct search *search = userdata;

    search->delete = NULL;
    return message_rules_dump(room, search->family);
}

static bool is_priority_of_ours(const struct search *search, uint32_t priority)
{
    for (uint32_t i = 0; i < search->n_priorities; i++) {
        if (search->priorities[i] == priority)
            return true;
    }
    return false;
}

static int on_lookup(void *userdata, const struct nlmsghdr *message)
{
    const struct rule_identity any = { 0 };
    struct search *search = userdata;
    struct rule rule;

    if (rule_parse(&rule, &any, message) == 0 && rule.table == search->identity->table &&
        search->n_priorities < sizeof(search->priorities) / sizeof(search->priorities[0]))
        search->priorities[search->n_priorities++] = rule.priority;
    return 0;
}

static int on_skip(void *userdata, const struct nlmsghdr *message)
{
    const struct rule_identity any = { 0 };
    struct search *search = userdata;
    struct rule rule;

    if (search->delete || rule_parse(&rule, &any, message) < 0 || rule.role != RULE_SKIP ||
        (rule.protocol != search->identity->protocol &&
         !is_priority_of_ours(search, rule.priority)))
        return 0;
    search->delete = message_rule_delete_dumped(&search->room, message);
    return search->delete ? 0 : -EMSGSIZE;
}

/* A goto names no table, so it is deleted by all that the kernel tells of it. */
static int flush_skips(struct netlink *channel, struct search *search, uint32_t *n,
                       struct riptide_error *error)
{
    enum { MAX_ABSENT = 16 };
    uint32_t n_absent = 0;
    int r;

    for (;;) {
        r = netlink_dump_all(channel, begin_rules, on_skip, search);
        if (r < 0 || !search->delete)
            return netlink_is_absence(r) ? 0 : r;
        r = netlink_request(channel, search->delete, error);
        if (r == 0)
            *n += 1;
        /* Its owner, who runs beside us, was first. */
        else if (!netlink_is_absence(r) || ++n_absent > MAX_ABSENT)
            return r;
        else
            error_set(error, "%s", "");
    }
}

int flush_rules(struct netlink *channel, uint8_t family, const struct rule_identity *identity,
                uint32_t *n, struct riptide_error *error)
{
    struct search search = { .identity = identity, .family = family };
    uint32_t own = 0;
    int r = netlink_dump_all(channel, begin_rules, on_lookup, &search);

    if (r < 0)
        return netlink_is_absence(r) ? 0 : r;
    /* Asked once too often on purpose: who lacks the privilege hears of it even if nothing is
     * there.
     */
    while ((r = netlink_request(
                channel, message_lookup_delete(netlink_room(channel), family, identity->table),
                error)) == 0)
        own++;
    if (netlink_is_absence(r)) {
        error_set(error, "%s", ""); /* the kernel's words for it */
        r = flush_skips(channel, &search, &own, error);
    }
    if (n)
        *n += own;
    return r;
}

/* What one dump has found in the table. */
struct found {
    uint32_t table;
    uint8_t protocol; /* 0: whichever */
    uint8_t family;
    struct route *routes;
    uint32_t n;
    uint32_t capacity;
};

static struct nlmsghdr *begin_routes(void *userdata, void *room)
{
    struct found *found = userdata;

    found->n = 0;
    return message_routes_dump(room, found->family, found->table);
}

static int on_route(void *userdata, const struct nlmsghdr *message)
{
    struct found *found = userdata;
    struct route route, *routes;

    if (route_parse(&route, message) < 0 || route.table != found->table || route.is_cached ||
        (found->protocol && route.protocol != found->protocol))
        return 0;
    routes = array_reserve(found->routes, found->n, &found->capacity, sizeof(*routes));
    if (!routes)
        return -ENOMEM;
    found->routes = routes;
    found->routes[found->n++] = route;
    return 0;
}

struct deletion {
    int error;
    char text[96];
};

static void on_deleted(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                       const char *text)
{
    struct deletion *deletion = userdata;

    (void)n;
    (void)answer;
    if (error == 0 || error == -ESRCH || netlink_is_absence(error) || deletion->error)
        return;
    deletion->error = error;
    snprintf(deletion->text, sizeof(deletion->text), "%s", text);
}

/* Deletes what was found, in batches. */
static int delete_found(struct netlink *channel, const struct found *found,
                        struct riptide_error *error)
{
    struct deletion deletion = { 0 };
    uint32_t i = 0;
    int r = 0;

    while (r == 0 && i < found->n) {
        for (; i < found->n && netlink_has_room(channel, 1); i++)
            netlink_add(channel, message_route_delete(netlink_room(channel), &found->routes[i]));
        r = netlink_exchange(channel, on_deleted, &deletion);
    }
    if (r == 0 && deletion.error)
        error_set(error, "%s", deletion.text[0] ? deletion.text : strerror(-deletion.error));
    return r < 0 ? r : deletion.error;
}

/* Deletes what is in the table that `found` names, of that family and protocol. */
static int flush_routes(struct netlink *channel, struct found *found, uint32_t *n,
                        struct riptide_error *error)
{
    int r = 0;

    for (int round = 0; r == 0 && round < MAX_ROUNDS; round++) {
        r = netlink_dump_all(channel, begin_routes, on_route, found);
        if (netlink_is_absence(r))
            found->n = 0;
        if (found->n == 0)
            break;
        *n += found->n;
        if (r == 0)
            r = delete_found(channel, found, error);
    }
    free(found->routes);
    return netlink_is_absence(r) ? 0 : r;
}

/* The first failure, with its own line. */
static void note(int *firstp, struct riptide_error *error, int r, const struct riptide_error *words)
{
    if (*firstp == 0 && r < 0) {
        *firstp = r;
        error_set(error, "%s", words->text);
    }
}

int flush_all(struct netlink *channel, const struct rule_identity *identity, uint8_t protocol,
              struct riptide_flush_counts *counts, struct riptide_error *error)
{
    struct riptide_flush_counts own = { 0 };
    int r, first = 0;

    for (size_t i = 0; i < 2; i++) {
        struct riptide_error words = { .text = "" };

        r = flush_rules(channel, families[i], identity, &own.rules, &words);
        note(&first, error, r, &words);
    }
    for (size_t i = 0; i < 2; i++) {
        struct riptide_error words = { .text = "" };
        struct found found = {
            .table = identity->table,
            .protocol = protocol,
            .family = families[i],
        };

        r = flush_routes(channel, &found, &own.routes, &words);
        note(&first, error, r, &words);
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
