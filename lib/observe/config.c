/* SPDX-License-Identifier: MIT */
/* Defaults and checks of an observer's configuration. */
#include "observe/observer.h"

#include "internal.h"
#include "observe/filter.h"
#include "prefix.h"

STRUCT_ENDS_WITH(struct riptide_observer_config, scope);
STRUCT_ENDS_WITH(struct riptide_scope, n_remote_ports);

#define SCOPE       "observer.scope."
#define ARRAY(name) scope->name, scope->n_##name, SCOPE #name, SCOPE #name "[]"

static int check_array(const void *array, size_t n, size_t max, const char *field,
                       struct riptide_error *error)
{
    if (n > max)
        return error_set_field(error, field, "%zu; at most %zu", n, max);
    if (n > 0 && !array)
        return error_set_field(error, field, "NULL, but its number is %zu", n);
    return 0;
}

static int check_prefixes(const struct riptide_prefix *prefixes, size_t n, const char *field,
                          const char *element, struct riptide_error *error)
{
    int r = check_array(prefixes, n, RIPTIDE_MAX_PREFIXES, field, error);

    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct riptide_prefix *prefix = &prefixes[i];

        if (!prefix_is_valid(prefix))
            r = error_set_element(error, element, i,
                                  "no prefix; family AF_INET or AF_INET6, no bits after len");
        /* Samples have such peers as IPv4, so the prefix would match none. */
        else if (prefix->family == AF_INET6 && prefix->len >= 96 &&
                 address_is_v4_mapped(prefix->addr))
            r = error_set_element(error, element, i, "IPv4-mapped: must be the IPv4 prefix");
    }
    return r;
}

static int check_ranges(const struct riptide_port_range *ranges, size_t n, const char *field,
                        const char *element, struct riptide_error *error)
{
    int r = check_array(ranges, n, FILTER_MAX_PORT_RANGES, field, error);

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (ranges[i].first > ranges[i].last)
            r = error_set_element(error, element, i, "ends before it begins");
    }
    return r;
}

static int scope_check(const struct riptide_scope *scope, struct riptide_error *error)
{
    int r = check_prefixes(ARRAY(learn), error);

    if (r == 0)
        r = check_prefixes(ARRAY(exclude), error);
    if (r == 0)
        r = check_ranges(ARRAY(local_ports), error);
    return r == 0 ? check_ranges(ARRAY(remote_ports), error) : r;
}

RIPTIDE_PUBLIC void riptide_observer_config_init(struct riptide_observer_config *config,
                                                 size_t size)
{
    const struct riptide_observer_config defaults = {
        .size = size,
        .destroy_events = RIPTIDE_DESTROY_EVENTS_AUTO,
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

int observer_config_take(struct riptide_observer_config *taken,
                         const struct riptide_observer_config *config, struct riptide_error *error)
{
    int r;

    riptide_observer_config_init(taken, sizeof(*taken));
    r = config_take(taken, sizeof(*taken), "observer", "observer.size", config, error);
    if (r < 0)
        return r;
    if (taken->destroy_events < RIPTIDE_DESTROY_EVENTS_AUTO ||
        taken->destroy_events > RIPTIDE_DESTROY_EVENTS_YES)
        return error_set_field(error, "observer.destroy_events",
                               "%d; must be -1 (auto), 0 (no) or 1 (yes)", taken->destroy_events);
    return scope_check(&taken->scope, error);
}
