/* SPDX-License-Identifier: MIT */
/*
 * A fake kernel for the netlink sockets of lib/observe: sends the fuzzer's queues, and fails as
 * requested. kernel.c replaces libc's socket(2) and others.
 */
#ifndef RIPTIDE_FUZZ_KERNEL_H
#define RIPTIDE_FUZZ_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sockets in the order in which an observer opens them. */
enum kernel_socket { KERNEL_ROUTES, KERNEL_SOCKETS, KERNEL_EVENTS, KERNEL_N_SOCKETS };

/* Empties queues, closes sockets. The fail_at-th call that can fail fails with `error`; 0: none. */
void kernel_reset(uint32_t fail_at, int error);

/*
 * Queues a datagram as if from `port` (0: the kernel). Its messages' sequence numbers are relative
 * to that of the last request, port ids to the socket's: both are 0 in an answer to it.
 */
void kernel_say(enum kernel_socket index, uint32_t port, const uint8_t *bytes, size_t n);

/* The next read fails with that errno. */
void kernel_fail(enum kernel_socket index, int error);

/* Whether all queued datagrams have been read. */
bool kernel_is_silent(enum kernel_socket index);

/* Whether a socket that the observer waits for has something to read. */
bool kernel_is_readable(void);

/* Number of valid messages about closed sockets that were sent in the kernel's name. */
uint64_t kernel_n_closed(void);

#endif
