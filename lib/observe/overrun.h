/* SPDX-License-Identifier: MIT */
/*
 * When to give up listening to a kernel that speaks too fast, and when to try again. Counts
 * intervals, knows no clock and no socket. Pure.
 */
#ifndef RIPTIDE_LIB_OBSERVE_OVERRUN_H
#define RIPTIDE_LIB_OBSERVE_OVERRUN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One overrun is a burst, three in a row are how it is here. Pauses double, and half as fast as they
 * grew they are forgotten.
 */
enum { OVERRUN_SUSTAINED = 3, OVERRUN_PAUSE_MIN = 8, OVERRUN_PAUSE_MAX = 512 };

/* All zero: listening, nothing lost yet. */
struct overrun {
    uint32_t in_a_row; /* intervals with an overrun, up to the last one */
    uint32_t pause;    /* how many intervals the next pause is to last, or this one was to */
    uint32_t left;     /* of the pause; 0: listening */
};

enum overrun_step { OVERRUN_STAY, OVERRUN_PAUSE, OVERRUN_RESUME };

/* Begins a pause: the kernel refuses to speak. */
static inline void overrun_pause(struct overrun *overrun)
{
    overrun->pause = overrun->pause < OVERRUN_PAUSE_MIN ? OVERRUN_PAUSE_MIN : 2 * overrun->pause;
    if (overrun->pause > OVERRUN_PAUSE_MAX)
        overrun->pause = OVERRUN_PAUSE_MAX;
    overrun->left = overrun->pause;
    /* The next try ends with its first overrun. */
    overrun->in_a_row = OVERRUN_SUSTAINED - 1;
}

/* An interval ends. `has_overrun` says how it went; it is not looked at in a pause. */
static inline enum overrun_step overrun_turn(struct overrun *overrun, bool has_overrun)
{
    if (overrun->left > 0)
        return --overrun->left > 0 ? OVERRUN_STAY : OVERRUN_RESUME;
    if (!has_overrun) {
        overrun->in_a_row = 0;
        overrun->pause -= (overrun->pause + 3) / 4;
        return OVERRUN_STAY;
    }
    if (++overrun->in_a_row < OVERRUN_SUSTAINED)
        return OVERRUN_STAY;
    overrun_pause(overrun);
    return OVERRUN_PAUSE;
}

#endif
