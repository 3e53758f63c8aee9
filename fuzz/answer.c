/* SPDX-License-Identifier: MIT */
/*
 * Any datagrams as answers to a batch of requests, or to a dump: only answers to our requests are
 * handed out, each with its own error and text, and the exchange always ends. Of a message about a
 * socket: no sample, or one with the values that the macros of <linux/rtnetlink.h> find in struct
 * tcp_info.
 */
#include "netlink.h"

#include "apply/routes/route.h"
#include "case_bytes.h"
#include "observe/sample.h"
#include "prefix.h"
#include "target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sanitizer/asan_interface.h>
#include <string.h>
#include <sys/socket.h>

enum { TABLE = 7230, SOMEBODY = 4711, MAX_REQUESTS = 8 };

static struct netlink netlink;
static struct case_bytes said; /* the rest of the datagrams */
static uint32_t n_datagrams, first_request;
static bool is_asked;  /* a request was sent: later messages may answer it */
static int send_error; /* errno of the next send; 0: it succeeds */

/* Checks what is sent: requests in a row, the last of which is a dump or to be acknowledged. */
__extension__ ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to,
               socklen_t n_to)
{
    const struct nlmsghdr *request = bytes;
    size_t left = n;

    CASE_CHECK(fd >= 0 && flags == 0 && n_to == sizeof(struct sockaddr_nl));
    CASE_CHECK(((const struct sockaddr_nl *)(const void *)to)->nl_pid == 0);
    for (;;) {
        CASE_CHECK(left >= sizeof(*request) && request->nlmsg_len >= sizeof(*request) &&
                   NLMSG_ALIGN(request->nlmsg_len) <= left);
        left -= NLMSG_ALIGN(request->nlmsg_len);
        if (left == 0)
            break;
        request = (const void *)((const char *)request + NLMSG_ALIGN(request->nlmsg_len));
    }
    CASE_CHECK(request->nlmsg_flags & (NLM_F_ACK | NLM_F_DUMP));
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
        header.nlmsg_pid += netlink_port(&netlink);
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
    bytes = case_copy(&said, case_u16(&said), &n);
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

static void check_error(const struct nlmsghdr *message, int error, const char *text)
{
    const struct nlmsgerr *refusal = NLMSG_DATA(message);
    bool has_error = message->nlmsg_len >= NLMSG_LENGTH(sizeof(refusal->error));
    bool is_whole = message->nlmsg_len >= NLMSG_LENGTH(sizeof(*refusal));

    CASE_CHECK(error == (has_error && refusal->error <= 0 ? refusal->error : -EBADMSG));
    CASE_CHECK(!*text || (is_whole && memmem(message, message->nlmsg_len, text, strlen(text))));
}

struct answers {
    uint32_t n_requests;
    bool is_last_answered;
};

static void on_answer(void *userdata, uint32_t n, const struct nlmsghdr *message, int error,
                      const char *text)
{
    struct answers *answers = userdata;

    CASE_CHECK(n < answers->n_requests && message->nlmsg_seq == first_request + n);
    CASE_CHECK(message->nlmsg_pid == netlink_port(&netlink));
    if (message->nlmsg_type == NLMSG_ERROR) {
        check_error(message, error, text);
        answers->is_last_answered |= n == answers->n_requests - 1;
    } else {
        CASE_CHECK(error == 0 && !*text);
    }
}

static struct nlmsghdr *request(void *room)
{
    const struct rule rule = { .family = AF_INET, .priority = 5, .table = TABLE };

    return message_rule(room, RTM_NEWRULE, &rule);
}

static void exchange(uint32_t n_requests)
{
    static struct netlink_room elsewhere;
    struct answers answers = { .n_requests = n_requests };
    int r;

    first_request = netlink.sequence + 1;
    for (uint32_t i = 0; i < n_requests; i++) {
        CASE_CHECK(netlink_has_room(&netlink, 1));
        /* Built in the batch, or copied into it. */
        netlink_add(&netlink, request(i % 2 ? netlink_room(&netlink) : &elsewhere));
    }
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

static void check_destination(const struct riptide_prefix *dst, const struct inet_diag_msg *msg)
{
    const uint8_t *peer = (const uint8_t *)msg->id.idiag_dst;
    struct in_addr v4;
    struct in6_addr v6;

    CASE_CHECK(prefix_is_valid(dst));
    if (dst->family != msg->idiag_family) { /* IPv4-mapped */
        CASE_CHECK(dst->family == AF_INET && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)peer));
        peer += sizeof(v6) - sizeof(v4);
    }
    CASE_CHECK(memcmp(dst->addr, peer, prefix_family_bits(dst->family) / 8) == 0);
    CASE_CHECK(dst->len == prefix_family_bits(dst->family));
    memcpy(&v4, dst->addr, sizeof(v4));
    memcpy(&v6, dst->addr, sizeof(v6));
    if (dst->family == AF_INET) {
        CASE_CHECK(ntohl(v4.s_addr) >> 24 != 127 && ntohl(v4.s_addr) >> 16 != 0xa9fe);
        CASE_CHECK(!IN_MULTICAST(ntohl(v4.s_addr)) && v4.s_addr && v4.s_addr != INADDR_BROADCAST);
    } else {
        CASE_CHECK(!IN6_IS_ADDR_LOOPBACK(&v6) && !IN6_IS_ADDR_UNSPECIFIED(&v6));
        CASE_CHECK(!IN6_IS_ADDR_MULTICAST(&v6) && !IN6_IS_ADDR_LINKLOCAL(&v6));
        CASE_CHECK(!IN6_IS_ADDR_V4MAPPED(&v6));
    }
}

