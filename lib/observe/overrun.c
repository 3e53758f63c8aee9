/* SPDX-License-Identifier: MIT */
/*
 * The back-off: see overrun.h.
 */
#include "observe/overrun.h"

/* One overrun is a burst, three in a row are how it is here. Pauses double, and half as fast as
 * they grew they are forgotten. */
enum { SUSTAINED = 3, PAUSE_MIN = 8, PAUSE_MAX = 512 };

void overrun_pause(struct overrun *overrun)
{
    overrun->pause = overrun->pause < PAUSE_MIN ? PAUSE_MIN : 2 * overrun->pause;
    if (overrun->pause > PAUSE_MAX)
        overrun->pause = PAUSE_MAX;
    overrun->left = overrun->pause;
    /* The next try ends with its first overrun. */
    overrun->in_a_row = SUSTAINED - 1;
}

enum overrun_step overrun_turn(struct overrun *overrun, bool has_overrun)
{
    if (overrun->left > 0)
        return --overrun->left > 0 ? OVERRUN_STAY : OVERRUN_RESUME;
    if (!has_overrun) {
        overrun->in_a_row = 0;
        overrun->pause -= (overrun->pause + 3) / 4;
        return OVERRUN_STAY;
    }
    if (++overrun->in_a_row < SUSTAINED)
        return OVERRUN_STAY;
    overrun_pause(overrun);
    return OVERRUN_PAUSE;
}
