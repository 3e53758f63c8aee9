/*
 * One dump of the open connections, from its start to its end.
 */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include <riptide/observe.h>

struct samples_sink {
    int (*add)(void *userdata, const struct riptide_sample *sample); /* 0, or what ends the dump */
    void (*clear)(void *userdata); /* the dump begins anew: what was added comes again */
    void *userdata;
};

/* Errors: those of poll(2) and of the observer, what `add` returned. */
int samples_read(struct riptide_observer *observer, const struct samples_sink *sink);

#endif
