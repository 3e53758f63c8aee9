/* SPDX-License-Identifier: MIT */
/*
 * TUN devices in other network namespaces. I/O; what the packets mean is network.c's business.
 */
#ifndef WAN_TUN_H
#define WAN_TUN_H

#include <stddef.h>
#include <stdint.h>

#define WAN_DEVICE "wan0"

struct wan_tun {
    int fd;       /* non-blocking; one IP packet per read and write */
    int stats_fd; /* the namespace's /proc/net/dev */
};

/*
 * Makes the device in the namespace (a name in /run/netns, or a path), and sets it up. It is removed with fd. The caller adds addresses and routes. Negative errno; *stepp
 * names the failed step.
 */
int wan_tun_open(const char *netns, struct wan_tun *tunp, const char **stepp);

/* The packet's length, 0 when there is none now, or negative errno. */
int wan_tun_read(const struct wan_tun *tun, uint8_t *buffer, size_t size_bytes);
int wan_tun_write(const struct wan_tun *tun, const uint8_t *data, size_t length_bytes);

/* How many packets the device threw away because they were not read in time. Negative errno. */
int wan_tun_dropped(const struct wan_tun *tun, uint64_t *droppedp);

#endif
