/* SPDX-License-Identifier: MIT */
/* The library's values under the names of docs/control.md. */
#include "explanation.h"

#include "members.h"
#include "prefixes.h"

#include <inttypes.h>
#include <stdio.h>

#define MS_PER_S 1e3
#define NS_PER_S 1e9

/* The length of the longest prefix around a host; -1: there is none. */
static int longest_around(const struct riptide_prefix *prefixes, size_t n,
                          const struct riptide_prefix *host)
{
    int longest = -1;

    for (size_t i = 0; i < n; i++) {
        if (prefix_holds(&prefixes[i], host) && prefixes[i].len > longest)
            longest = prefixes[i].len;
    }
    return longest;
}

bool explanation_has_peer(const struct settings *settings, const struct riptide_prefix *peer)
{
    const struct riptide_scope *scope = &settings->observer.scope;
    struct riptide_prefix host = *peer;
    int exclude;

    host.len = prefix_host_len(host.family);
    exclude = longest_around(scope->exclude, scope->n_exclude, &host);
    if (scope->n_learn == 0)
        return exclude < 0;
    return longest_around(scope->learn, scope->n_learn, &host) > exclude;
}

struct riptide_prefix explanation_group(const struct settings *settings,
                                     const struct riptide_prefix *peer)
{
    const struct riptide_estimator_config *config = &settings->estimator;
    struct riptide_prefix host = *peer;

    host.len = prefix_host_len(host.family);
    return prefix_cut(&host, peer->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
}

/* A window in the program's map has no route. */
static const char *state_of(const struct riptide_route *route)
{
    if (route->backend == RIPTIDE_PROGRAM && route->state == RIPTIDE_ROUTE_APPLIED)
        return "by the program";
    return riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state);
}

/* As text; null if the family is 0. */
static json_t *prefix_json(const struct riptide_prefix *prefix)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    if (!prefix->family)
        return json_null();
    riptide_prefix_format(prefix, text);
    return json_string(text);
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / NS_PER_S : 0;
}

json_t *explanation_window(const struct riptide_estimate *estimate, uint64_t ttl_ns,
                           uint64_t now_ns)
{
    const struct riptide_prefix none = { .family = 0 };
    const uint32_t *left_out = estimate->left_out;
    const bool is_off = estimate->cwnd == 0, has_flights = estimate->wait > 0;
    /* It may have been computed before this boot. */
    const uint64_t age_ns = now_ns - (uint64_t)estimate->updated_ns;
    const double expires_s = seconds(age_ns, ttl_ns);

    return json_pack(
        "{s:I, s:{s:I, s:I, s:I}, s:f, s:I, s:I, s:o, s:o, s:o, s:I, s:f, s:o, s:o, s:o, s:o, s:o}",
        "connections", (json_int_t)estimate->samples, "left_out", "unused",
        (json_int_t)left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], "idle",
        (json_int_t)left_out[RIPTIDE_LEFT_OUT_IDLE - 1], "unmeasured",
        (json_int_t)left_out[RIPTIDE_LEFT_OUT_UNMEASURED - 1], "smoothed", estimate->smoothed,
        "cwnd_min", (json_int_t)estimate->cwnd_min, "cwnd_max", (json_int_t)estimate->cwnd_max,
        "hint", prefix_json(is_off ? &none : &estimate->hint), "off",
        prefix_json(is_off ? &estimate->hint : &none), "base_cwnd",
        figure_or_null(estimate->base_cwnd), "cwnd", (json_int_t)estimate->cwnd, "age_s",
        (double)age_ns / NS_PER_S, "expires_s",
        ttl_ns == RIPTIDE_NEVER_NS ? json_null() : json_real(expires_s), "min_rtt_ms",
        estimate->min_rtt_us ? json_real(estimate->min_rtt_us / MS_PER_S) : json_null(), "fitting",
        has_flights ? json_integer(estimate->fitting) : json_null(), "against",
        has_flights ? json_integer(estimate->against) : json_null(), "wait",
        figure_or_null(estimate->wait));
}

json_t *explanation_hint(const struct riptide_hint *hint, uint64_t now_ns)
{
    return json_pack("{s:o, s:b, s:o, s:o, s:o}", "dst", prefix_json(&hint->dst), "off",
                     hint->off, "cwnd_min", figure_or_null(hint->cwnd_min), "cwnd_max",
                     figure_or_null(hint->cwnd_max), "for_ms",
                     hint->until_ns == RIPTIDE_NEVER_NS
                         ? json_null()
                         : json_integer((json_int_t)(seconds(now_ns, hint->until_ns) * MS_PER_S)));
}

json_t *explanation_route(const struct riptide_route *route)
{
    return json_pack("{s:o, s:s, s:I, s:o}", "dst", prefix_json(&route->dst), "state",
                     state_of(route), "initcwnd", (json_int_t)route->initcwnd,
                     "reason", text_or_null(route->reason[0] ? route->reason : NULL));
}
