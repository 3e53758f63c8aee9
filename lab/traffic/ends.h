/* SPDX-License-Identifier: MIT */
/* Sockets in other network namespaces, and the kernel's data on them. I/O. */
#ifndef TRAFFIC_ENDS_H
#define TRAFFIC_ENDS_H

#include "plan.h"

#include <linux/tcp.h>
#include <netinet/in.h>

/* A host whose namespace is open. */
struct ends_host {
    struct in_addr address;
    int netns_fd;
};

/* Each returns 0 or a file, or negative errno. */
int ends_host_open(struct ends_host *host, const struct traffic_host *named);
int ends_listen(const struct ends_host *host, uint16_t port, const char *congestion);
int ends_connect(const struct ends_host *from, const struct ends_host *to, uint16_t port,
                 const char *congestion, uint16_t *local_portp);
int ends_accept(int listener_fd, struct sockaddr_in *peer);

/* TCP_INFO of a connection; zeros if the kernel does not report it. */
void ends_info(int fd, struct tcp_info *info);

#endif
