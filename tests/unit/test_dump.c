/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/observer: the order of a dump's requests where answers come late, in part or never.
 * What a socket sends and receives is replaced for these cases alone, as the kernel cannot be
 * brought to them at will; tests/netns asks it for everything else.
 */
#undef _FORTIFY_SOURCE /* with it poll is an inline function, which no other can replace */

#include "unit.h"

#include <linux/rtnetlink.h>
#include <poll.h>
#include <riptide/observe.h>
#include <sys/epoll.h>

NEEDS_NETLINK(NETLINK_SOCK_DIAG)

enum { MANY = 200 };

struct answer {
    struct nlmsghdr header;
    int32_t error;
};

static struct riptide_observer *observer;
static bool is_watched;    /* the socket for sockets */
static int routes_fd;      /* the other one */
static uint32_t sequences[2]; /* of the last request for sockets, and for routes */
static bool has_asked_for_routes;
/* What the kernel says about sockets; type 0: the read fails with that error. */
static struct answer said[64];
static size_t n_said, n_read;

static void say(uint16_t type, int32_t error)
{
    said[n_said++] = (struct answer){
        { .nlmsg_len = sizeof(struct answer), .nlmsg_type = type }, error
    };
}

int epoll_ctl(int fd, int operation, int member, struct epoll_event *event)
{
    assert_true(fd >= 0 && event);
    if (member != routes_fd)
        is_watched = operation == EPOLL_CTL_ADD;
    return 0;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    assert_true(n == 1 && timeout == 0);
    return fds && n_read < n_said;
}

/* clang calls this instead of poll with `-D_FORTIFY_SOURCE` of glibc 2.41, if it knows the room. */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
    return room > 0 ? poll(fds, n, timeout) : -1;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    const struct nlmsghdr *request = msg->msg_iov[0].iov_base;
    bool is_of_routes = request->nlmsg_type == RTM_GETROUTE;

    assert_true(flags == 0 && request->nlmsg_flags & NLM_F_DUMP);
    if (is_of_routes)
        routes_fd = fd;
    has_asked_for_routes |= is_of_routes;
    sequences[is_of_routes] = request->nlmsg_seq;
    return request->nlmsg_len;
}

__extension__ ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to,
               socklen_t n_to)
{
    struct iovec iov = { (void *)bytes, n };

    assert_true(to && n_to);
    return sendmsg(fd, &(struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 }, flags);
}

/* As the answer to whatever is the latest request when it is read. The host has no routes. */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    const struct sockaddr_nl from = { .nl_family = AF_NETLINK };
    struct answer answer = { { .nlmsg_len = sizeof(answer), .nlmsg_type = NLMSG_DONE }, 0 };
    struct sockaddr_nl own;
    socklen_t n_own = sizeof(own);

    assert_int_equal(flags, MSG_DONTWAIT);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &n_own), 0);
    errno = EAGAIN;
    if (fd == routes_fd ? !has_asked_for_routes : n_read == n_said)
        return -1;
    if (fd == routes_fd)
        has_asked_for_routes = false;
    else
        answer = said[n_read++];
    errno = answer.error;
    if (answer.header.nlmsg_type == 0)
        return -1;
    answer.header.nlmsg_seq = sequences[fd == routes_fd];
    answer.header.nlmsg_pid = own.nl_pid;
    memcpy(msg->msg_iov->iov_base, &answer, sizeof(answer));
    memcpy(msg->msg_name, &from, sizeof(from));
    msg->msg_namelen = sizeof(from);
    msg->msg_flags = 0;
    return sizeof(answer);
}

static int setup(void **state)
{
    struct riptide_observer_config config;

    routes_fd = -1;
    n_said = n_read = 0;
    riptide_observer_config_init(&config, sizeof(config));
    config.destroy_events = false;
    return riptide_observer_new(&observer, &config, NULL);
}

static int teardown(void **state)
{
    riptide_observer_free(observer);
    return 0;
}

static struct riptide_observer_stats stats(void)
{
    struct riptide_observer_stats stats;

    riptide_observer_get_stats(observer, &stats, sizeof(stats));
    return stats;
}

/* Like a loop that waits until the fd is readable. Outcomes: the last of pop. */
static int run(void)
{
    const struct riptide_sample *sample;
    int r = RIPTIDE_E_AGAIN;

    for (int i = 0; i < MANY && r != RIPTIDE_E_DONE && is_watched && n_read < n_said; i++) {
        assert_int_equal(riptide_observer_dispatch(observer), RIPTIDE_E_MORE);
        r = riptide_observer_pop(observer, &sample);
    }
    return r;
}

static void assert_ends(void)
{
    say(NLMSG_DONE, 0);
    assert_int_equal(run(), RIPTIDE_E_DONE);
    assert_int_equal(stats().dumps, 1);
}

TEST_WITH(dump_ends_with_the_kernels_last_message, setup, teardown)
{
    assert_int_equal(riptide_observer_start(observer), 0);
    assert_ends();
}

/* A full queue would lose the answer silently; its content answers nothing new. */
TEST_WITH(after_an_overrun_the_next_dump_waits_until_the_queue_is_empty, setup, teardown)
{
    assert_int_equal(riptide_observer_start(observer), 0);
    say(0, ENOBUFS);
    for (int old = 0; old < 5; old++)
        say(NLMSG_DONE, 0);
    assert_int_equal(riptide_observer_dispatch(observer), -ENOBUFS);
    assert_int_equal(riptide_observer_start(observer), 0);
    assert_int_equal(run(), RIPTIDE_E_AGAIN);
    assert_ends();
    assert_int_equal(stats().failures, 1);
}

TEST_WITH(request_is_repeated_where_an_old_dump_ends, setup, teardown)
{
    assert_int_equal(riptide_observer_start(observer), 0);
    say(NLMSG_ERROR, -EBUSY);
    say(NLMSG_DONE, 0); /* the old one's */
    assert_int_equal(run(), RIPTIDE_E_AGAIN);
    assert_ends();
    assert_int_equal(stats().failures, 0);
}

/* Its caller starts the next one time and again, as a host's timer does. */
TEST_WITH(dump_without_an_answer_is_given_up, setup, teardown)
{
    int n = 0, r;

    assert_int_equal(riptide_observer_start(observer), 0);
    do
        r = riptide_observer_start(observer);
    while (r == -EBUSY && ++n < MANY);
    assert_int_equal(r, -ETIMEDOUT);
    assert_in_range(n, 2, 10);
    assert_int_equal(stats().failures, 1);
    assert_int_equal(riptide_observer_start(observer), 0);
    assert_ends();
}

TEST_WITH(dump_that_makes_progress_is_not_given_up, setup, teardown)
{
    assert_int_equal(riptide_observer_start(observer), 0);
    for (int i = 0; i < 50; i++) {
        say(NLMSG_NOOP, 0);
        assert_int_equal(run(), RIPTIDE_E_AGAIN);
        assert_int_equal(riptide_observer_start(observer), -EBUSY);
    }
}
