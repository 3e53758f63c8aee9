/* SPDX-License-Identifier: MIT */
/* The router's configuration: defaults and checks. Pure. */
#include "plan.h"

#include "internal.h"

#include <errno.h>
#include <linux/rtnetlink.h>

STRUCT_ENDS_WITH(struct riptide_router_config, hash_seed);

RIPTIDE_PUBLIC void riptide_router_config_init(struct riptide_router_config *config, size_t size)
{
    const struct riptide_router_config defaults = {
        .size = size,
        .table = 7230,
        .protocol = 230,
        .mark = 0x20000000,
        .cwnd_max = 100,
        .max_routes = 16384,
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

int router_config_copy(struct riptide_router_config *copy,
                       const struct riptide_router_config *config, struct riptide_error *error)
{
    static const struct config_kind kind = CONFIG_KIND(router, "router.", hash_seed);

    riptide_router_config_init(copy, sizeof(*copy));
    return config_copy(copy, &kind, config, error);
}

int router_config_take(struct riptide_router_config *kept,
                       const struct riptide_router_config *config, struct riptide_error *error)
{
    struct riptide_router_config checked;
    int r = router_config_copy(&checked, config, error);

    if (r < 0)
        return r;
    if (checked.table == RT_TABLE_UNSPEC ||
        (checked.table >= RT_TABLE_DEFAULT && checked.table <= RT_TABLE_LOCAL))
        error_set_field(error, "router.table", "%u is the kernel's own; choose another",
                        checked.table);
    else if (checked.protocol <= RTPROT_STATIC)
        error_set_field(error, "router.protocol",
                        "%u means the kernel or an operator; choose one from 5 to 255",
                        checked.protocol);
    else if (checked.mark == 0)
        error_set_field(error, "router.mark", "0 marks nothing; choose a number that no rule uses");
    else if (checked.rule_priority > 32765)
        error_set_field(error, "router.rule_priority",
                        "%u; must be 1 to 32765, or 0 for directly before main",
                        checked.rule_priority);
    else if (checked.cwnd_max < 1 || checked.cwnd_max > RIPTIDE_CWND_LIMIT)
        error_set_field(error, "router.cwnd_max", "%u; must be 1 to %d segments", checked.cwnd_max,
                        RIPTIDE_CWND_LIMIT);
    else if (checked.max_routes < 1 || checked.max_routes > RIPTIDE_MAX_DESTINATIONS)
        error_set_field(error, "router.max_routes", "%u; must be 1 to %d", checked.max_routes,
                        RIPTIDE_MAX_DESTINATIONS);
    else {
        *kept = checked;
        return 0;
    }
    return -EINVAL;
}

struct rule_identity router_config_identity(const struct riptide_router_config *config)
{
    return (struct rule_identity){ .table = config->table,
                                   .protocol = config->protocol,
                                   .mark = config->mark };
}
