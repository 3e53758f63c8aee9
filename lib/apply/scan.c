/*
 * The scan: a row of dumps, each with what is learned from its messages. What follows from it
 * (resolving, writing, the rules) is resolve.c's and sync.c's.
 */
#include "scan.h"

#include "event.h"
#include "message.h"
#include "prefix.h"
#include "resolve.h"
#include "router.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

struct step {
    struct nl_msg *(*request)(const struct riptide_router *router, uint8_t family);
    int (*on_message)(struct riptide_router *router, uint8_t family,
                      const struct nlmsghdr *message);
    uint8_t family;
};

static struct nl_msg *request_rules(const struct riptide_router *router, uint8_t family)
{
    (void)router;
    return message_rules_dump(family);
}

static int on_rule(struct riptide_router *router, uint8_t family, const struct nlmsghdr *message)
{
    return rules_add(&router->scan.rules[family_index(family)], &router->identity, message);
}

static struct nl_msg *request_ours(const struct riptide_router *router, uint8_t family)
{
    return message_routes_dump(family, router->config.table);
}

/* Whether the route is what writing `target` with its base made. */
static bool is_as_written(const struct riptide_router *router, const struct target *target,
                          const struct route *route)
{
    const struct base *base;

    if (target->kernel.base == BASES_NONE)
        return false;
    base = bases_at(&router->bases, target->kernel.base);
    /* An IPv6 route stays without its source address when that goes. */
    return riptide_prefix_equal(&route->gateway, &base->gateway) &&
           riptide_prefix_equal(&route->prefsrc, &base->prefsrc) && route->ifindex == base->ifindex;
}

static int on_our_route(struct riptide_router *router, uint8_t family,
                        const struct nlmsghdr *message)
{
    struct target *target;
    struct route route;
    uint32_t slot;
    int r = route_parse(&route, message);

    (void)family;
    if (r < 0)
        return r;
    if (route.table != router->config.table || route.is_cached)
        return 0;
    router->scan.n_foreign += route.protocol != router->config.protocol;
    if (route.protocol != router->config.protocol || router->config.dry_run)
        return 0;
    r = targets_get(&router->targets, &route.dst, &slot);
    if (r == RIPTIDE_E_FULL)
        return 0; /* not from this process; riptide_flush removes it */
    if (r < 0)
        return r;
    target = targets_at(&router->targets, slot);
    if (!is_as_written(router, target, &route)) {
        bases_release(&router->bases, target->kernel.base);
        target->kernel.base = BASES_NONE;
    }
    target->kernel.priority = route.priority;
    target->kernel.initcwnd = route.initcwnd;
    target->kernel.initrwnd = route.initrwnd;
    target->kernel.mtu_bytes = route.mtu_bytes;
    target->kernel.rto_min_ms = route.rto_min_ms;
    targets_set_exists(&router->targets, target, true);
    if (target->initcwnd == 0)
        targets_push(&router->targets, QUEUE_WRITE, slot);
    return 0;
}

static struct nl_msg *request_main(const struct riptide_router *router, uint8_t family)
{
    (void)router;
    return message_routes_dump(family, RT_TABLE_MAIN);
}

static int add_contested(struct scan *scan, const struct route *route, bool is_by_packet)
{
    if (scan->n_contested == scan->capacity) {
        uint32_t capacity = scan->capacity ? scan->capacity * 2 : 16;
        struct contested *list = realloc(scan->contested, capacity * sizeof(*list));

        if (!list)
            return -ENOMEM;
        scan->contested = list;
        scan->capacity = capacity;
    }
    scan->contested[scan->n_contested++] =
        (struct contested){ .prefix = route->dst, .is_by_packet = is_by_packet };
    return 0;
}

/* Every wider target around a route of main would capture what that route is for. */
static void mark_targets_around(struct riptide_router *router, const struct riptide_prefix *dst)
{
    const bool *has_len = router->scan.has_len[family_index(dst->family)];

    for (uint8_t len = 0; len < dst->len; len++) {
        struct riptide_prefix around = *dst;
        uint32_t slot;

        if (!has_len[len])
            continue;
        prefix_truncate(&around, len);
        slot = prefix_table_find(&router->targets.table, &around);
        if (slot != PREFIX_TABLE_NONE)
            targets_at(&router->targets, slot)->is_inside_contested = true;
    }
}

/* Link-local and multicast routes come with every link and lead to no destination of ours. */
static bool is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

static void add_link(struct scan *scan, const struct route *route)
{
    uint32_t *links;

    if (is_of_every_link(&route->dst) || scan->has_unknown_links ||
        (route->ifindex && scan_has_link(scan, route->ifindex)))
        return;
    links = route->ifindex ? realloc(scan->links, (scan->n_links + 1) * sizeof(*links)) : NULL;
    scan->has_unknown_links = !links;
    if (!links)
        return;
    links[scan->n_links++] = route->ifindex;
    scan->links = links;
}

