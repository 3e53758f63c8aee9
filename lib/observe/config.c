/* SPDX-License-Identifier: MIT */
/*
 * Defaults of an observer's configuration, what is allowed, and what a scope means.
 */
#include "observe/config.h"

#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* Two events: what the kernel needs to take any buffer at all. */
enum { MIN_EVENTS_BUFFER_BYTES = 4096 };

STRUCT_ENDS_WITH(struct riptide_observer_config, netns_fd);
STRUCT_ENDS_WITH(struct riptide_scope, reserved);

bool scope_has_port(const struct riptide_port_range *ranges, size_t n, uint32_t port)
{
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].first <= port && port <= ranges[i].last)
            return true;
    }
    return false;
}

bool scope_admits(const struct riptide_scope *scope, const struct riptide_sample *sample)
{
    if (scope->n_local_ports > 0 &&
        !scope_has_port(scope->local_ports, scope->n_local_ports, sample->local_port))
        return false;
    return scope->n_remote_ports == 0 ||
           scope_has_port(scope->remote_ports, scope->n_remote_ports, sample->remote_port);
}

bool scope_holds(const struct riptide_scope *scope, const struct riptide_prefix *dst)
{
    const struct riptide_prefix *exclude, *learn;

    exclude = prefix_longest_match(scope->exclude, scope->n_exclude, dst);
    if (scope->n_learn == 0)
        return !exclude;
    learn = prefix_longest_match(scope->learn, scope->n_learn, dst);
    return learn && (!exclude || learn->len > exclude->len);
}

bool riptide_scope_matches(const struct riptide_scope *scope,
                           const struct riptide_sample *sample)
{
    return scope_admits(scope, sample) && scope_holds(scope, &sample->dst);
}

static const char *prefix_fault(const void *element)
{
    const struct riptide_prefix *prefix = element;

    if (!prefix_is_valid(prefix))
        return "no prefix; family AF_INET or AF_INET6, no bits behind len";
    /* Samples give such peers as IPv4, so the prefix would match nothing. */
    if (prefix->family == AF_INET6 && prefix->len >= 96 && address_is_v4_mapped(prefix->addr))
        return "IPv4-mapped: must be the IPv4 prefix";
    return NULL;
}

static const char *range_fault(const void *element)
{
    const struct riptide_port_range *range = element;

    return range->first > range->last ? "ends before it begins" : NULL;
}

/* The arrays that a scope points to. */
static const struct {
    const char *field, *element;  /* as errors name it, and what is in it */
    size_t at, at_n;              /* of the pointer and of the number, in the scope */
    size_t element_bytes, max;
    const char *(*fault)(const void *element); /* or NULL */
} arrays[] = {
#define SCOPE "observer.scope."
#define ARRAY(name, max, fault)                                                                    \
    {                                                                                              \
        SCOPE #name, SCOPE #name "[]", offsetof(struct riptide_scope, name),                       \
            offsetof(struct riptide_scope, n_##name),                                              \
            sizeof(*((struct riptide_scope *)NULL)->name), max, fault                              \
    }
    ARRAY(learn, RIPTIDE_MAX_PREFIXES, prefix_fault),
    ARRAY(exclude, RIPTIDE_MAX_PREFIXES, prefix_fault),
    ARRAY(local_ports, RIPTIDE_SCOPE_MAX_PORT_RANGES, range_fault),
    ARRAY(remote_ports, RIPTIDE_SCOPE_MAX_PORT_RANGES, range_fault),
};

enum { N_ARRAYS = sizeof(arrays) / sizeof(arrays[0]) };

static const unsigned char *array_of(const struct riptide_scope *scope, size_t i, size_t *np)
{
    const unsigned char *array;

    memcpy(&array, (const char *)scope + arrays[i].at, sizeof(array));
    memcpy(np, (const char *)scope + arrays[i].at_n, sizeof(*np));
    return array;
}

static int check_array(const struct riptide_scope *scope, size_t i, struct riptide_error *error)
{
    size_t n;
    const unsigned char *array = array_of(scope, i, &n);
    int r = array_check(array, n, arrays[i].max, arrays[i].field, error);

    for (size_t k = 0; r == 0 && k < n; k++) {
        const char *fault = arrays[i].fault(array + k * arrays[i].element_bytes);

        if (fault)
            r = error_set_element(error, arrays[i].element, k, "%s", fault);
    }
    return r;
}

int scope_check(const struct riptide_scope *scope, struct riptide_error *error)
{
    int r = reserved_check(scope->reserved, sizeof(scope->reserved) / sizeof(scope->reserved[0]),
                           SCOPE "reserved", error);

    for (size_t i = 0; r == 0 && i < N_ARRAYS; i++)
        r = check_array(scope, i, error);
    return r;
}

int scope_copy(struct riptide_scope *copy, const struct riptide_scope *given)
{
    int r = 0;

    *copy = *given;
    for (size_t i = 0; i < N_ARRAYS; i++) {
        void *array = NULL;
        size_t n;
        const unsigned char *from = array_of(given, i, &n);

        if (r == 0)
            r = array_copy(&array, from, n, arrays[i].element_bytes);
        memcpy((char *)copy + arrays[i].at, &array, sizeof(array));
    }
    return r;
}

void scope_deinit(struct riptide_scope *copy)
{
    free((void *)copy->learn);
    free((void *)copy->exclude);
    free((void *)copy->local_ports);
    free((void *)copy->remote_ports);
}

RIPTIDE_PUBLIC void riptide_observer_config_init(struct riptide_observer_config *config,
                                                 size_t size)
{
    const struct riptide_observer_config defaults = {
        .size = size,
        .max_restarts = 3,
        .congestion_control = true,
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
    else
        return scope_check(&checked->scope, error);
    return -EINVAL;
}
