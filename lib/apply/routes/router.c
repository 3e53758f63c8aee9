/* SPDX-License-Identifier: MIT */
/*
 * A router: its start, for which a predecessor's rules go, and its end; its fd, its settings, and
 * the order of its work.
 */
#include "apply/routes/router.h"

#include "internal.h"
#include "prefix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>

enum {
    /* Temporary errors in succession after which dispatch returns them to the caller. */
    MAX_SETBACKS = 8,
    /* Scans for a removal that changes interrupted, after which it ends, complete or not. */
    MAX_INTERRUPTED = 4,
    /* Notifications read in one dispatch: in a storm each arrives alone, with little work. */
    MAX_READ = 16,
    NOTIFICATION_BYTES = 32 * 1024,
    /* The kernel's queue: a storm of 10,000 route changes fits. */
    NOTIFICATION_QUEUE_BYTES = 16 * 1024 * 1024,
};

/* Whether there is work that can be done now. */
static bool can_work(const struct router *router)
{
    return router->has_work && (router->is_claimed || router->config.dry_run) &&
           (router->scanning || router->budget > 0);
}

/*
 * Our own changes come back as notifications that carry our port. The kernel drops them before they
 * fill the queue: 10,000 routes would be 10,000 datagrams to read.
 */
static int open_notifications(struct router *router)
{
    uint32_t own_port = mnl_socket_get_portid(router->channel.socket);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_pid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(own_port), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };
    int r = netlink_open(&router->notifications, NETLINK_ROUTE, NOTIFICATION_QUEUE_BYTES);

    if (r < 0)
        return r;
    r = setsockopt(mnl_socket_get_fd(router->notifications), SOL_SOCKET, SO_ATTACH_FILTER, &program,
                   sizeof(program));
    return r < 0 ? -errno : 0;
}

/* While it is on notifications queue, up to 32 MB of the kernel's. */
static int subscribe(struct router *router, bool is_on)
{
    static const int groups[] = {
        RTNLGRP_LINK,      RTNLGRP_IPV4_ROUTE,   RTNLGRP_IPV6_ROUTE,   RTNLGRP_IPV4_RULE,
        RTNLGRP_IPV6_RULE, RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF, RTNLGRP_NEXTHOP,
    };
    int option = is_on ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP, r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(groups) / sizeof(groups[0]); i++) {
        r = netlink_set_option(router->notifications, option, groups[i]);
        /* RTNLGRP_NEXTHOP needs Linux 5.3; without it there are no objects. */
        if (groups[i] == RTNLGRP_NEXTHOP)
            r = 0;
    }
    return r;
}

int router_read(struct router *router)
{
    _Alignas(struct nlmsghdr) char buffer[NOTIFICATION_BYTES];
    struct netlink_walk walk = { (void *)buffer, 0 };
    const struct nlmsghdr *message;
    int r = netlink_receive(router->notifications, buffer, sizeof(buffer), &walk.left);

    if (r == RIPTIDE_E_AGAIN)
        return 0;
    if (r < 0 && r != -ENOBUFS && r != -EMSGSIZE)
        return r;
    while ((message = netlink_next_message(&walk)))
        plan_follow(router, message);
    router->stats.overruns += r == -ENOBUFS;
    router->stats.malformed += r == RIPTIDE_E_INVALID || r == -EMSGSIZE || walk.left > 0;
    /* Anything may have changed, unless another process sent it (RIPTIDE_E_INVALID). */
    if (r < 0 || walk.left > 0)
        plan_resync(router);
    return 1;
}

int router_new(struct router **routerp, const struct riptide_applier_config *config)
{
    struct router *router = calloc(1, sizeof(*router));
    int r;

    if (!router)
        return -ENOMEM;
    plan_init(router, config);
    r = netlink_init(&router->channel);
    if (r == 0)
        r = netlink_init(&router->dumps);
    if (r == 0)
        r = open_notifications(router);
    *routerp = r == 0 ? router : router_free(router);
    return r;
}

struct router *router_free(struct router *router)
{
    if (!router)
        return NULL;
    netlink_close(router->notifications);
    netlink_deinit(&router->channel);
    netlink_deinit(&router->dumps);
    plan_deinit(router);
    free(router);
    return NULL;
}

static int scan(struct router *router, uint32_t parts)
{
    int r;

    router->scanning = 0;
    router->scan_wanted |= parts;
    do {
        r = scan_step(router);
        /* A rule that cannot be deleted does not keep the routes. */
        if (r < 0 && router->scanning) {
            router->removal_error = r;
            r = 0;
        }
    } while (r == 0 && router->scanning);
    return r;
}

/*
 * Scans, which counts all rules of ours, and routes that we do not know, and where the namespace is
 * claimed removes them: again until one finds no route, as the kernel may omit some while others
 * go, or change.
 */
static int remove_unknown(struct router *router, uint32_t parts)
{
    uint32_t n_before, n_interrupted = 0;
    int r;

    router->own[0].is_in_place = router->own[1].is_in_place = false;
    do {
        n_before = router->removed.routes;
        router->removal_error = 0;
        r = scan(router, parts);
        n_interrupted += router->is_interrupted;
    } while (r == 0 && router->is_claimed &&
             (router->removed.routes > n_before ||
              (router->is_interrupted && n_interrupted < MAX_INTERRUPTED)));
    return r < 0 ? r : router->removal_error;
}

