/* SPDX-License-Identifier: MIT */
/*
 * The observer's configuration: defaults and what is allowed. Pure.
 */
#include "observe/config.h"

#include "internal.h"

#include <errno.h>
#include <limits.h>

/* Two events: what the kernel needs to take any buffer at all. */
enum { MIN_EVENTS_BUFFER_BYTES = 4096 };

STRUCT_ENDS_WITH(struct riptide_observer_config, netns_fd);

RIPTIDE_PUBLIC void riptide_observer_config_init(struct riptide_observer_config *config,
                                                 size_t size)
{
    const struct riptide_observer_config defaults = {
        .size = size,
        .max_restarts = 3,
        .congestion_control = true,
        .slices = 1,
        .destroy_events = RIPTIDE_DESTROY_EVENTS_AUTO,
        .events_buffer_bytes = 32 * 1024 * 1024,
        .netns_fd = -1,
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

int observer_config_check(struct riptide_observer_config *checked,
                          const struct riptide_observer_config *config, struct riptide_error *error)
{
    static const struct config_kind kind = CONFIG_KIND(observer, "observer.", netns_fd);
    int r;

    riptide_observer_config_init(checked, sizeof(*checked));
    r = config_copy(checked, &kind, config, error);
    if (r < 0)
        return r;
    if (checked->events_buffer_bytes < MIN_EVENTS_BUFFER_BYTES ||
        checked->events_buffer_bytes > INT_MAX / 2)
        error_set_field(error, "observer.events_buffer_bytes", "%u; must be 4096 to 1 GB",
                        checked->events_buffer_bytes);
    else if (checked->destroy_events < RIPTIDE_DESTROY_EVENTS_AUTO ||
             checked->destroy_events > RIPTIDE_DESTROY_EVENTS_YES)
        error_set_field(error, "observer.destroy_events",
                        "%d; must be -1 (auto), 0 (no) or 1 (yes)", checked->destroy_events);
    else if (checked->destroy_events == RIPTIDE_DESTROY_EVENTS_YES && checked->scope.mark_mask != 0)
        error_set_field(error, "observer.scope.mark",
                        "not with destroy events: the kernel tells of no mark there");
    else if (checked->slices < 1 || checked->slices > RIPTIDE_MAX_SLICES)
        error_set_field(error, "observer.slices", "%u; must be 1 to %d", checked->slices,
                        RIPTIDE_MAX_SLICES);
    else
        return 0;
    return -EINVAL;
}
