/* SPDX-License-Identifier: MIT */
/*
 * Datagrams to the service manager, and the timer of its watchdog. Without libsystemd: five lines
 * of text do not justify a dependency on every host.
 */
#include "service.h"

#include "clock.h"
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_US UINT64_C(1000)

/* Never blocks: a message that cannot be sent is retransmitted later. */
static bool notify(const struct service *service, const char *text)
{
    return service->fd >= 0 &&
           sendto(service->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                  (const struct sockaddr *)&service->manager, service->manager_bytes) >= 0;
}

/* A path, or an abstract name that begins with @. */
static bool find_manager(struct service *service)
{
    const char *name = getenv("NOTIFY_SOCKET");
    size_t len = name ? strlen(name) : 0;

    if (len == 0)
        return false;
    if ((name[0] != '/' && name[0] != '@') || len >= sizeof(service->manager.sun_path)) {
        log_line(LOG_LEVEL_WARNING,
                 "NOTIFY_SOCKET=%.80s: not a Unix socket; the service manager is not notified", name);
        return false;
    }
    service->manager = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(service->manager.sun_path, name, len);
    if (name[0] == '@')
        service->manager.sun_path[0] = '\0';
    service->manager_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return true;
}

/* 0: no watchdog, or it is for another process. */
static uint64_t read_watchdog_us(void)
{
    const char *pid = getenv("WATCHDOG_PID");
    const char *text = getenv("WATCHDOG_USEC");
    uint64_t us = text ? strtoull(text, NULL, 10) : 0;

    if (pid && strtoll(pid, NULL, 10) != getpid())
        return 0;
    return us <= UINT64_MAX / NS_PER_US ? us : 0;
}

static void open_watchdog(struct service *service)
{
    uint64_t half_ns = read_watchdog_us() * NS_PER_US / 2;
    const struct timespec half = { .tv_sec = (time_t)(half_ns / NS_PER_S),
                                   .tv_nsec = (long)(half_ns % NS_PER_S) };
    const struct itimerspec timer = { .it_value = half, .it_interval = half };

    if (half_ns == 0)
        return;
    service->watchdog_ns = half_ns;
    service->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (service->timer_fd < 0 || timerfd_settime(service->timer_fd, 0, &timer, NULL) < 0)
        log_line(LOG_LEVEL_WARNING, "no timer for the watchdog: %s", strerror(errno));
}

void service_open(struct service *service)
{
    *service = (struct service){ .fd = -1, .timer_fd = -1 };
    if (!find_manager(service))
        return;
    service->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (service->fd < 0)
        log_line(LOG_LEVEL_WARNING, "the service manager is not notified: %s", strerror(errno));
    else
        open_watchdog(service);
}

void service_close(struct service *service)
{
    if (service->fd >= 0)
        close(service->fd);
    if (service->timer_fd >= 0)
        close(service->timer_fd);
    service->fd = service->timer_fd = -1;
}

void service_event(struct service *service, const struct riptide_agent_event *event)
{
    if (event->kind == RIPTIDE_AGENT_FAILED) {
        service->has_failed = true;
    } else if (event->kind == RIPTIDE_AGENT_TICK) {
        service->last_tick_ns = clock_read_ns(CLOCK_MONOTONIC);
        service->interval_ns = event->tick->interval_ns;
        if (!service->has_failed && !service->is_ready)
            service->is_ready = notify(service, "READY=1");
        service->has_failed = false;
    }
}

void service_pet(struct service *service)
{
    uint64_t n_expirations;

    if (read(service->timer_fd, &n_expirations, sizeof(n_expirations)) < 0)
        return;
    /* A turning loop is not enough: a round that never ends would not be detected. */
    if (service->is_ready && clock_read_ns(CLOCK_MONOTONIC) - service->last_tick_ns <=
                                 service->interval_ns + service->watchdog_ns)
        notify(service, "WATCHDOG=1");
}

void service_stopping(struct service *service)
{
    notify(service, "STOPPING=1");
}
