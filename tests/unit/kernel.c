/* SPDX-License-Identifier: MIT */
/* See kernel.h. */
/* With _FORTIFY_SOURCE poll is an inline function of libc, which no other can replace. */
#undef _FORTIFY_SOURCE

#include "kernel.h"

#include "case_bytes.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { FIRST_FD = 20000, EPOLL_FD = 30000, MAX_QUEUED = 64 };

struct datagram {
    uint8_t *bytes;
    size_t n;
    int error;
};

static struct queue {
    struct datagram datagrams[MAX_QUEUED];
    size_t n, next;
    uint32_t seq; /* of the last request */
    bool is_watched;
} queues[KERNEL_N_SOCKETS];

static int n_open;

static void empty(struct queue *queue)
{
    for (size_t i = 0; i < queue->n; i++)
        free(queue->datagrams[i].bytes);
    queue->n = queue->next = 0;
}

void kernel_reset(void)
{
    for (int i = 0; i < KERNEL_N_SOCKETS; i++) {
        empty(&queues[i]);
        queues[i].seq = 0;
        queues[i].is_watched = false;
    }
    n_open = 0;
}

static struct queue *queue_of(int fd)
{
    CASE_CHECK(fd >= FIRST_FD && fd < FIRST_FD + KERNEL_N_SOCKETS);
    return &queues[fd - FIRST_FD];
}

static void queue_add(enum kernel_socket index, struct datagram datagram)
{
    struct queue *queue = &queues[index];

    if (queue->next == queue->n)
        empty(queue);
    if (queue->n == MAX_QUEUED)
        free(datagram.bytes);
    else
        queue->datagrams[queue->n++] = datagram;
}

void kernel_say(enum kernel_socket index, const uint8_t *bytes, size_t n)
{
    struct datagram datagram = { .bytes = malloc(n ? n : 1), .n = n };

    CASE_CHECK(datagram.bytes);
    memcpy(datagram.bytes, bytes, n);
    queue_add(index, datagram);
}

void kernel_fail(enum kernel_socket index, int error)
{
    queue_add(index, (struct datagram){ .error = error });
}

static bool is_silent(const struct queue *queue)
{
    return queue->next == queue->n;
}

bool kernel_is_readable(void)
{
    for (int i = 0; i < KERNEL_N_SOCKETS; i++) {
        if (queues[i].is_watched && !is_silent(&queues[i]))
            return true;
    }
    return false;
}

/* Inserts the sequence number of the request, which is unknown when the answer is queued. */
static void answer(struct datagram *datagram, uint32_t seq, uint32_t port)
{
    struct nlmsghdr header;
    size_t at = 0;

    while (at + sizeof(header) <= datagram->n) {
        memcpy(&header, datagram->bytes + at, sizeof(header));
        header.nlmsg_seq += seq;
        header.nlmsg_pid += port;
        memcpy(datagram->bytes + at, &header, sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > datagram->n - at)
            break;
        at += NLMSG_ALIGN((size_t)header.nlmsg_len);
    }
}

int socket(int domain, int type, int protocol)
{
    CASE_CHECK(domain == AF_NETLINK && protocol >= 0);
    if (!(type & SOCK_NONBLOCK)) /* the one whose cookie an observer asks for; it goes on without */
        return -1;
    CASE_CHECK(n_open < KERNEL_N_SOCKETS);
    return FIRST_FD + n_open++;
}

__extension__ int bind(int fd, const struct sockaddr *address, socklen_t n)
{
    CASE_CHECK(queue_of(fd) && address && n == sizeof(struct sockaddr_nl));
    return 0;
}

__extension__ int connect(int fd, const struct sockaddr *address, socklen_t n)
{
    CASE_CHECK(queue_of(fd) && address && n == sizeof(struct sockaddr_nl));
    return 0;
}

__extension__ int getsockname(int fd, struct sockaddr *address, socklen_t *n)
{
    const struct sockaddr_nl own = { .nl_family = AF_NETLINK, .nl_pid = (uint32_t)fd };

    memcpy(address, &own, sizeof(own));
    *n = sizeof(own);
    return 0;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t n)
{
    CASE_CHECK(queue_of(fd) && level && option && value && n);
    return 0;
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *n)
{
    CASE_CHECK(queue_of(fd) && level == SOL_SOCKET && option == SO_MEMINFO);
    memset(value, 0, *n);
    return 0;
}

int epoll_create1(int flags)
{
    CASE_CHECK(flags == EPOLL_CLOEXEC);
    return EPOLL_FD;
}

int epoll_ctl(int fd, int operation, int member, struct epoll_event *event)
{
    struct queue *queue = queue_of(member);

    CASE_CHECK(fd == EPOLL_FD && event && event->events == EPOLLIN);
    CASE_CHECK(operation == (queue->is_watched ? EPOLL_CTL_DEL : EPOLL_CTL_ADD));
    queue->is_watched = operation == EPOLL_CTL_ADD;
    return 0;
}

/* Not inlined: libc declares that poll only writes to its argument, so gcc warns of this read. */
__attribute__((noinline)) static const struct queue *queue_asked_for(const struct pollfd *fds)
{
    return queue_of(fds->fd);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    CASE_CHECK(n == 1 && timeout == 0);
    return is_silent(queue_asked_for(fds)) ? 0 : 1;
}

/* clang calls this instead of poll with `-D_FORTIFY_SOURCE` of glibc 2.41, if it knows the room. */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
    CASE_CHECK(room >= sizeof(*fds));
    return poll(fds, n, timeout);
}

/* The answer to each request for routes. */
static const struct {
    struct nlmsghdr header;
    int32_t error;
} no_routes = { .header = { .nlmsg_len = sizeof(no_routes), .nlmsg_type = NLMSG_DONE } };

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    const struct nlmsghdr *request = msg->msg_iov[0].iov_base;
    size_t n = 0;

    for (size_t i = 0; i < (size_t)msg->msg_iovlen; i++)
        n += msg->msg_iov[i].iov_len;
    CASE_CHECK(n == request->nlmsg_len && flags == 0 && request->nlmsg_flags & NLM_F_DUMP);
    queue_of(fd)->seq = request->nlmsg_seq;
    if (queue_of(fd) == &queues[KERNEL_ROUTES])
        kernel_say(KERNEL_ROUTES, (const uint8_t *)&no_routes, sizeof(no_routes));
    return (ssize_t)n;
}

__extension__ ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to,
               socklen_t to_bytes)
{
    struct iovec iov = { (void *)bytes, n };

    CASE_CHECK(to && to_bytes == sizeof(struct sockaddr_nl));
    return sendmsg(fd, &(struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 }, flags);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    struct queue *queue = queue_of(fd);
    struct datagram *datagram;
    const struct sockaddr_nl from = { .nl_family = AF_NETLINK };
    size_t n;

    CASE_CHECK(flags == MSG_DONTWAIT && msg->msg_iovlen == 1);
    if (queue->next == queue->n) {
        errno = EAGAIN;
        return -1;
    }
    datagram = &queue->datagrams[queue->next++];
    if (datagram->error) {
        errno = datagram->error;
        return -1;
    }
    answer(datagram, queue->seq, (uint32_t)fd);
    n = datagram->n < msg->msg_iov->iov_len ? datagram->n : msg->msg_iov->iov_len;
    memcpy(msg->msg_iov->iov_base, datagram->bytes, n);
    memcpy(msg->msg_name, &from, sizeof(from));
    msg->msg_namelen = sizeof(from);
    msg->msg_flags = datagram->n > n ? MSG_TRUNC : 0;
    return (ssize_t)n;
}
