/* SPDX-License-Identifier: MIT */
/*
 * What the kernel alone takes: a dump of the established sockets of both families in one walk, as the
 * observer asks for it, received and thrown away.
 */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 32768 };

/* The request of the first kernels, which no family limits. */
struct request {
    struct nlmsghdr header;
    struct inet_diag_req diag;
};

static void die(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Only a dump's last message is alone in a datagram. */
static void receive_all(int fd)
{
    static _Alignas(struct nlmsghdr) char buffer[BUFFER_BYTES];
    const struct nlmsghdr *first = (const void *)buffer;

    do {
        if (recv(fd, buffer, sizeof(buffer), 0) < 0)
            die("recv");
        if (first->nlmsg_type == NLMSG_ERROR) {
            errno = -((const struct nlmsgerr *)(first + 1))->error;
            die("the kernel");
        }
    } while (first->nlmsg_type != NLMSG_DONE);
}

int main(void)
{
    const struct request request = {
        .header = { .nlmsg_len = sizeof(request),
                    .nlmsg_type = TCPDIAG_GETSOCK,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
        .diag = { .idiag_ext = 1 << (INET_DIAG_INFO - 1), .idiag_states = 1 << TCP_ESTABLISHED },
    };
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);

    if (fd < 0)
        die("socket");
    if (send(fd, &request, sizeof(request), 0) < 0)
        die("send");
    receive_all(fd);
    close(fd);
    return 0;
}
