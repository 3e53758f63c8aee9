/* SPDX-License-Identifier: MIT */
/*
 * One request to a running riptided and its answer.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>
#include <riptide/riptide.h>

/* The exit status of commands that need a daemon where none runs. */
#define EXIT_NOT_RUNNING 3

struct client_exchange {
    const char *path;  /* of the socket */
    int fd_sent;       /* goes with the request; -1: none */
    int fd_received;   /* came with the answer, the caller's; -1: none */
    int pid;           /* whose socket it is; 0: nobody's, or of a process out of sight */
    const char *about; /* what the daemon refuses where it says no; NULL: the request */
};

/*
 * Sends the request, which is freed, and waits for the answer: an object, the caller's. Errors,
 * each with a line: -ENOENT and -ECONNREFUSED (no daemon), -EREMOTEIO (it says no, or nothing that
 * makes sense), -ETIMEDOUT, -ENOMEM, those of connect(2), send(2) and recv(2).
 */
int client_ask(struct client_exchange *exchange, json_t *request, json_t **answerp,
               struct riptide_error *error);

/* Whether an error says that no daemon runs. */
bool client_is_absence(int error);

#endif
