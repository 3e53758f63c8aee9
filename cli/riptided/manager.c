/* SPDX-License-Identifier: MIT */
#include "manager.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* To a path, or to an abstract name that begins with @. Returns whether it was sent. */
static bool notify(const char *text)
{
    struct sockaddr_un manager = { .sun_family = AF_UNIX };
    const char *name = getenv("NOTIFY_SOCKET");
    const size_t len = name ? strlen(name) : 0;
    bool is_sent;
    int fd;

    if (len == 0 || len >= sizeof(manager.sun_path))
        return false;
    memcpy(manager.sun_path, name, len);
    if (name[0] == '@')
        manager.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    is_sent = sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                     (const struct sockaddr *)&manager,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) >= 0;
    close(fd);
    return is_sent;
}

void manager_init(struct manager *manager)
{
    const char *pid = getenv("WATCHDOG_PID"), *watchdog_us = getenv("WATCHDOG_USEC");

    *manager = (struct manager){ .is_ready = false };
    /* The watchdog may be for another process. */
    if (watchdog_us && (!pid || strtoll(pid, NULL, 10) == getpid()))
        manager->watchdog_us = strtoull(watchdog_us, NULL, 10);
}

void manager_tick(struct manager *manager, const struct riptide_tick *tick, bool has_failed)
{
    char text[64];

    if (!manager->is_ready && !has_failed)
        manager->is_ready = notify("READY=1");
    if (!manager->is_ready || manager->watchdog_us == 0)
        return;
    /* Twice in its timeout is enough. */
    if (tick->finished_ns - manager->told_ns < manager->watchdog_us * 1000 / 2)
        return;
    manager->told_ns = tick->finished_ns;
    snprintf(text, sizeof(text), "WATCHDOG=1\nWATCHDOG_USEC=%" PRIu64,
             manager->watchdog_us + tick->interval_ns / 1000);
    notify(text);
}

void manager_stopping(void)
{
    notify("STOPPING=1");
}
