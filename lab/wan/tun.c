/* SPDX-License-Identifier: MIT */
/*
 * Opens, reads and writes TUN devices. No offloads: the WAN has to see packets of the real MTU,
 * because it loses and drops one packet at a time.
 */
#define _GNU_SOURCE 1

#include "tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * The ring between the kernel and us. It must never be the bottleneck: packets that overflow here
 * are dropped although no configured buffer is full.
 */
#define RING_PACKETS 8192

static int set_up(const char **stepp)
{
    struct ifreq request = { 0 };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

    *stepp = "open a socket";
    if (fd < 0)
        return -errno;
    strcpy(request.ifr_name, WAN_DEVICE);
    *stepp = "set the queue length";
    request.ifr_qlen = RING_PACKETS;
    if (ioctl(fd, SIOCSIFTXQLEN, &request) < 0)
        error = -errno;
    if (!error) {
        *stepp = "set the device up";
        request.ifr_flags = IFF_UP;
        if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
            error = -errno;
    }
    close(fd);
    return error;
}

/* Runs inside the namespace. */
static int create(struct wan_tun *tunp, const char **stepp)
{
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    struct wan_tun tun = { -1, -1 };
    int error = 0;

    strcpy(request.ifr_name, WAN_DEVICE);
    *stepp = "open /dev/net/tun";
    tun.fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tun.fd < 0)
        return -errno;
    *stepp = "create the device";
    if (ioctl(tun.fd, TUNSETIFF, &request) < 0)
        error = -errno;
    if (!error)
        error = set_up(stepp);
    if (!error) {
        *stepp = "open /proc/self/net/dev";
        tun.stats_fd = open("/proc/self/net/dev", O_RDONLY | O_CLOEXEC);
        if (tun.stats_fd < 0)
            error = -errno;
    }
    if (error)
        close(tun.fd);
    else
        *tunp = tun;
    return error;
}

int wan_tun_open(const char *netns, struct wan_tun *tunp, const char **stepp)
{
    char path[300];
    int home_fd, netns_fd, error;

    *stepp = "open the namespace";
    snprintf(path, sizeof(path), "%s%s", strchr(netns, '/') ? "" : "/run/netns/", netns);
    netns_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (netns_fd < 0)
        return -errno;
    home_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    error = home_fd < 0 ? -errno : 0;
    if (!error && setns(netns_fd, CLONE_NEWNET) < 0)
        error = -errno;
    if (!error) {
        error = create(tunp, stepp);
        if (setns(home_fd, CLONE_NEWNET) < 0 && !error) {
            *stepp = "come back from the namespace";
            error = -errno;
        }
    }
    if (home_fd >= 0)
        close(home_fd);
    close(netns_fd);
    return error;
}

int wan_tun_read(const struct wan_tun *tun, uint8_t *buffer, size_t size_bytes)
{
    ssize_t length = read(tun->fd, buffer, size_bytes);

    if (length >= 0)
        return (int)length;
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

int wan_tun_write(const struct wan_tun *tun, const uint8_t *data, size_t length_bytes)
{
    return write(tun->fd, data, length_bytes) < 0 ? -errno : 0;
}

int wan_tun_dropped(const struct wan_tun *tun, uint64_t *droppedp)
{
    char text[16384], *line;
    ssize_t length = pread(tun->stats_fd, text, sizeof(text) - 1, 0);
    unsigned long long dropped;

    if (length < 0)
        return -errno;
    text[length] = '\0';
    for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        line += strspn(line, " ");
        if (strncmp(line, WAN_DEVICE ":", strlen(WAN_DEVICE ":")))
            continue;
        /* Eight fields of reception, then bytes, packets and errors sent; then what we want. */
        if (sscanf(line + strlen(WAN_DEVICE ":"), "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                   &dropped) != 1)
            return -EBADMSG;
        *droppedp = dropped;
        return 0;
    }
    return -ENODEV;
}
