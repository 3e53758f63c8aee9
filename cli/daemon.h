/*
 * The daemon's life, from settings to an exit status.
 */
#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

#include "service.h"
#include "settings.h"

/* How the loop ended; what is left in the kernel depends on it. */
enum ending {
    ENDING_NONE,
    ENDING_SIGNAL, /* SIGTERM or SIGINT */
    ENDING_ONCE,   /* the only round is complete */
    ENDING_GONE,   /* the network namespace was given up */
    ENDING_FAILED, /* the agent cannot go on, or the only round failed */
};

struct daemon {
    struct settings *settings;
    struct riptide_agent *agent;
    struct service service;
    int signals_fd;
    enum ending ending;
    uint64_t saved_ns;     /* when the state was last kept, or tried to be; 0: not yet */
    bool is_state_failing; /* and the log has said so */
};

/* Runs until a signal or a failure ends it. Returns the exit status. */
int daemon_serve(struct settings *settings);

#endif
