/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/dump: the order of a dump's requests where answers come late, in part or never. A
 * socket pair answers about sockets in the kernel's stead, which cannot be brought to it at will.
 */
#include "observe/dump.h"
#include "unit.h"

#include <sys/syscall.h>

NEEDS_NETLINK(NETLINK_SOCK_DIAG)

enum { MANY = 200 };

static struct {
    struct riptide_observer_stats stats;
    struct filter filter;
    struct dump dump;
    int kernel;     /* the other end of the dump's socket */
    int next_error; /* of a read; 0: none */
} bed;

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    int error = bed.next_error;

    bed.next_error = 0;
    errno = error;
    return error ? -1 : syscall(SYS_recvmsg, fd, msg, flags);
}

static int set_up(void **state)
{
    memset(&bed, 0, sizeof(bed));
    bed.dump.stats = &bed.stats;
    bed.dump.filter = &bed.filter;
    assert_int_equal(dump_open(&bed.dump), 0);
    bed.kernel = stand_in_for_kernel(mnl_socket_get_fd(bed.dump.sockets));
    assert_int_equal(dump_start(&bed.dump), 0);
    return 0;
}

static int tear_down(void **state)
{
    dump_close(&bed.dump);
    return close(bed.kernel);
}

/* As an answer to the latest request. */
static void say(uint16_t type, int32_t error)
{
    const struct {
        struct nlmsghdr header;
        int32_t error;
    } answer = { { .nlmsg_len = sizeof(answer),
                   .nlmsg_type = type,
                   .nlmsg_seq = bed.dump.seq,
                   .nlmsg_pid = mnl_socket_get_portid(bed.dump.sockets) },
                 error };

    assert_int_equal(send(bed.kernel, &answer, sizeof(answer), 0), sizeof(answer));
}

/* Reads what was said. Outcomes: the last of dump_pop. */
static int run(void)
{
    const struct nlmsghdr *message;
    int r;

    do {
        assert_int_equal(dump_dispatch(&bed.dump), 0);
        r = dump_pop(&bed.dump, &message);
    } while (r == RIPTIDE_E_AGAIN && !netlink_is_empty(bed.dump.sockets));
    return r;
}

static void assert_ends(void)
{
    say(NLMSG_DONE, 0);
    assert_int_equal(run(), RIPTIDE_E_DONE);
    assert_int_equal(bed.stats.dumps, 1);
}

TEST_WITH(dump_ends_with_the_kernels_last_message, set_up, tear_down)
{
    assert_ends();
}

/* A full queue would lose the answer silently; its content answers nothing new. */
TEST_WITH(after_an_overrun_the_next_dump_waits_until_the_queue_is_empty, set_up, tear_down)
{
    bed.next_error = ENOBUFS;
    for (int old = 0; old < 5; old++)
        say(NLMSG_DONE, 0);
    assert_int_equal(dump_dispatch(&bed.dump), -ENOBUFS);
    assert_int_equal(dump_start(&bed.dump), 0);
    assert_int_equal(dump_start(&bed.dump), -EBUSY);
    assert_int_equal(run(), RIPTIDE_E_AGAIN);
    assert_ends();
    assert_int_equal(bed.stats.failures, 1);
}

TEST_WITH(request_is_repeated_where_an_old_dump_ends, set_up, tear_down)
{
    say(NLMSG_ERROR, -EBUSY);
    say(NLMSG_DONE, 0); /* the old one's */
    assert_int_equal(run(), RIPTIDE_E_AGAIN);
    assert_ends();
    assert_int_equal(bed.stats.failures, 0);
}

/* Its caller starts the next one time and again, as a host's timer does. */
TEST_WITH(dump_without_an_answer_is_given_up, set_up, tear_down)
{
    int n = 0, r;

    do
        r = dump_start(&bed.dump);
    while (r == -EBUSY && ++n < MANY);
    assert_int_equal(r, -ETIMEDOUT);
    assert_int_equal(n, 3);
    assert_int_equal(bed.stats.failures, 1);
    assert_int_equal(dump_start(&bed.dump), 0);
    assert_ends();
}

TEST_WITH(dump_that_makes_progress_is_not_given_up, set_up, tear_down)
{
    for (int i = 0; i < 50; i++) {
        say(NLMSG_NOOP, 0);
        assert_int_equal(run(), RIPTIDE_E_AGAIN);
        assert_int_equal(dump_start(&bed.dump), -EBUSY);
    }
}
