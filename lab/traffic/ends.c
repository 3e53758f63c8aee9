/* SPDX-License-Identifier: MIT */
/*
 * Sockets in other network namespaces: made there, used from here.
 */
#include "ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096

int ends_host_open(struct ends_host *host, const struct traffic_host *named)
{
    char path[64];

    if (inet_pton(AF_INET, named->address, &host->address) != 1)
        return -EINVAL;
    snprintf(path, sizeof(path), "/run/netns/%s", named->name);
    host->netns_fd = open(path, O_RDONLY | O_CLOEXEC);
    return host->netns_fd < 0 ? -errno : 0;
}

/* The process has only these sockets, so it need not return to its namespace. */
static int open_socket(const struct ends_host *host, const char *congestion)
{
    socklen_t length = (socklen_t)strlen(congestion);
    int fd, on = 1, error;

    if (setns(host->netns_fd, CLONE_NEWNET) < 0)
        return -errno;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, length) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0) {
        error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

static struct sockaddr_in address_of(const struct ends_host *host, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr = host->address,
    };
}

int ends_listen(const struct ends_host *host, uint16_t port, const char *congestion)
{
    struct sockaddr_in address = address_of(host, port);
    int fd = open_socket(host, congestion), error;

    if (fd < 0)
        return fd;
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    error = -errno;
    close(fd);
    return error;
}

int ends_connect(const struct ends_host *from, const struct ends_host *to, uint16_t port,
                 const char *congestion, uint16_t *local_portp)
{
    struct sockaddr_in remote = address_of(to, port), local = address_of(from, 0);
    socklen_t length = sizeof(local);
    int fd = open_socket(from, congestion), error;

    if (fd < 0)
        return fd;
    if ((connect(fd, (struct sockaddr *)&remote, sizeof(remote)) < 0 && errno != EINPROGRESS) ||
        getsockname(fd, (struct sockaddr *)&local, &length) < 0) {
        error = -errno;
        close(fd);
        return error;
    }
    *local_portp = ntohs(local.sin_port);
    return fd;
}

int ends_accept(int listener_fd, struct sockaddr_in *peer)
{
    socklen_t length = sizeof(*peer);
    int on = 1, fd;

    fd = accept4(listener_fd, (struct sockaddr *)peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

void ends_info(int fd, struct tcp_info *info)
{
    socklen_t length = sizeof(*info);

    memset(info, 0, sizeof(*info));
    (void)getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length);
}