/* The last of that type, as the kernel's own readers have it; or NULL. */
static struct rtattr *find(const void *payload, size_t n, int type)
{
    struct rtattr *at = (struct rtattr *)((char *)payload + sizeof(struct inet_diag_msg));
    struct rtattr *found = NULL;
    int left = (int)(n - sizeof(struct inet_diag_msg));

    while (RTA_OK(at, left)) {
        if ((at->rta_type & NLA_TYPE_MASK) == type)
            found = at;
        left -= (int)RTA_ALIGN(at->rta_len);
        at = (struct rtattr *)((char *)at + RTA_ALIGN(at->rta_len));
    }
    return found;
}

static void check_figures(const struct riptide_sample *sample, const struct rtattr *attribute)
{
    struct tcp_info info = { 0 };
    size_t n = RTA_PAYLOAD(attribute);

    memcpy(&info, RTA_DATA(attribute), n < sizeof(info) ? n : sizeof(info));
    CASE_CHECK(sample->cwnd == info.tcpi_snd_cwnd && sample->cwnd > 0);
    CASE_CHECK(sample->ssthresh_segs == info.tcpi_snd_ssthresh);
    CASE_CHECK(sample->rtt_us == info.tcpi_rtt);
    CASE_CHECK(sample->min_rtt_us == info.tcpi_min_rtt || info.tcpi_min_rtt == UINT32_MAX);
    CASE_CHECK(sample->mss_bytes == info.tcpi_snd_mss && sample->pmtu_bytes == info.tcpi_pmtu);
    CASE_CHECK(sample->data_segs_out == info.tcpi_data_segs_out);
    CASE_CHECK(sample->retrans_segs == info.tcpi_total_retrans);
    CASE_CHECK(sample->acked_bytes == info.tcpi_bytes_acked);
    CASE_CHECK(sample->delivery_rate_Bps == info.tcpi_delivery_rate);
    CASE_CHECK(sample->last_data_sent_ms == info.tcpi_last_data_sent);
    CASE_CHECK(sample->app_limited == info.tcpi_delivery_rate_app_limited);
    CASE_CHECK(sample->busy_time_us == info.tcpi_busy_time);
}

static void check_rest(const struct riptide_sample *sample, const struct inet_diag_msg *msg)
{
    CASE_CHECK(sample->local_port == ntohs(msg->id.idiag_sport));
    CASE_CHECK(sample->remote_port == ntohs(msg->id.idiag_dport));
    CASE_CHECK(!sample->closed);
}

/* A message about a socket gives no sample, or one with the values that the kernel's macros find. */
static void check_socket(const void *payload, size_t n)
{
    struct riptide_sample sample, before;
    enum sample_verdict verdict;

    memset(&sample, 0xdd, sizeof(sample));
    memcpy(&before, &sample, sizeof(sample));
    verdict = sample_parse(&sample, payload, n);
    CASE_CHECK(verdict <= SAMPLE_MALFORMED);
    if (verdict == SAMPLE_OK) {
        check_destination(&sample.dst, payload);
        CASE_CHECK(find(payload, n, INET_DIAG_INFO));
        check_figures(&sample, find(payload, n, INET_DIAG_INFO));
        check_rest(&sample, payload);
    } else {
        CASE_CHECK(memcmp(&before, &sample, sizeof(sample)) == 0);
    }
}

/* Ends at a message of unknown type. */
static int on_message(void *userdata, const struct nlmsghdr *message)
{
    (void)userdata;
    CASE_CHECK(message->nlmsg_seq == first_request && message->nlmsg_type != NLMSG_DONE &&
               message->nlmsg_type != NLMSG_ERROR);
    CASE_CHECK(message->nlmsg_pid == netlink_port(&netlink));
    if (message->nlmsg_type == TCPDIAG_GETSOCK || message->nlmsg_type == SOCK_DIAG_BY_FAMILY)
        check_socket(NLMSG_DATA(message), NLMSG_PAYLOAD(message, 0));
    return message->nlmsg_type > 2 * RTM_MAX ? -ENOTSUP : 0;
}

static struct nlmsghdr *begin(uint8_t kind, void *room)
{
    is_asked = false;
    first_request = netlink.sequence + 1;
    switch (kind % 5) {
    case 0:
        return message_dump(room, RTM_GETROUTE, AF_INET, TABLE);
    case 1:
        return message_dump(room, RTM_GETRULE, AF_INET6, 0);
    case 2:
        return message_dump(room, RTM_GETNEIGH, AF_INET6, 0);
    case 3:
        return message_dump(room, RTM_GETLINK, AF_UNSPEC, 0);
    default:
        return message_dump(room, RTM_GETROUTE, AF_INET6, TABLE);
    }
}

static void dump(uint8_t kind)
{
    int r = netlink_dump(&netlink, begin(kind, netlink_room(&netlink)));

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
        dump(how / 2);
    else if (how & 32)
        ask_once();
    else
        exchange(1 + how / 2 % MAX_REQUESTS);
    return 0;
}
