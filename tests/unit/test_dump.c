/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/dump: the order of a dump's requests where answers come late, in part or never. A
 * socket pair answers about sockets in the kernel's stead, which cannot be brought to it at will.
 * And the host's own prefixes, from the kernel's routes of table local.
 */
#include "bytes.h"
#include "internal.h"
#include "observe/dump.h"

#include <sys/syscall.h>

NEEDS_NETLINK(NETLINK_SOCK_DIAG)

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
    while (r == -EBUSY && ++n < 200);
    assert_int_equal(r, -ETIMEDOUT);
    assert_int_equal(n, 3);
    assert_int_equal(bed.stats.failures, 1);
    assert_int_equal(dump_start(&bed.dump), 0);
    assert_ends();
}

TEST_WITH(dump_that_makes_progress_is_not_given_up, set_up, tear_down)
{
    bed.dump.seq--;
    say(NLMSG_DONE, 0); /* to an earlier request */
    bed.dump.seq++;
    for (int i = 0; i < 50; i++) {
        say(NLMSG_NOOP, 0);
        assert_int_equal(run(), RIPTIDE_E_AGAIN);
        assert_int_equal(dump_start(&bed.dump), -EBUSY);
    }
}

/* sample.c classifies peers in 127.0.0.0/8 itself. */
TEST(local_routes_of_table_local_are_own_prefixes)
{
    static const struct {
        uint8_t type, table;
        const char *route, *inside, *outside; /* NULL: it is passed over */
    } cases[] = {
        { RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1", "192.0.2.1", "192.0.2.2" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1", "2001:db8::1", "2001:db8::2" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "198.18.0.0/15", "198.19.9.9", "198.20.0.1" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8:a::/64", "2001:db8:a::77", "2001:db8:b::77" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "0.0.0.0/0", "192.0.2.1", "2001:db8::1" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.0/8", NULL, "127.0.0.1" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.1", NULL, "127.0.0.1" },
        { RTN_BROADCAST, RT_TABLE_LOCAL, "192.0.2.255", NULL, "192.0.2.255" },
        { RTN_UNICAST, RT_TABLE_MAIN, "198.51.100.0/24", NULL, "198.51.100.1" },
        { RTN_LOCAL, 100, "0.0.0.0/0", NULL, "192.0.2.1" }, /* a transparent proxy's */
    };

    EACH(row, cases) {
        CLEANUP(prefix_set_deinit) struct prefix_set set = { 0 };
        struct bytes bytes;

        bytes_put_route(
            &bytes, &(struct bytes_route){ row->route, .type = row->type, .table = row->table });
        assert_int_equal(local_add_route(&set, bytes_message(&bytes)), 0);
        prefix_set_finish(&set);
        assert_int_equal(set.n, row->inside != NULL);
        assert_true(!row->inside || prefix_set_decide(&set, prefix_at(row->inside)));
        assert_false(prefix_set_decide(&set, prefix_at(row->outside)));
    }
}
