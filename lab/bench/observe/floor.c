/* SPDX-License-Identifier: MIT */
/*
 * What the kernel alone takes: a dump of the established sockets, received and thrown away.
 *
 *     floor            both families in one walk, as the observer asks
 *     floor --twice    one family after the other, as most tools ask
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

struct family_request {
    struct nlmsghdr header;
    struct inet_diag_req_v2 diag;
};

static void die(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct nlmsghdr header_of(uint16_t type, size_t len)
{
    return (struct nlmsghdr){ .nlmsg_len = (uint32_t)len,
                              .nlmsg_type = type,
                              .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP };
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

static void dump(int fd, const struct nlmsghdr *request)
{
    if (send(fd, request, request->nlmsg_len, 0) < 0)
        die("send");
    receive_all(fd);
}

static void dump_twice(int fd)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };

    for (size_t i = 0; i < 2; i++) {
        struct family_request request = {
            .header = header_of(SOCK_DIAG_BY_FAMILY, sizeof(request)),
            .diag = { .sdiag_family = families[i],
                      .sdiag_protocol = IPPROTO_TCP,
                      .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                      .idiag_states = 1 << TCP_ESTABLISHED },
        };

        dump(fd, &request.header);
    }
}

static void dump_once(int fd)
{
    const struct request request = {
        .header = header_of(TCPDIAG_GETSOCK, sizeof(request)),
        .diag = { .idiag_ext = 1 << (INET_DIAG_INFO - 1), .idiag_states = 1 << TCP_ESTABLISHED },
    };

    dump(fd, &request.header);
}

int main(int argc, char **argv)
{
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);

    if (fd < 0)
        die("socket");
    if (argc == 2 && strcmp(argv[1], "--twice") == 0)
        dump_twice(fd);
    else
        dump_once(fd);
    close(fd);
    return 0;
}
