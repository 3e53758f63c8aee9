/* SPDX-License-Identifier: MIT */
/*
 * The control socket: a client sends one request, in one write, reads its answer, which the kernel
 * keeps, and is closed: nothing of a client is kept here but who it is. Never blocks, whatever
 * clients do: lines, clients of a user and the work of one call are bounded, and those who may
 * change nothing share a budget of processor time.
 */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "request.h"
#include "settings.h"

#include <poll.h>
#include <sys/types.h>

struct control;

/* The number of a group, by name or number; -1 if `name` is NULL. -EINVAL, with a line. */
int control_find_group(const char *name, gid_t *gidp, struct riptide_error *error);

/*
 * Before the start: removes a socket without a listener. -EBUSY, with a line: another riptided
 * answers there, whose state and metrics this one would write.
 */
int control_check(const struct settings *settings, struct riptide_error *error);

/*
 * Listens where the settings say so; `daemon` goes to the functions of the verbs. Returns what
 * control_close frees; NULL: there is none, which is logged if there should be.
 */
struct control *control_open(const struct settings *settings, const struct verb *verbs,
                             struct daemon *daemon);

/* Closes, and removes the socket file if its directory permits. NULL: nothing. */
void control_close(struct control *control);

/* Sets the time of the socket's file, by which clients see when the last round ended. NULL: not. */
void control_touch(const struct control *control);

/* The fds to wait on with poll(2), and its timeout; returns their number, for NULL 0. */
enum { CONTROL_MAX_FDS = 65 };
unsigned int control_prepare(struct control *control, struct pollfd fds[CONTROL_MAX_FDS],
                             int *timeout_ms);

/* Takes what poll has filled: answers one client at most. */
void control_dispatch(struct control *control, const struct pollfd *fds, unsigned int n);

#endif
