/* SPDX-License-Identifier: MIT */
/*
 * One dump after another on two netlink sockets: first the host's own prefixes, then the sockets.
 * Knows phases, interruptions and restarts; hands out messages about sockets, whose meaning is the
 * observer's.
 */
#ifndef RIPTIDE_LIB_OBSERVE_DUMP_H
#define RIPTIDE_LIB_OBSERVE_DUMP_H

#include "observe/filter.h"
#include "observe/local.h"
#include "observe/reply.h"
#include "observe/request.h"
#include "observe/walk.h"

#include <riptide/observe.h>

/* The kernel fills no more than 32 KB of a dump into one datagram. */
#define DUMP_BUFFER_BYTES 32768

enum dump_channel { ROUTES, SOCKETS, N_CHANNELS };

/* A dump goes through these in order. */
enum dump_phase { LOCAL4, LOCAL6, ALL_SOCKETS, IDLE };

struct dump {
    struct riptide_observer_stats *stats; /* not ours */
    const struct filter *filter;          /* not ours; stays as it is while a dump is under way */
    uint32_t max_restarts;
    bool congestion_control;
    int epoll_fd; /* of both channels: the caller has one fd to wait on */
    struct channel channels[N_CHANNELS];
    enum dump_phase phase;
    uint32_t restarts_left;
    uint32_t n_fruitless; /* calls of dump_start since the kernel last said anything */
    bool say_restarted;
    bool say_done;
    struct local_set local;      /* as the last dump that got so far found it */
    struct local_set next_local; /* as this one does */
    struct walk unread;          /* in buffer, for dump_pop; its lengths are true */
    bool is_plain;               /* all of it is about sockets, and nothing is to be said first */
    struct reply_expected unread_expected;
    _Alignas(struct nlmsghdr) unsigned char buffer[DUMP_BUFFER_BYTES];
};

/* Nothing is open: dump_close may follow. */
void dump_init(struct dump *dump);

/*
 * Opens in the thread's network namespace. The first four members are set by the caller.
 * Errors: of socket(2); those of the kernel for the filter.
 */
int dump_open(struct dump *dump, struct riptide_error *error);

/* Also for one whose dump_open failed, or did not come yet. */
void dump_close(struct dump *dump);

/* As riptide_observer_start and riptide_observer_dispatch, but that finding nothing is an outcome:
 * RIPTIDE_E_AGAIN. */
int dump_start(struct dump *dump);
int dump_dispatch(struct dump *dump);

/* Whether none is under way, and the end of the last one was popped. */
bool dump_is_idle(const struct dump *dump);

/* What dump_pop does where the next message is not simply that of the next socket. */
const struct nlmsghdr *dump_find_data(struct dump *dump);
int dump_take_word(struct dump *dump);

/* As riptide_observer_pop, but with the message about a socket, NULL where there is none. Inline,
 * as walk.h is. */
static inline int dump_pop(struct dump *dump, const struct nlmsghdr **messagep)
{
    *messagep = dump->is_plain ? walk_message(&dump->unread) : dump_find_data(dump);
    return *messagep ? 0 : dump_take_word(dump);
}

#endif
