/* SPDX-License-Identifier: MIT */
/*
 * --all-netns: a process that serves no connection itself. It keeps the program per connection,
 * looks which network namespaces the processes below --cgroup have, and has for each a worker: a
 * child, which is an ordinary riptided in that namespace with sockets and files of its own. One that
 * ends is begun again; one whose namespace nobody has any more is ended.
 */
#ifndef CLI_WORKERS_H
#define CLI_WORKERS_H

#include "settings.h"

/* Runs until a signal or a failure ends it, in each of these processes. Returns the exit status. */
int workers_serve(struct settings *settings);

#endif