static void say_removed(const struct router *router, const char *what, struct riptide_error *error)
{
    error_set(error, "%srules %u, routes %u", what, router->removed.rules, router->removed.routes);
}

int router_start(struct router *router, bool has_rules, struct riptide_error *error)
{
    uint32_t parts = has_rules ? SCAN_ALL : SCAN_RULES | SCAN_ROUTES;
    /* Changes since the scan of the start wait as events. */
    int r = has_rules ? subscribe(router, true) : 0;

    router->is_claimed = !router->config.dry_run;
    /* A predecessor's also where a conflict prevents the start: they lead TCP to old routes. */
    if (r == 0)
        r = remove_unknown(router, parts);
    if (r == 0 && has_rules)
        r = plan_check_place(router, error);
    if (r == 0 && has_rules && router->is_claimed && !router->is_paused)
        r = sync_rules(router, error);
    if (r < 0 && router->is_claimed)
        remove_unknown(router, SCAN_RULES);
    router->is_claimed &= r == 0 && has_rules;
    if (r < 0) {
        subscribe(router, false);
        return error_fill(error, r);
    }
    router->budget = BUDGET_MAX; /* whatever the scan of the start has cost */
    error_set(error, "%s", "");
    if (!router->config.dry_run && router->removed.rules + router->removed.routes > 0)
        say_removed(router, "removed what one that was killed had left: ", error);
    return 0;
}

int router_stop(struct router *router)
{
    int r = 0;

    if (router->is_claimed) {
        targets_deinit(&router->targets);
        r = remove_unknown(router, SCAN_RULES | SCAN_ROUTES);
        router->is_claimed = false;
    }
    subscribe(router, false);
    router->has_work = false;
    return r;
}

int router_flush(struct router *router, struct riptide_error *error)
{
    const struct rule none = { .family = AF_INET, .table = router->config.table };
    const bool is_dry = router->config.dry_run;
    int r;

    router->is_claimed = !is_dry;
    r = remove_unknown(router, SCAN_RULES | SCAN_ROUTES);
    /* Where nothing was there to be removed, the kernel has not said yet whether we may. */
    if (r == 0 && !is_dry &&
        netlink_request(&router->channel,
                        message_rule(netlink_room(&router->channel), RTM_DELRULE, &none),
                        NULL) == -EPERM)
        r = -EPERM;
    if (r == 0 && (!is_dry || router->removed.rules + router->removed.routes > 0))
        say_removed(router, is_dry ? "" : "removed: ", error);
    return r;
}

bool router_find_given(const struct router *router, const struct riptide_prefix *dst,
                       uint32_t *initcwnd, uint64_t *since_ns)
{
    const struct target *target = targets_find(&router->targets, dst);
    const struct rule_state *rule = &router->own[family_index(dst->family)];

    if (!target || target->kernel != KERNEL_CURRENT || target->is_not_taken || !rule->is_in_place ||
        router->config.dry_run)
        return false;
    *initcwnd = target->written.initcwnd;
    *since_ns = rule->since_ns > target->written_ns ? rule->since_ns : target->written_ns;
    return true;
}

bool router_is_in_force(const struct router *router)
{
    for (int i = 0; i < 2; i++) {
        if (router->targets.n_in_kernel[i] > 0 && !router->own[i].is_in_place)
            return false;
    }
    return router->is_claimed && !router->is_paused;
}

/*
 * A rule that must be removed is removed before the next notification is read. Returns 1 where
 * there may be more of them.
 */
static int read_notifications(struct router *router)
{
    int removed, r = 1;

    for (int n = 0; r > 0 && n < MAX_READ; n++) {
        r = router_read(router);
        removed = sync_remove(router);
        r = removed < 0 ? removed : r;
    }
    return r;
}

/*
 * The order of the work, of which a dispatch does one piece: read what has happened, and remove the
 * rules of what that concerns; scan; ask the kernel and write our routes; restore the rules.
 * Returns 1 where there may be more to read.
 */
static int work(struct router *router)
{
    int r = read_notifications(router);

    if (r != 0 || !can_work(router))
        return r;
    if (router->scanning || router->scan_wanted) {
        r = scan_step(router);
    } else if (router->targets.n_due[WORK_SYNC] > 0) {
        r = sync_targets(router);
    } else {
        if (router->is_claimed && !router->is_paused)
            r = sync_rules(router, NULL);
        router->has_work = r != 0;
    }
    return r < 0 ? r : sync_remove(router);
}

int router_dispatch(struct router *router)
{
    int r = work(router);

    if (r >= 0)
        router->n_setbacks = 0;
    /* Answers were lost: the next scan finds out what the batch did. */
    else if (is_transient(r) && router->n_setbacks++ < MAX_SETBACKS) {
        router->stats.overruns++;
        plan_resync(router);
        r = sync_remove(router);
        /* It stays due: then the next dispatch is another setback. */
        r = is_transient(r) ? 0 : r;
    }
    if (r < 0)
        return r;
    return r > 0 || can_work(router) ? RIPTIDE_E_MORE : 0;
}

int router_set_paused(struct router *router, bool is_paused)
{
    router->is_paused = is_paused;
    if (is_paused) {
        plan_remove_rules(router);
        return sync_remove(router);
    }
    router->has_work |= router->is_claimed;
    return 0;
}
