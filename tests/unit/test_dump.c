/* SPDX-License-Identifier: MIT */
/*
 * The order of a dump's requests where answers come late, in part or never. The kernel is a
 * stand-in for these cases alone: it cannot be brought to them at will. What it does otherwise is
 * asked of it in tests/netns.
 */
/* Fortified, poll is an inline function of libc's that no other can take the place of. */
#undef _FORTIFY_SOURCE

#include "observe/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { MAX_QUEUED = 64, MANY_DISPATCHES = 200 };

/* In the place of libc's; the first dump_open has the real netlink sockets. */
ssize_t sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t sendto(int fd, const void *bytes, size_t n, int flags, __CONST_SOCKADDR_ARG to,
               socklen_t to_bytes);
ssize_t recvmsg(int fd, struct msghdr *msg, int flags);
int poll(struct pollfd *fds, nfds_t n, int timeout);
/* What clang compiles poll to where the room is known, with `-D_FORTIFY_SOURCE` of glibc 2.41. */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);

struct datagram {
    struct nlmsghdr header;
    int32_t error;
};

/* As af_netlink.c has it: a socket that has overrun loses silently until its queue is empty. */
struct queue {
    struct datagram datagrams[MAX_QUEUED];
    size_t n, next;
    bool is_congested;
    int error;       /* for the next recvmsg */
    uint32_t n_busy; /* requests to be answered with -EBUSY */
    uint32_t n_requests;
};

static struct fixture {
    struct dump dump;
    struct riptide_observer_stats stats;
    struct riptide_scope scope;
    struct filter filter;
    struct queue queues[2];
} fixture;

enum { ROUTES, SOCKETS, N_CHANNELS };

static struct queue *queue_of(int fd)
{
    return &fixture.queues[fd == mnl_socket_get_fd(fixture.dump.sockets) ? SOCKETS : ROUTES];
}

static uint32_t portid_of(const struct queue *queue)
{
    return queue == &fixture.queues[SOCKETS] ? fixture.dump.portid
                                             : netlink_port(&fixture.dump.routes);
}

static bool is_empty(const struct queue *queue)
{
    return queue->next == queue->n && !queue->error;
}

static void put(struct queue *queue, uint32_t seq, uint32_t portid, uint16_t type, int32_t error)
{
    assert_true(queue->n < MAX_QUEUED);
    queue->datagrams[queue->n++] = (struct datagram){
        .header = { .nlmsg_len = sizeof(struct datagram),
                    .nlmsg_type = type,
                    .nlmsg_seq = seq,
                    .nlmsg_pid = portid },
        .error = error,
    };
}

static void overrun(struct queue *queue)
{
    queue->is_congested = true;
    queue->error = ENOBUFS;
}

static ssize_t take_request(struct queue *queue, const struct nlmsghdr *request)
{
    bool is_busy = queue->n_busy > 0;

    queue->n_requests++;
    queue->n_busy -= is_busy;
    if (!queue->is_congested)
        put(queue, request->nlmsg_seq, portid_of(queue), is_busy ? NLMSG_ERROR : NLMSG_DONE,
            is_busy ? -EBUSY : 0);
    return request->nlmsg_len;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    (void)flags;
    return take_request(queue_of(fd), msg->msg_iov[0].iov_base);
}

ssize_t sendto(int fd, const void *bytes, size_t n, int flags, __CONST_SOCKADDR_ARG to,
               socklen_t to_bytes)
{
    (void)n, (void)flags, (void)to.__sockaddr__, (void)to_bytes;
    return take_request(queue_of(fd), bytes);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    struct queue *queue = queue_of(fd);
    const struct datagram *datagram = &queue->datagrams[queue->next];

    (void)flags;
    if (is_empty(queue))
        errno = EAGAIN;
    else if (queue->error)
        errno = queue->error;
    else
        errno = 0;
    queue->error = 0;
    if (errno)
        return -1;
    memcpy(msg->msg_name, &kernel, sizeof(kernel));
    msg->msg_namelen = sizeof(kernel);
    msg->msg_flags = 0;
    memcpy(msg->msg_iov[0].iov_base, datagram, sizeof(*datagram));
    queue->next++;
    if (is_empty(queue))
        queue->is_congested = false;
    return sizeof(*datagram);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    assert_int_equal(n, 1);
    assert_int_equal(timeout, 0);
    return is_empty(queue_of(fds->fd)) ? 0 : 1;
}

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
    assert_true(room >= sizeof(*fds));
    return poll(fds, n, timeout);
}

