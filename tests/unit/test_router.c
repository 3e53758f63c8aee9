/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/routes/router: datagrams of notifications that do not end where their messages do. The
 * kernel sends none, so that recvmsg(2) is the test's own here.
 */
#include "apply/routes/router.h"
#include "bytes.h"
#include "netlink.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

static struct bytes datagram;
static size_t n_datagram;

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    (void)fd;
    (void)flags;
    assert_true(n_datagram <= msg->msg_iov->iov_len);
    memcpy(msg->msg_iov->iov_base, datagram.data, n_datagram);
    memset(msg->msg_name, 0, msg->msg_namelen); /* the kernel's address */
    return (ssize_t)n_datagram;
}

/* An address that comes, which affects nothing, and so many bytes behind it. */
static void hear(struct router *router, size_t more_bytes)
{
    const struct ifaddrmsg address = { .ifa_family = AF_INET };

    bytes_begin(&datagram, RTM_NEWADDR, &address, sizeof(address));
    n_datagram = bytes_message(&datagram)->nlmsg_len + more_bytes;
    *router = (struct router){ 0 };
    assert_int_equal(netlink_open(&router->notifications, NETLINK_ROUTE, 0), 0);
    assert_int_equal(router_read(router), 1);
    netlink_close(router->notifications);
}

/* It may have been any: less than a header, or one with a length beyond the end (bytes of 0xdd). */
TEST(tail_that_is_no_message_has_everything_read_again)
{
    struct router router;

    hear(&router, 0);
    assert_int_equal(router.stats.malformed, 0);
    assert_false(router.has_work);
    for (size_t more = 1; more <= sizeof(struct nlmsghdr) + 4; more++) {
        hear(&router, more);
        assert_int_equal(router.stats.malformed, 1);
        assert_int_equal(router.scan_wanted, SCAN_ALL);
        assert_true(router.has_work);
    }
}
