/* SPDX-License-Identifier: MIT */
/*
 * A fake kernel for the netlink sockets of lib/observe: sends the queues of a test, and no routes.
 * kernel.c replaces libc's socket(2) and others.
 */
#ifndef RIPTIDE_TESTS_KERNEL_H
#define RIPTIDE_TESTS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sockets in the order in which an observer opens them. */
enum kernel_socket { KERNEL_ROUTES, KERNEL_SOCKETS, KERNEL_EVENTS, KERNEL_N_SOCKETS };

/* Empties queues, closes sockets. */
void kernel_reset(void);

/*
 * Queues a datagram. Its messages' sequence numbers are relative to that of the last request, port
 * ids to the socket's: both are 0 in an answer to it.
 */
void kernel_say(enum kernel_socket index, const uint8_t *bytes, size_t n);

/* The next read fails with that errno. */
void kernel_fail(enum kernel_socket index, int error);

/* Whether a socket that the observer waits for has something to read. */
bool kernel_is_readable(void);

#endif