static int setup(void **state)
{
    struct riptide_error error;

    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    fixture.dump.epoll_fd = -1;
    fixture.dump.stats = &fixture.stats;
    fixture.dump.filter = &fixture.filter;
    fixture.dump.max_restarts = 3;
    return filter_init(&fixture.filter, &fixture.scope) < 0 || dump_open(&fixture.dump, &error) < 0
               ? -1
               : 0;
}

static int teardown(void **state)
{
    (void)state;
    dump_close(&fixture.dump);
    filter_deinit(&fixture.filter);
    return 0;
}

/* As a loop does, that is told when there is something to read. Outcomes: of dump_pop. */
static int run(void)
{
    const struct nlmsghdr *message;
    int r;

    for (int i = 0; i < MANY_DISPATCHES; i++) {
        if (is_empty(&fixture.queues[ROUTES]) && is_empty(&fixture.queues[SOCKETS]))
            return RIPTIDE_E_AGAIN;
        r = dump_dispatch(&fixture.dump);
        if (r < 0)
            return r;
        while ((r = dump_pop(&fixture.dump, &message)) != RIPTIDE_E_AGAIN) {
            if (r == RIPTIDE_E_DONE)
                return r;
        }
    }
    return RIPTIDE_E_AGAIN;
}

static void asks_for_addresses_then_for_sockets(void **state)
{
    (void)state;
    assert_int_equal(dump_start(&fixture.dump), 0);
    assert_int_equal(run(), RIPTIDE_E_DONE);
    assert_int_equal(fixture.queues[ROUTES].n_requests, 2);
    assert_int_equal(fixture.queues[SOCKETS].n_requests, 1);
}

/* A full queue would lose the answer, and say so no more. */
static void after_an_overrun_it_asks_again_where_the_queue_is_empty(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_CHANNELS; i++) {
        assert_int_equal(dump_start(&fixture.dump), 0);
        for (int junk = 0; junk < 5; junk++)
            put(&fixture.queues[i], 0, 0, 0, 0);
        overrun(&fixture.queues[i]);
        assert_int_equal(run(), RIPTIDE_E_DONE);
        assert_int_equal(fixture.stats.dumps, i + 1);
    }
    assert_int_equal(fixture.stats.failures, 0);
}

static void where_an_old_dump_is_under_way_it_asks_again_at_its_end(void **state)
{
    struct queue *queue = &fixture.queues[SOCKETS];

    (void)state;
    queue->n_busy = 1;
    assert_int_equal(dump_start(&fixture.dump), 0);
    assert_int_equal(run(), RIPTIDE_E_DONE);
    assert_int_equal(queue->n_requests, 2);
    assert_int_equal(fixture.stats.restarts, 0);
}

/* Its caller starts the next one time and again, as a host's timer does. */
static void a_dump_of_which_nothing_comes_is_given_up(void **state)
{
    struct queue *queue = &fixture.queues[ROUTES];
    int n = 0, r;

    (void)state;
    assert_int_equal(dump_start(&fixture.dump), 0);
    queue->next = queue->n; /* the answer is lost */
    do
        r = dump_start(&fixture.dump);
    while (r == -EBUSY && ++n < MANY_DISPATCHES);
    assert_int_equal(r, -ETIMEDOUT);
    assert_in_range(n, 2, 10);
    assert_int_equal(fixture.stats.failures, 1);
    assert_int_equal(dump_start(&fixture.dump), 0);
    assert_int_equal(run(), RIPTIDE_E_DONE);
}

static void a_dump_that_makes_progress_is_not_given_up(void **state)
{
    (void)state;
    assert_int_equal(dump_start(&fixture.dump), 0);
    for (int i = 0; i < 50; i++) {
        struct queue *queue = &fixture.queues[ROUTES];

        queue->n = queue->next = 0;
        put(queue, fixture.dump.routes.sequence, portid_of(queue), RTM_NEWROUTE, 0);
        assert_int_equal(dump_dispatch(&fixture.dump), 0);
        assert_int_equal(dump_start(&fixture.dump), -EBUSY);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(asks_for_addresses_then_for_sockets),
        TEST(after_an_overrun_it_asks_again_where_the_queue_is_empty),
        TEST(where_an_old_dump_is_under_way_it_asks_again_at_its_end),
        TEST(a_dump_of_which_nothing_comes_is_given_up),
        TEST(a_dump_that_makes_progress_is_not_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
