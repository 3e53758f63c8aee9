/* SPDX-License-Identifier: MIT */
/*
 * The control socket: who is connected, what each has sent and not read yet. What requests mean is
 * request.c's. Never blocks, whatever clients do: lines, answers, clients and the work of one call
 * are bounded, and a client that makes no headway is closed.
 */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "request.h"

#include <poll.h>
#include <riptide/riptide.h>
#include <sys/types.h>

struct control;

/*
 * Listens. The socket file of a daemon that is gone is replaced, that of one that runs is not.
 * `group`: name or number of those who may change things beside root; NULL: nobody. `owner`: of the
 * directory where it has to be made, so that this user can remove the file. The daemon must
 * outlive it. Errors, each with a line: -EINVAL (no such group), -EBUSY (a daemon answers
 * there), -ENAMETOOLONG, those of mkdir(2), socket(2) and bind(2).
 */
int control_open(struct control **controlp, const char *path, const char *group, uid_t owner,
                 struct daemon *daemon, struct riptide_error *error);

/*
 * From now on nothing is served, and each request is answered by why: the caller's, for as long as
 * the control is there.
 */
void control_serve_none(struct control *control, const char *why);

/* Closes, and removes the socket file where its directory lets this user do so; not in a child of fork(2). */
struct control *control_close(struct control *control);

/* What to wait for by poll(2); returns how many that are. None where it is NULL. */
enum { CONTROL_MAX_FDS = 65 };
unsigned int control_prepare(const struct control *control, struct pollfd fds[CONTROL_MAX_FDS]);

/* How long poll may wait, ms; -1: for ever. */
int control_get_timeout(const struct control *control);

/* Behind that, with what it has filled: does a bounded piece of work for a few clients. */
void control_dispatch(struct control *control, const struct pollfd *fds, unsigned int n);

/* How many are connected. */
unsigned int control_count_clients(const struct control *control);

#endif
