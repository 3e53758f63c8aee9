/* SPDX-License-Identifier: MIT */
/* The loop of commands that dump the open connections. */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include <riptide/observe.h>

/* Errors: -ENOMEM. */
typedef int samples_take(void *userdata, const struct riptide_sample *sample);

/* One dump, to its end. Errors: those of the observer, of poll(2) and of `take`. */
int samples_dump(struct riptide_observer *observer, samples_take *take, void *userdata);

#endif
