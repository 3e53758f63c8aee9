/* SPDX-License-Identifier: MIT */
/*
 * Which connections to learn from: the plain evaluation of a scope, which is its definition. The
 * filter that the kernel gets must say the same.
 */
#include "observe/scope.h"

#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

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
    if (scope->mark_mask != 0 &&
        (!sample->has_mark || (sample->mark & scope->mark_mask) != scope->mark))
        return false;
    if (scope->ifindex != 0 && sample->ifindex != scope->ifindex)
        return false;
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
    bool has_arrays = (scope->n_learn == 0 || scope->learn) &&
                      (scope->n_exclude == 0 || scope->exclude) &&
                      (scope->n_local_ports == 0 || scope->local_ports) &&
                      (scope->n_remote_ports == 0 || scope->remote_ports);

    return has_arrays && scope_admits(scope, sample) && scope_holds(scope, &sample->dst);
}

/* The peers of such a prefix are told as what they are, IPv4: it would match nothing. */
static bool is_mapped(const struct riptide_prefix *prefix)
{
    return prefix->family == AF_INET6 && prefix->len >= 96 && address_is_v4_mapped(prefix->addr);
}

#define SCOPE "observer.scope."

static int check_prefixes(const struct riptide_prefix *prefixes, size_t n, const char *field,
                          const char *element, struct riptide_error *error)
{
    int r = array_check(prefixes, n, RIPTIDE_MAX_PREFIXES, field, error);

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (!prefix_is_valid(&prefixes[i]))
            r = error_set_element(error, element, i,
                                  "no prefix; family AF_INET or AF_INET6, no bits behind len");
        else if (is_mapped(&prefixes[i]))
            r = error_set_element(error, element, i, "IPv4-mapped: must be the IPv4 prefix");
    }
    return r;
}

static int check_ports(const struct riptide_port_range *ranges, size_t n, const char *field,
                       const char *element, struct riptide_error *error)
{
    int r = array_check(ranges, n, RIPTIDE_SCOPE_MAX_PORT_RANGES, field, error);

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (ranges[i].first > ranges[i].last)
            r = error_set_element(error, element, i, "ends before it begins");
    }
    return r;
}

int scope_check(const struct riptide_scope *scope, struct riptide_error *error)
{
    int r = reserved_check(scope->reserved, sizeof(scope->reserved) / sizeof(scope->reserved[0]),
                           SCOPE "reserved", error);

    if (r == 0)
        r = check_prefixes(scope->learn, scope->n_learn, SCOPE "learn", SCOPE "learn[]", error);
    if (r == 0)
        r = check_prefixes(scope->exclude, scope->n_exclude, SCOPE "exclude", SCOPE "exclude[]",
                           error);
    if (r == 0)
        r = check_ports(scope->local_ports, scope->n_local_ports, SCOPE "local_ports",
                        SCOPE "local_ports[]", error);
    if (r == 0)
        r = check_ports(scope->remote_ports, scope->n_remote_ports, SCOPE "remote_ports",
                        SCOPE "remote_ports[]", error);
    if (r == 0 && (scope->mark & ~scope->mark_mask) != 0)
        return error_set_field(error, SCOPE "mark",
                               "0x%x has bits outside its mask 0x%x: nothing matches", scope->mark,
                               scope->mark_mask);
    return r;
}

int scope_copy(struct riptide_scope *copy, const struct riptide_scope *given,
               struct riptide_error *error)
{
    void *arrays[4] = { NULL };
    int r = scope_check(given, error);

    if (r < 0)
        return r;
    r = array_copy(&arrays[0], given->learn, given->n_learn, sizeof(*given->learn));
    if (r == 0)
        r = array_copy(&arrays[1], given->exclude, given->n_exclude, sizeof(*given->exclude));
    if (r == 0)
        r = array_copy(&arrays[2], given->local_ports, given->n_local_ports,
                       sizeof(*given->local_ports));
    if (r == 0)
        r = array_copy(&arrays[3], given->remote_ports, given->n_remote_ports,
                       sizeof(*given->remote_ports));
    *copy = *given;
    copy->learn = arrays[0];
    copy->exclude = arrays[1];
    copy->local_ports = arrays[2];
    copy->remote_ports = arrays[3];
    return r;
}

void scope_deinit(struct riptide_scope *copy)
{
    free((void *)copy->learn);
    free((void *)copy->exclude);
    free((void *)copy->local_ports);
    free((void *)copy->remote_ports);
}
