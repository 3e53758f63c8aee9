/* SPDX-License-Identifier: MIT */
/*
 * When to give up listening to a kernel that speaks too fast, and when to try again. Counts
 * intervals, knows no clock and no socket. Pure.
 */
#ifndef RIPTIDE_LIB_OBSERVE_OVERRUN_H
#define RIPTIDE_LIB_OBSERVE_OVERRUN_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: listening, nothing lost yet. */
struct overrun {
    uint32_t in_a_row; /* intervals with an overrun, up to the last one */
    uint32_t pause;    /* how many intervals the next pause is to last, or this one was to */
    uint32_t left;     /* of the pause; 0: listening */
};

enum overrun_step { OVERRUN_STAY, OVERRUN_PAUSE, OVERRUN_RESUME };

/* An interval ends. `has_overrun` says how it went; it is not looked at in a pause. */
enum overrun_step overrun_turn(struct overrun *overrun, bool has_overrun);

/* Begins a pause: the kernel refuses to speak. */
void overrun_pause(struct overrun *overrun);

#endif
