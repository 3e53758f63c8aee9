/* SPDX-License-Identifier: MIT */
/*
 * The protocol of sd_notify(3) without libsystemd: a datagram with a line of text does not justify
 * a dependency on every host.
 */
#include "daemon.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* To a path, or to an abstract name that begins with @. */
bool service_notify(const char *text)
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

void service_open(struct service *service)
{
    const char *pid = getenv("WATCHDOG_PID"), *us = getenv("WATCHDOG_USEC");

    *service = (struct service){ .watchdog_ns = us ? strtoull(us, NULL, 10) * 500 : 0 };
    /* It may be for another process. */
    if (pid && strtoll(pid, NULL, 10) != getpid())
        service->watchdog_ns = 0;
}

void service_event(struct service *service, const struct riptide_agent_event *event)
{
    if (event->kind == RIPTIDE_AGENT_FAILED) {
        service->has_failed = true;
    } else if (event->kind == RIPTIDE_AGENT_TICK) {
        service->last_tick_ns = clock_read_ns(CLOCK_MONOTONIC);
        service->interval_ns = event->tick->interval_ns;
        if (!service->has_failed && !service->is_ready)
            service->is_ready = service_notify("READY=1");
        service->has_failed = false;
    }
}

int service_turn(struct service *service)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC);

    if (service->watchdog_ns == 0 || !service->is_ready)
        return INT_MAX;
    if (now_ns - service->told_ns >= service->watchdog_ns) {
        service->told_ns = now_ns;
        /* A turning loop is not enough: a round that never ends would not be detected. */
        if (now_ns - service->last_tick_ns <= service->interval_ns + service->watchdog_ns)
            service_notify("WATCHDOG=1");
    }
    return (int)((service->told_ns + service->watchdog_ns - now_ns) / 1000000) + 1;
}
