/* SPDX-License-Identifier: MIT */
/*
 * What this host lets its peers send at once. The peers' initcwnd is of no use beyond it.
 */
#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <riptide/apply.h>
#include <stdio.h>
#include <unistd.h>

/*
 * A socket starts with tcp_rmem[1] bytes, of which tcp_win_from_space() offers half with the
 * default scaling ratio (include/net/tcp.h, TCP_DEFAULT_SCALING_RATIO and tcp_adv_win_scale 1).
 */
static uint32_t initrwnd_of(uint64_t rmem_default_bytes, uint32_t mss_bytes)
{
    uint64_t segments = rmem_default_bytes / 2 / mss_bytes;

    return segments < UINT32_MAX ? (uint32_t)segments : UINT32_MAX;
}

int riptide_receiver_get_initrwnd(uint32_t mss_bytes, uint32_t *initrwndp)
{
    CLEANUP(closep) int fd = open("/proc/sys/net/ipv4/tcp_rmem", O_RDONLY | O_CLOEXEC);
    unsigned long long rmem_default_bytes;
    char text[128];
    ssize_t n;

    if (mss_bytes == 0)
        return -EINVAL;
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    if (sscanf(text, "%*u %llu", &rmem_default_bytes) != 1)
        return -EBADMSG;
    *initrwndp = initrwnd_of(rmem_default_bytes, mss_bytes);
    return 0;
}
