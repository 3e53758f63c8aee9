/* SPDX-License-Identifier: MIT */
#include "samples.h"

#include <errno.h>
#include <poll.h>

int samples_dump(struct riptide_observer *observer, samples_take *take, void *userdata)
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    const struct riptide_sample *sample;
    int r = riptide_observer_start(observer);

    while (r >= 0 && r != RIPTIDE_E_DONE) {
        if (poll(&fd, 1, -1) < 0 && errno != EINTR)
            return -errno;
        r = riptide_observer_dispatch(observer);
        while (r >= 0 && (r = riptide_observer_pop(observer, &sample)) == 0)
            r = take(userdata, sample);
    }
    return r < 0 ? r : 0;
}
