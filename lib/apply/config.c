/* SPDX-License-Identifier: MIT */
/* The applier's configuration: defaults and checks. Pure. */
#include "apply/applier.h"

#include "internal.h"

#include <linux/rtnetlink.h>

STRUCT_ENDS_WITH(struct riptide_applier_config, cgroup);

RIPTIDE_PUBLIC void riptide_applier_config_init(struct riptide_applier_config *config, size_t size)
{
    const struct riptide_applier_config defaults = {
        .size = size,
        .backend = RIPTIDE_AUTO,
        .max_windows = 16384,
        .table = 7230,
        .pacing = true,
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

int applier_config_take(struct riptide_applier_config *kept,
                        const struct riptide_applier_config *config, struct riptide_error *error)
{
    struct riptide_applier_config checked;
    uint32_t traits;
    int r;

    riptide_applier_config_init(&checked, sizeof(checked));
    r = config_take(&checked, sizeof(checked), "applier", "applier.size", config, error);
    if (r < 0)
        return r;
    traits = riptide_backend_traits(checked.backend);
    if (!traits)
        return error_set_field(error, "applier.backend", "%u is no backend", checked.backend);
    if (checked.table == RT_TABLE_UNSPEC ||
        (checked.table >= RT_TABLE_DEFAULT && checked.table <= RT_TABLE_LOCAL))
        return error_set_field(error, "applier.table", "%u is the kernel's own; choose another",
                               checked.table);
    if (checked.max_windows < 1 || checked.max_windows > RIPTIDE_MAX_DESTINATIONS)
        return error_set_field(error, "applier.max_windows", "%u; must be 1 to %d",
                               checked.max_windows, RIPTIDE_MAX_DESTINATIONS);
    if (checked.holdout_percent > MOST_HELD_OUT_PERCENT)
        return error_set_field(error, "applier.holdout_percent", "%u; must be 0 to 50",
                               checked.holdout_percent);
    if (checked.holdout_percent > 0 && !(traits & RIPTIDE_HOLDS_OUT))
        return error_set_field(error, "applier.holdout_percent",
                               "%u; routes cannot hold out connections, the program can",
                               checked.holdout_percent);
    if (checked.cgroup && !(traits & RIPTIDE_TAKES_CGROUP))
        return error_set_field(error, "applier.cgroup",
                               "%s; routes are for all of the host, the program is for a cgroup",
                               checked.cgroup);
    if (!checked.pacing && !(traits & RIPTIDE_PACES))
        return error_set_field(error, "applier.pacing",
                               "off; routes pace nothing, the program does");
    if (checked.cgroup && checked.cgroup[0] != '/')
        return error_set_field(error, "applier.cgroup", "%s; must be an absolute path",
                               checked.cgroup);
    *kept = checked;
    return 0;
}
