/* SPDX-License-Identifier: MIT */
/*
 * Any message as a notification to a router with a few destinations: those that a route contains, by
 * a comparison with each prefix, wait to be asked again, and all of them do after what cannot be read.
 */
#include "apply/routes/router.h"

#include "messages.h"
#include "prefix.h"

#include <sys/socket.h>

static bool is_all(const struct router *router)
{
    for (uint32_t i = 0; i < router->targets.n; i++) {
        if (!router->targets.list[i]->must_ask)
            return false;
    }
    return true;
}

static void check_route(const struct router *router, const struct nlmsghdr *message)
{
    struct route route;

    if (route_parse(&route, message) < 0) {
        CASE_CHECK(router->scan_wanted == SCAN_ALL && is_all(router));
        return;
    }
    if (route.is_cached)
        return;
    if (route.table == router->config.table) {
        CASE_CHECK(router->scan_wanted & SCAN_ROUTES);
        return;
    }
    for (uint32_t i = 0; i < router->targets.n; i++) {
        const struct target *target = router->targets.list[i];

        CASE_CHECK(target->must_ask || !riptide_prefix_contains(&route.dst, &target->wanted.dst));
    }
}

static void check(const struct router *router, const struct nlmsghdr *message)
{
    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        check_route(router, message);
        break;
    case RTM_NEWLINK:
    case RTM_DELLINK:
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF: /* of one link, or of all */
        break;
    default: /* rules, next hops, and future types */
        CASE_CHECK(is_all(router));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct riptide_wanted some[] = {
        { .dst = { AF_INET, 32, { 10, 0, 0, 7 } }, .initcwnd = 40 },
        { .dst = { AF_INET6, 128, { 0x20, 1, 0xd, 0xb8 } }, .initcwnd = 40 },
    };
    struct case_bytes bytes = { data, n };
    struct riptide_applier_config config;
    struct nlmsghdr *message;
    struct router router = { 0 };

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&router, &config);
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        CASE_CHECK(plan_want(&router, &some[i]) == 0);
    while ((message = messages_next(&bytes))) {
        for (uint32_t i = 0; i < router.targets.n; i++)
            router.targets.list[i]->must_ask = false;
        router.all_touched[0] = router.all_touched[1] = TOUCH_NONE;
        router.scan_wanted = 0;
        plan_follow(&router, message);
        check(&router, message);
        free(message);
    }
    plan_deinit(&router);
    return 0;
}
