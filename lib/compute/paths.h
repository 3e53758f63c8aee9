/* SPDX-License-Identifier: MIT */
/*
 * Whether an address is several paths (NAT, load balancers). One path is not empty for some flights
 * and overloaded for others of the same window, unless these collide. So only first flights count
 * that began alone: enough of them, without queueing and with losses, show several paths. Pure.
 */
#ifndef RIPTIDE_LIB_COMPUTE_PATHS_H
#define RIPTIDE_LIB_COMPUTE_PATHS_H

#include "evidence.h"

/* All zero: nothing known. */
struct paths {
    bool is_many : 1;    /* the caller's: from paths_turn until it is refuted */
    uint8_t n_mixed : 4; /* plus MIXED each time that flights disagreed, minus quiet ticks */
    uint8_t n_easy : 2;  /* lone flights without queueing, minus twice those with losses */
    bool is_lost : 1;    /* a lone flight with this window had losses */
    uint8_t start : 5;   /* when the newest flight began, in round trips */
    uint8_t alone : 2;   /* enum alone: its result, unless the next flight began with it */
    bool is_far : 1;     /* the caller's: flights with a very different window may still end */
};

/*
 * Adds a first flight, in the order in which flights end; path_min_rtt_us: 0 if unknown; now_ns as
 * in struct riptide_policy_input.
 */
void paths_add(struct paths *paths, const struct riptide_sample *sample,
               const struct first_flight *first, uint32_t path_min_rtt_us, uint64_t now_ns);

/*
 * Ends a tick, in which flights ended or not: whether flights of about the same window have
 * disagreed often enough. is_changing: flights with an earlier window may end in the coming ticks.
 */
bool paths_turn(struct paths *paths, bool has_flights, bool is_changing);

#endif
