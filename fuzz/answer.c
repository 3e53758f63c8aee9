/* SPDX-License-Identifier: MIT */
/*
 * Any datagrams as answers to a batch of requests, or to a dump: only answers to our requests are
 * handed out, each with its own error and text, and the exchange always ends.
 */
#include "netlink.h"

#include "apply/routes/rule.h"
#include "observe/sample.h"
#include "prefix.h"
#include "target.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <sanitizer/asan_interface.h>
#include <string.h>
#include <sys/socket.h>

enum { TABLE = 7230, SOMEBODY = 4711, MAX_REQUESTS = 8 };

static struct netlink netlink;
static struct case_bytes said; /* the rest of the datagrams */
static uint32_t n_datagrams, first_request;
static bool is_asked;  /* a request was sent: later messages may answer it */
static int send_error; /* errno of the next send; 0: it succeeds */

/* What is sent the kernel judges in the tests between namespaces. */
__extension__ ssize_t sendto(int fd, const void *bytes, size_t n, int flags,
                             const struct sockaddr *to, socklen_t n_to)
{
    CASE_CHECK(fd >= 0 && bytes && flags == 0 && to && n_to == sizeof(struct sockaddr_nl));
    is_asked = true;
    errno = send_error;
    return send_error ? -1 : (ssize_t)n;
}

/* Turns messages with sequence number and port 0 into answers to our first request. */
static void answer(uint8_t *bytes, size_t n, uint32_t first)
{
    struct nlmsghdr header;

    for (size_t at = 0; at + sizeof(header) <= n; at += NLMSG_ALIGN((size_t)header.nlmsg_len)) {
        memcpy(&header, bytes + at, sizeof(header));
        header.nlmsg_seq += first;
        header.nlmsg_pid += mnl_socket_get_portid(netlink.socket);
        memcpy(bytes + at, &header, sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > n - at)
            break;
    }
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    static const int errors[] = { EINTR, ENOBUFS, ENOMEM, EAGAIN };
    struct sockaddr_nl from = { .nl_family = AF_NETLINK };
    struct iovec *room = msg->msg_iov;
    uint8_t how = is_asked ? case_u8(&said) : 0;
    uint8_t *bytes;
    size_t n;

    CASE_CHECK(fd >= 0 && flags == MSG_DONTWAIT && msg->msg_iovlen == 1);
    if (!is_asked || said.left == 0 || how & 2) {
        errno = !is_asked || said.left == 0 ? EAGAIN : errors[how / 4 % 4];
        return -1;
    }
    n = (size_t)case_u8(&said) << 8;
    n |= case_u8(&said);
    bytes = case_copy(&said, n, &n);
    answer(bytes, n, first_request);
    msg->msg_flags = n > room->iov_len ? MSG_TRUNC : 0;
    n = n > room->iov_len ? room->iov_len : n;
    /* The reader must not use bytes after the datagram. */
    ASAN_UNPOISON_MEMORY_REGION(room->iov_base, room->iov_len);
    memcpy(room->iov_base, bytes, n);
    ASAN_POISON_MEMORY_REGION((uint8_t *)room->iov_base + n, room->iov_len - n);
    free(bytes);
    from.nl_pid = how & 1 ? SOMEBODY : 0;
    memcpy(msg->msg_name, &from, sizeof(from));
    n_datagrams++;
    return (ssize_t)n;
}

struct answers {
    uint32_t n_requests;
    bool is_last_answered;
};

static void on_answer(void *userdata, uint32_t n, const struct nlmsghdr *message)
{
    const struct nlmsgerr *refusal = NLMSG_DATA(message);
    bool has_error = message->nlmsg_len >= NLMSG_LENGTH(sizeof(refusal->error));
    bool is_whole = message->nlmsg_len >= NLMSG_LENGTH(sizeof(*refusal));
    struct answers *answers = userdata;

    CASE_CHECK(n < answers->n_requests && message->nlmsg_seq == first_request + n);
    CASE_CHECK(message->nlmsg_pid == mnl_socket_get_portid(netlink.socket));
    if (message->nlmsg_type == NLMSG_ERROR) {
        CASE_CHECK(netlink.error == (has_error && refusal->error <= 0 ? refusal->error : -EBADMSG));
        CASE_CHECK(!*netlink.text || (is_whole && memmem(message, message->nlmsg_len, netlink.text,
                                                         strlen(netlink.text))));
        answers->is_last_answered |= n == answers->n_requests - 1;
    } else {
        CASE_CHECK(netlink.error == 0 && !*netlink.text);
    }
}

