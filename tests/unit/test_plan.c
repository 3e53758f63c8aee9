/* SPDX-License-Identifier: MIT */
/* lib/apply/routes/plan: in which seconds destinations are asked again. */
#include "apply/routes/router.h"
#include "unit.h"

enum { FIRST = 100, LATER = 60 };

static void want(struct router *router, uint32_t address)
{
    const struct riptide_wanted wanted = {
        .dst = { .family = AF_INET,
                 .len = 32,
                 .addr = { 10, (uint8_t)(address >> 16), (uint8_t)(address >> 8),
                           (uint8_t)address } },
        .initcwnd = 40,
    };

    assert_int_equal(plan_want(router, &wanted), 0);
}

/* Each second another one comes before all that there are. */
TEST(every_destination_is_asked_again_within_a_minute_whatever_is_added)
{
    struct riptide_applier_config config;
    struct router router;
    uint32_t n_unasked = 0;

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&router, &config);
    for (uint32_t i = 0; i < FIRST; i++)
        want(&router, (1u << 20) + i);
    for (uint32_t i = 0; i < router.targets.n; i++)
        router.targets.list[i]->must_ask = false;
    for (uint32_t second = 0; second < 60; second++) {
        want(&router, 1000 - second);
        plan_tick(&router, 1);
    }
    for (uint32_t i = 0; i < router.targets.n; i++) {
        const struct target *target = router.targets.list[i];

        n_unasked += target->wanted.dst.addr[1] == 16 && !target->must_ask;
    }
    assert_int_equal(n_unasked, 0);
    plan_deinit(&router);
}
