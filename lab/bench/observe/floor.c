/* SPDX-License-Identifier: MIT */
/*
 * What the kernel alone takes: a dump of the established sockets, received and thrown away.
 *
 *     floor            both families in one walk, as the observer asks
 *     floor HOST...    likewise, but those with one of these IPv4 peers alone, by the filter that
 *                      comes to mind first: a chain, in which one host after the other is tried
 *     floor --twice    one family after the other, as most tools ask
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 32768, ANY_PORT = -1 };

/* One host of the chain: if it matches, jumps to the end; else the next one follows. */
struct link {
    struct inet_diag_bc_op test;
    struct { /* inet_diag_hostcond, whose open end lets nothing follow */
        uint8_t family;
        uint8_t prefix_len;
        int32_t port;
        uint32_t address;
    } host;
    struct inet_diag_bc_op jump;
};

struct request {
    struct nlmsghdr header;
    struct inet_diag_req diag;
    struct nlattr filter;
    struct link chain[];
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

static struct link link_of(const char *host, size_t links_left)
{
    const size_t test_bytes = offsetof(struct link, jump);
    struct link link = {
        .test = { INET_DIAG_BC_D_COND, (uint8_t)test_bytes, sizeof(link) },
        .host = { .family = AF_INET, .prefix_len = 32, .port = ANY_PORT },
        .jump = { INET_DIAG_BC_JMP, sizeof(link.jump),
                  (uint16_t)(sizeof(link.jump) + links_left * sizeof(link)) },
    };

    /* The last one has no successor: a jump to four bytes past the end rejects. */
    if (links_left == 0)
        link.test.no = (uint16_t)(sizeof(link) + sizeof(link.jump));
    if (inet_pton(AF_INET, host, &link.host.address) != 1) {
        errno = EINVAL;
        die(host);
    }
    return link;
}

static struct nlmsghdr header_of(uint16_t type, size_t len)
{
    return (struct nlmsghdr){ .nlmsg_len = (uint32_t)len,
                              .nlmsg_type = type,
                              .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP };
}

static struct request *make_request(size_t n, char **hosts)
{
    const size_t filter_bytes = sizeof(struct nlattr) + n * sizeof(struct link);
    struct request *request = calloc(1, sizeof(*request) + n * sizeof(struct link));

    if (!request)
        die("memory");
    if (filter_bytes > UINT16_MAX) {
        errno = E2BIG;
        die("the chain");
    }
    request->header =
        header_of(TCPDIAG_GETSOCK, offsetof(struct request, filter) + (n > 0 ? filter_bytes : 0));
    request->diag = (struct inet_diag_req){ .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                                            .idiag_states = 1 << TCP_ESTABLISHED };
    request->filter = (struct nlattr){ (uint16_t)filter_bytes, INET_DIAG_REQ_BYTECODE };
    for (size_t i = 0; i < n; i++)
        request->chain[i] = link_of(hosts[i], n - 1 - i);
    return request;
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

int main(int argc, char **argv)
{
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);

    if (fd < 0)
        die("socket");
    if (argc == 2 && strcmp(argv[1], "--twice") == 0) {
        dump_twice(fd);
    } else {
        struct request *request = make_request((size_t)argc - 1, argv + 1);

        dump(fd, &request->header);
        free(request);
    }
    close(fd);
    return 0;
}