static int add_gateway(struct scan *scan, const struct route *route)
{
    struct gateway *gateways;

    if (route->gateway.family != AF_INET6 ||
        scan_find_gateway(scan, &route->gateway, route->ifindex))
        return 0;
    gateways = realloc(scan->gateways, (scan->n_gateways + 1) * sizeof(*gateways));
    if (!gateways)
        return -ENOMEM;
    gateways[scan->n_gateways++] =
        (struct gateway){ .address = route->gateway, .ifindex = route->ifindex };
    scan->gateways = gateways;
    return 0;
}

static int on_main_route(struct riptide_router *router, uint8_t family,
                         const struct nlmsghdr *message)
{
    struct scan *scan = &router->scan;
    struct route route;
    int r = route_parse(&route, message);

    (void)family;
    if (r < 0)
        return r;
    if (route.is_cached || route.table != RT_TABLE_MAIN)
        return 0;
    scan->n_same_protocol += route.protocol == router->config.protocol;
    add_link(scan, &route);
    r = add_gateway(scan, &route);
    if (r < 0)
        return r;
    mark_targets_around(router, &route.dst);
    if (route.tos != 0 || route.src_len != 0)
        r = add_contested(scan, &route, true);
    else if (riptide_prefix_equal(&route.dst, &scan->previous.dst) &&
             route.priority == scan->previous.priority)
        r = add_contested(scan, &route, false);
    scan->previous = route;
    return r;
}

/*
 * A dump of one table that meets a route larger than any buffer ends there as if it were complete.
 * A dump of all tables comes to `local` behind main, and the host's own addresses are there; its
 * messages are counted in their headers alone.
 */
static struct nl_msg *request_tables(const struct riptide_router *router, uint8_t family)
{
    (void)router;
    return message_routes_dump(family, RT_TABLE_UNSPEC);
}

static int on_any_route(struct riptide_router *router, uint8_t family,
                        const struct nlmsghdr *message)
{
    const struct rtmsg *rtm = nlmsg_data(message);

    if (!nlmsg_valid_hdr(message, sizeof(*rtm)))
        return -EBADMSG;
    if (rtm->rtm_table == RT_TABLE_LOCAL)
        router->scan.is_main_cut[family_index(family)] = false;
    return 0;
}

static struct nl_msg *request_paths(const struct riptide_router *router, uint8_t family)
{
    return message_exceptions_dump(family, router->config.table);
}

/*
 * A REPLACE of a route forgets the path MTU that was learned on it: the next one carries it, unless
 * its base has changed, since that is another path.
 */
static int on_path(struct riptide_router *router, uint8_t family, const struct nlmsghdr *message)
{
    struct target *target;
    struct route path;
    uint32_t slot;
    int r = route_parse(&path, message);

    (void)family;
    if (r < 0)
        return r;
    slot = prefix_table_find(&router->targets.table, &path.dst);
    if (!path.is_cached || path.table != router->config.table || slot == PREFIX_TABLE_NONE)
        return 0;
    target = targets_at(&router->targets, slot);
    if (target->kernel.base != target->base)
        return 0;
    target->pmtu_bytes = path.mtu_bytes;
    if (path.is_redirected)
        resolve_redirected(router, slot);
    return 0;
}

static struct nl_msg *request_neighbours(const struct riptide_router *router, uint8_t family)
{
    (void)router;
    return message_neighbours_dump(family);
}

static int on_neighbour(struct riptide_router *router, uint8_t family,
                        const struct nlmsghdr *message)
{
    struct riptide_prefix address;
    struct gateway *gateway;
    uint32_t ifindex;
    bool is_failed;

    (void)family;
    if (!neighbour_parse(&address, &ifindex, &is_failed, message))
        return -EBADMSG;
    gateway = scan_find_gateway(&router->scan, &address, ifindex);
    if (gateway)
        gateway->is_failed = is_failed;
    return 0;
}

/* In the order of enum scan_extent, so that each extent is a part of the row. */
static const struct step steps[] = {
    { request_paths, on_path, AF_INET },
    { request_paths, on_path, AF_INET6 },
    { request_rules, on_rule, AF_INET },
    { request_rules, on_rule, AF_INET6 },
    { request_ours, on_our_route, AF_INET },
    { request_ours, on_our_route, AF_INET6 },
    { request_main, on_main_route, AF_INET },
    { request_main, on_main_route, AF_INET6 },
    { request_neighbours, on_neighbour, AF_INET6 },
    { request_tables, on_any_route, AF_INET },
};

static const struct {
    uint32_t first, end;
} extents[] = { [SCAN_PATHS] = { 0, 2 }, [SCAN_ALL] = { 2, 10 }, [SCAN_MAIN] = { 6, 9 } };