static struct nlmsghdr *request(void *room)
{
    const struct rule rule = { .family = AF_INET, .priority = 5, .table = TABLE };

    return message_rule(room, RTM_NEWRULE, &rule);
}

static void exchange(uint32_t n_requests)
{
    struct answers answers = { .n_requests = n_requests };
    int r;

    first_request = netlink.sequence + 1;
    for (uint32_t i = 0; i < n_requests; i++)
        netlink_add(&netlink, request(netlink_room(&netlink)));
    r = netlink_exchange(&netlink, on_answer, &answers);
    CASE_CHECK(r <= 0 && (r == 0) == answers.is_last_answered);
    CASE_CHECK(netlink_exchange(&netlink, on_answer, &answers) == 0);
}

static void ask_once(void)
{
    struct riptide_error error = { .text = "" };

    first_request = netlink.sequence + 1;
    CASE_CHECK(netlink_request(&netlink, request(netlink_room(&netlink)), &error) <= 0);
    CASE_CHECK(memchr(error.text, '\0', sizeof(error.text)));
}

/* A message about a socket gives no sample, or one with a window and a peer. */
static void check_socket(const void *payload, size_t n)
{
    struct riptide_sample sample, before;

    memset(&sample, 0xdd, sizeof(sample));
    memcpy(&before, &sample, sizeof(sample));
    if (sample_parse(&sample, payload, n))
        CASE_CHECK(prefix_is_valid(&sample.dst) && sample.cwnd > 0 && !sample.closed);
    else
        CASE_CHECK(memcmp(&before, &sample, sizeof(sample)) == 0);
}

/* Ends at a message of unknown type. */
static int on_message(void *userdata, const struct nlmsghdr *message)
{
    (void)userdata;
    CASE_CHECK(message->nlmsg_seq == first_request && message->nlmsg_type != NLMSG_DONE &&
               message->nlmsg_type != NLMSG_ERROR);
    CASE_CHECK(message->nlmsg_pid == mnl_socket_get_portid(netlink.socket));
    if (message->nlmsg_type == TCPDIAG_GETSOCK || message->nlmsg_type == SOCK_DIAG_BY_FAMILY)
        check_socket(NLMSG_DATA(message), NLMSG_PAYLOAD(message, 0));
    return message->nlmsg_type > 2 * RTM_MAX ? -ENOTSUP : 0;
}

static void dump(uint8_t family)
{
    int r;

    first_request = netlink.sequence + 1;
    r = netlink_dump(&netlink, message_dump(netlink_room(&netlink), RTM_GETROUTE,
                                            sizeof(struct rtmsg), family, TABLE));
    CASE_CHECK(r == -send_error);
    while (r == 0) {
        n_datagrams = 0;
        r = netlink_dump_step(&netlink, on_message, NULL);
        CASE_CHECK(r != 0 || n_datagrams > 0);
    }
    CASE_CHECK(r < 0 || r == RIPTIDE_E_DONE);
}

__attribute__((destructor)) static void close_socket(void)
{
    netlink_deinit(&netlink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    uint8_t how = case_u8(&bytes);

    if (how & 128)
        netlink_deinit(&netlink);
    if (!netlink.socket)
        CASE_CHECK(netlink_init(&netlink) == 0);
    said = bytes;
    is_asked = false;
    send_error = how & 64 ? ENOBUFS : 0;
    if (how & 1)
        dump(how & 2 ? AF_INET6 : AF_INET);
    else if (how & 32)
        ask_once();
    else
        exchange(1 + how / 2 % MAX_REQUESTS);
    return 0;
}
