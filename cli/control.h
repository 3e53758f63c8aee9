/* SPDX-License-Identifier: MIT */
/*
 * The control socket: a client sends one request, reads its answer, and is closed. request.c
 * processes requests. Never blocks, whatever clients do: lines, clients of a user and the work of
 * one call are bounded, and those who may change nothing share a budget of processor time.
 */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "request.h"

#include <poll.h>
#include <sys/types.h>

struct control;

/*
 * Listens. `group`: name or number of the group whose members may make changes, as root may; NULL:
 * none. The daemon must outlive it. One without a listener at `path` is replaced. Errors, each with
 * a line: as control_find_group, -EADDRINUSE (another daemon, or no socket), -ENAMETOOLONG, those
 * of bind(2).
 */
int control_open(struct control **controlp, const char *path, const char *group,
                 struct daemon *daemon, struct riptide_error *error);

/* Closes, and removes the socket file if its directory permits. */
void control_close(struct control *control);

/* The fds to wait on with poll(2), and its timeout; returns their number. */
enum { CONTROL_MAX_FDS = 65 };
unsigned int control_prepare(struct control *control, struct pollfd fds[CONTROL_MAX_FDS],
                             int *timeout_ms);

/* Pass what poll has filled: answers one client at most. */
void control_dispatch(struct control *control, const struct pollfd *fds, unsigned int n);

/* The number of connected clients. */
unsigned int control_count_clients(const struct control *control);

/*
 * The number of a group, by name or number; -1 if `name` is NULL. Errors: -EINVAL, with a line for
 * settings_explain_refusal.
 */
int control_find_group(const char *name, gid_t *gidp, struct riptide_error *error);

#endif