void scan_deinit(struct scan *scan)
{
    rules_deinit(&scan->rules[0]);
    rules_deinit(&scan->rules[1]);
    free(scan->contested);
    free(scan->links);
    free(scan->gateways);
    *scan = (struct scan){ 0 };
}

static void forget_kernel(struct riptide_router *router)
{
    struct targets *targets = &router->targets;

    for (uint32_t slot = 0; (slot = prefix_table_next(&targets->table, slot)) != PREFIX_TABLE_NONE;
         slot++)
        targets_set_exists(targets, targets_at(targets, slot), false);
}

static void forget_main(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;
    struct scan *scan = &router->scan;

    scan->n_contested = 0;
    scan->n_links = 0;
    scan->n_gateways = 0;
    scan->n_same_protocol = 0;
    scan->has_unknown_links = false;
    memset(scan->has_len, 0, sizeof(scan->has_len));
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        struct target *target = targets_at(&router->targets, slot);

        target->is_inside_contested = false;
        if (target->dst.len < prefix_family_bits(target->dst.family))
            scan->has_len[family_index(target->dst.family)][target->dst.len] = true;
    }
}

/* What the last scan found counts no more; what this one does not find is not there. */
static void begin(struct riptide_router *router, enum scan_extent extent)
{
    struct scan *scan = &router->scan;

    scan->extent = extent;
    scan->is_running = true;
    scan->is_asked = false;
    scan->is_interrupted = false;
    scan->step = extents[extent].first;
    if (extent == SCAN_ALL) {
        rules_deinit(&scan->rules[0]);
        rules_deinit(&scan->rules[1]);
        scan->n_foreign = 0;
        scan->is_main_cut[family_index(AF_INET6)] = false;
        /* In a dry run nothing is in the kernel; what would be stays as it was noted. */
        if (!router->config.dry_run)
            forget_kernel(router);
    }
    if (extent >= SCAN_MAIN)
        forget_main(router);
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct riptide_router *router = userdata;
    const struct step *step = &steps[router->scan.step];
    int r = step->on_message(router, step->family, message);

    /* One message that makes no sense says nothing about the others. */
    if (r == -EBADMSG) {
        router->stats.malformed++;
        return 0;
    }
    return r;
}

int scan_step(struct riptide_router *router, enum scan_extent extent)
{
    struct scan *scan = &router->scan;
    const struct step *step;
    int r;

    if (!scan->is_running)
        begin(router, extent);
    step = &steps[scan->step];
    if (!scan->is_asked) {
        scan->previous = (struct route){ 0 };
        if (step->on_message == on_any_route)
            scan->is_main_cut[family_index(step->family)] = true;
        r = channel_dump(&router->dumps, step->request(router, step->family));
        if (r < 0)
            goto fail;
        scan->is_asked = true;
    }
    r = channel_dump_step(&router->dumps, on_message, router);
    if (r == 0)
        return 0;
    if (r == -EMSGSIZE)
        scan->is_main_cut[family_index(step->family)] = true;
    else if (r < 0 && !channel_is_absence(r))
        goto fail;
    scan->is_interrupted |= r == RIPTIDE_E_RESTARTED;
    scan->is_asked = false;
    scan->step++;
    if (scan->step < extents[scan->extent].end)
        return 0;
    scan->is_running = false;
    return scan->is_interrupted ? RIPTIDE_E_RESTARTED : RIPTIDE_E_DONE;

fail:
    scan->is_running = false;
    return r;
}

bool scan_has_link(const struct scan *scan, uint32_t ifindex)
{
    for (uint32_t i = 0; i < scan->n_links; i++) {
        if (scan->links[i] == ifindex)
            return true;
    }
    return scan->has_unknown_links;
}

struct gateway *scan_find_gateway(struct scan *scan, const struct riptide_prefix *address,
                                  uint32_t ifindex)
{
    for (uint32_t i = 0; i < scan->n_gateways; i++) {
        struct gateway *gateway = &scan->gateways[i];

        if (gateway->ifindex == ifindex && riptide_prefix_equal(&gateway->address, address))
            return gateway;
    }
    return NULL;
}

const char *scan_contested_reason(const struct scan *scan, const struct riptide_prefix *match,
                                  const struct riptide_prefix *dst)
{
    for (uint32_t i = 0; i < scan->n_contested; i++) {
        const struct contested *contested = &scan->contested[i];

        if (!contested->is_by_packet && riptide_prefix_equal(&contested->prefix, match))
            return "several routes of main compete for it";
        if (contested->is_by_packet && (riptide_prefix_contains(&contested->prefix, dst) ||
                                        riptide_prefix_contains(dst, &contested->prefix)))
            return "a route of main depends on tos or source";
    }
    return NULL;
}

const char *scan_cut_reason(const struct scan *scan, int i)
{
    return scan->is_main_cut[i] ? "main has a route too large for the kernel to show, and maybe "
                                  "others behind it"
                                : NULL;
}
