/* SPDX-License-Identifier: MIT */
/* lib/apply/routes/plan: in which seconds destinations are asked again. */
#include "apply/routes/plan.h"
#include "unit.h"

enum { FIRST = 100, LATER = 60 };

static void want(struct plan *plan, uint32_t address)
{
    const struct riptide_wanted wanted = {
        .dst = { .family = AF_INET,
                 .len = 32,
                 .addr = { 10, (uint8_t)(address >> 16), (uint8_t)(address >> 8),
                           (uint8_t)address } },
        .initcwnd = 40,
    };

    assert_int_equal(plan_want(plan, &wanted), 0);
}

/* Each second another one comes before all that there are. */
TEST(every_destination_is_asked_again_within_a_minute_whatever_is_added)
{
    struct riptide_applier_config config;
    struct plan plan;
    uint32_t n_unasked = 0;

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&plan, &config);
    for (uint32_t i = 0; i < FIRST; i++)
        want(&plan, (1u << 20) + i);
    for (uint32_t i = 0; i < plan.targets.n; i++)
        plan.targets.list[i]->must_ask = false;
    for (uint32_t second = 0; second < 60; second++) {
        want(&plan, 1000 - second);
        plan_tick(&plan, 1);
    }
    for (uint32_t i = 0; i < plan.targets.n; i++) {
        const struct target *target = plan.targets.list[i];

        n_unasked += target->wanted.dst.addr[1] == 16 && !target->must_ask;
    }
    assert_int_equal(n_unasked, 0);
    plan_deinit(&plan);
}
