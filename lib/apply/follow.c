/* SPDX-License-Identifier: MIT */
/*
 * Which targets a notification touches, and whether the rule must go until they are right. The
 * meaning of a notification is event.c's.
 */
#include "follow.h"

#include "event.h"
#include "prefix.h"

#include <errno.h>
#include <linux/rtnetlink.h>

/* Whether the kernel has a route of ours to what was touched. */
static bool touch(struct plan *plan, uint32_t slot)
{
    targets_push(&plan->targets, QUEUE_LOOK, slot);
    return targets_at(&plan->targets, slot)->kernel.exists;
}

/* Every target that the route to `prefix` may be for. */
static int touch_prefix(struct plan *plan, const struct riptide_prefix *prefix)
{
    const struct target_place *inside;
    /* While a scan lists our routes it does not know all of them. */
    bool is_touched = false, is_in_kernel = plan->pass.is_scanning;
    uint32_t n_inside, slot;
    int r = targets_find_inside(&plan->targets, prefix, &inside, &n_inside);

    if (r < 0)
        return r;
    for (uint8_t len = 0; len < prefix->len; len++) {
        slot = targets_find_around(&plan->targets, prefix, len);
        if (slot != PREFIX_TABLE_NONE) {
            is_in_kernel |= touch(plan, slot);
            is_touched = true;
        }
    }
    for (uint32_t i = 0; i < n_inside; i++)
        is_in_kernel |= touch(plan, inside[i].slot);
    /* The route that cannot be shown may have been replaced: only a scan of all tables tells. */
    if (main_table_cut_reason(&plan->main, family_index(prefix->family)))
        plan_want_pass(plan, SCAN_ALL);
    if (!is_touched && n_inside == 0)
        return 0;
    plan_want_pass(plan, SCAN_NOTHING);
    /*
     * Local TCP is without us until all is right again: one request, where asking and writing is
     * many, and more events may wait to be read. It makes live connections look up their route
     * twice, beside the times that the change itself and our write do.
     */
    plan->own[family_index(prefix->family)].must_lift |= plan->is_claimed && is_in_kernel;
    return 0;
}

/* Of main's routes, contests are kept up without reading it anew, but for a new gateway's state. */
static int touch_route(struct plan *plan, const struct event *event,
                       const struct nlmsghdr *message)
{
    struct main_table *main = &plan->main;
    int r = 0;

    if (event->route.table == RT_TABLE_MAIN) {
        r = main_table_follow(main, &event->route, message);
        if (message->nlmsg_type == RTM_NEWROUTE)
            targets_note_inside(&plan->targets, &event->prefix);
        else
            main->is_stale |= plan->targets.n_prefixes > 0 || plan->pass.is_scanning;
    }
    if (r == 0 && main->has_new_gateways)
        plan_want_pass(plan, SCAN_MAIN);
    return r == 0 ? touch_prefix(plan, &event->prefix) : r;
}

/* Whatever was done to it, it is written again if it is still wanted. */
static void touch_ours(struct plan *plan, const struct event *event)
{
    uint32_t slot = prefix_table_find(&plan->targets.table, &event->prefix);
    struct target *target;

    if (slot == PREFIX_TABLE_NONE) {
        plan_touch_all(plan);
        return;
    }
    target = targets_at(&plan->targets, slot);
    bases_release(&plan->bases, target->kernel.base);
    target->kernel.base = BASES_NONE;
    targets_push(&plan->targets, QUEUE_LOOK, slot);
    /* One of another metric, or where we have none, is not ours: a scan of our table takes it. */
    plan_want_pass(plan, target->kernel.exists && event->route.priority == target->kernel.priority
                             ? SCAN_NOTHING
                             : SCAN_ALL);
}

/*
 * Our rules would show it to local TCP. Nothing is written in its family from now on, not even what
 * a pass under way still has: it could overwrite that route.
 */
static void touch_foreign(struct plan *plan, int i)
{
    plan->foreign[i].n++;
    plan_want_pass(plan, SCAN_ALL);
    plan->own[i].must_lift |= plan->is_claimed;
}

static int touch_gateway(struct plan *plan, const struct event *event)
{
    const struct riptide_prefix all = { .family = event->prefix.family };
    struct gateway *gateway =
        main_table_find_gateway(&plan->main, &event->prefix, event->ifindex);

    if (!gateway || gateway->is_failed == event->is_failed)
        return 0;
    gateway->is_failed = event->is_failed;
    plan_want_pass(plan, SCAN_MAIN);
    return touch_prefix(plan, &all);
}

/* Whether something leads through that link, or comes from the address that it lost. */
static bool concerns_us(const struct plan *plan, const struct event *event)
{
    return main_table_has_link(&plan->main, event->ifindex) ||
           bases_has_link(&plan->bases, event->ifindex) || plan_foreign_reason(plan, 0) ||
           plan_foreign_reason(plan, 1) ||
           (event->kind == EVENT_ADDRESS && bases_has_prefsrc(&plan->bases, &event->prefix));
}

int follow(struct plan *plan, const struct nlmsghdr *message)
{
    struct event event = event_parse(message, plan->config.table, plan->config.protocol);
    int r = links_take(&plan->links, message);

    if (r == -ENOMEM)
        return r;
    plan->stats.events++;
    switch (event.kind) {
    case EVENT_NOTHING:
        break;
    case EVENT_PREFIX:
        return touch_route(plan, &event, message);
    case EVENT_NEIGHBOUR:
        return touch_gateway(plan, &event);
    case EVENT_OURS:
        touch_ours(plan, &event);
        break;
    case EVENT_FOREIGN:
        touch_foreign(plan, family_index(event.prefix.family));
        break;
    case EVENT_LINK:
    case EVENT_ADDRESS:
        if (concerns_us(plan, &event))
            plan_touch_all(plan);
        break;
    case EVENT_ALL:
        plan_touch_all(plan);
        break;
    }
    return 0;
}
