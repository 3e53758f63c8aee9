/*
 * What the kernel alone takes: the dump that the observer asks for, received and thrown away.
 *
 *     floor            every established socket of both families
 *     floor HOST...    those with one of these IPv4 peers, by the filter that comes to mind first:
 *                      a chain, in which each host is tried after the other
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

/* One host of the chain: where it matches, the jump to the end, else the next one. */
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
    struct inet_diag_req_v2 diag;
    struct nlattr filter;
    struct link chain[];
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

    /* The last one has no next: four bytes behind the end refuses. */
    if (links_left == 0)
        link.test.no = (uint16_t)(sizeof(link) + sizeof(link.jump));
    if (inet_pton(AF_INET, host, &link.host.address) != 1) {
        errno = EINVAL;
        die(host);
    }
    return link;
}

static struct request *make_request(size_t n, char **hosts)
{
    const size_t chain_bytes = n * sizeof(struct link);
    struct request *request = calloc(1, sizeof(*request) + chain_bytes);

    if (!request)
        die("memory");
    if (chain_bytes + sizeof(request->filter) > UINT16_MAX) {
        errno = E2BIG;
        die("the chain");
    }
    request->header = (struct nlmsghdr){
        .nlmsg_len = (uint32_t)(sizeof(*request) + chain_bytes),
        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
    };
    request->diag = (struct inet_diag_req_v2){
        .sdiag_protocol = IPPROTO_TCP,
        .idiag_ext = 1 << (INET_DIAG_INFO - 1),
        .idiag_states = 1 << TCP_ESTABLISHED,
    };
    request->filter = (struct nlattr){ (uint16_t)(sizeof(request->filter) + chain_bytes),
                                       INET_DIAG_REQ_BYTECODE };
    if (n == 0)
        request->header.nlmsg_len -= (uint32_t)sizeof(request->filter);
    for (size_t i = 0; i < n; i++)
        request->chain[i] = link_of(hosts[i], n - 1 - i);
    return request;
}

/* Only the end of a dump stands alone in a datagram. */
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

int main(int argc, char **argv)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    struct request *request = make_request((size_t)argc - 1, argv + 1);
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);

    if (fd < 0)
        die("socket");
    for (size_t i = 0; i < 2; i++) {
        request->diag.sdiag_family = families[i];
        if (send(fd, request, request->header.nlmsg_len, 0) < 0)
            die("send");
        receive_all(fd);
    }
    close(fd);
    free(request);
    return 0;
}
