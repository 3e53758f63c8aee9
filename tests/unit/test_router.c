/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/routes/router, plan and sync: answers and notifications that make no sense, which a
 * socket pair sends in the kernel's stead, and in which seconds destinations are asked again.
 */
#include "apply/routes/router.h"
#include "bytes.h"

enum { TARGETS = 3, BAD = 1 };

/* What is wrong with the answer about it; test_route.c has answers that are refused. */
enum fault {
    FAULT_OTHER,   /* about another destination */
    FAULT_CUT,     /* a message that ends before its length */
    FAULT_LARGE,   /* larger than the buffer */
    FAULT_MISSING, /* no answer */
    FAULT_REFUSED, /* an error that is no answer */
    FAULTS,
    FAULT_NONE,
};

static const char *const dsts[TARGETS] = { "203.0.113.1", "203.0.113.2", "203.0.113.3" };

struct bed {
    struct router router;
    int kernel; /* the other end of the router's socket */
    struct target *targets[TARGETS];
};

static void set_up(struct bed *bed)
{
    struct riptide_applier_config config;

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&bed->router, &config);
    assert_int_equal(netlink_init(&bed->router.channel), 0);
    bed->kernel = stand_in_for_kernel(mnl_socket_get_fd(bed->router.channel.socket));
    for (uint32_t i = 0; i < TARGETS; i++) {
        struct riptide_prefix dst = prefix(dsts[i]);

        assert_int_equal(targets_add(&bed->router.targets, &dst, &bed->targets[i]), 0);
        bed->targets[i]->wanted.initcwnd = 40;
        bed->targets[i]->must_ask = true;
    }
}

static void tear_down(struct bed *bed)
{
    plan_deinit(&bed->router);
    netlink_deinit(&bed->router.channel);
    close(bed->kernel);
}

static void send_answer(const struct bed *bed, struct bytes *answer, uint32_t seq, size_t n_bytes)
{
    struct nlmsghdr *message = bytes_message(answer);

    message->nlmsg_seq = seq;
    message->nlmsg_pid = mnl_socket_get_portid(bed->router.channel.socket);
    assert_int_equal(send(bed->kernel, message, n_bytes, 0), n_bytes);
}

static void answer_one(const struct bed *bed, uint32_t seq, enum fault fault)
{
    static char large[64 * 1024];
    const struct nlmsgerr refused = { .error = -EPERM };
    struct bytes answer;

    bytes_put_route(&answer, &(struct bytes_route){
                                 .dst = fault == FAULT_OTHER ? "198.51.100.0/24" : "203.0.113.0/24",
                                 .gateway = "192.0.2.254",
                                 .ifindex = 3 });
    if (fault == FAULT_REFUSED)
        bytes_begin(&answer, NLMSG_ERROR, &refused, sizeof(refused));
    if (fault == FAULT_LARGE)
        assert_int_equal(send(bed->kernel, large, sizeof(large), 0), sizeof(large));
    else if (fault != FAULT_MISSING)
        send_answer(bed, &answer, seq,
                    bytes_message(&answer)->nlmsg_len - (fault == FAULT_CUT ? 8 : 0));
}

/* The answers to all queries, that about the bad destination with a fault. */
static void answer_all(const struct bed *bed, enum fault fault)
{
    const struct nlmsgerr done = { 0 };
    struct bytes answer;
    uint32_t seq = 0;

    for (uint32_t i = 0; i < TARGETS; i++)
        answer_one(bed, ++seq, i == BAD ? fault : FAULT_NONE);
    bytes_begin(&answer, NLMSG_ERROR, &done, sizeof(done));
    send_answer(bed, &answer, seq, bytes_message(&answer)->nlmsg_len);
}

TEST(answer_without_sense_costs_its_destination_alone)
{
    for (enum fault fault = 0; fault < FAULTS; fault++) {
        struct bed bed = { 0 };

        set_up(&bed);
        answer_all(&bed, fault);
        assert_int_equal(sync_resolve(&bed.router, bed.targets, TARGETS), 0);
        for (uint32_t i = 0; i < TARGETS; i++) {
            const struct target *target = bed.targets[i];

            assert_int_equal(!target->base, i == BAD);
            assert_int_equal(target->reason != NULL, i == BAD);
            assert_int_equal(target->is_failed, i == BAD && fault == FAULT_REFUSED);
        }
        assert_int_equal(bed.router.stats.malformed + bed.router.channel.malformed > 0,
                         fault != FAULT_REFUSED);
        tear_down(&bed);
    }
}

/* A port of a bridge, which affects nothing, and so many bytes behind it. */
static void hear(struct router *router, size_t more_bytes)
{
    const struct ifinfomsg port = { .ifi_family = AF_BRIDGE };
    struct bytes bytes;
    size_t n_bytes;
    int kernel;

    bytes_begin(&bytes, RTM_NEWLINK, &port, sizeof(port));
    n_bytes = bytes_message(&bytes)->nlmsg_len + more_bytes;
    *router = (struct router){ 0 };
    assert_int_equal(netlink_open(&router->notifications, NETLINK_ROUTE, 0), 0);
    kernel = stand_in_for_kernel(mnl_socket_get_fd(router->notifications));
    assert_int_equal(send(kernel, &bytes, n_bytes, 0), n_bytes);
    assert_int_equal(router_read(router), 1);
    netlink_close(router->notifications);
    close(kernel);
}

/* It may have been any: less than a header, or one with a length beyond the end (bytes of 0xdd). */
TEST(tail_that_is_no_message_has_everything_read_again)
{
    struct router router = { 0 };

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

static void want(struct router *router, uint32_t address)
{
    const struct riptide_wanted wanted = {
        .dst = { .family = AF_INET,
                 .len = 32,
                 .addr = { 10, (uint8_t)(address >> 16), (uint8_t)(address >> 8),
                           (uint8_t)address } },
        .initcwnd = 40,
    };

    assert_int_equal(plan_want(router, &wanted), 0);
}

/* Each second another one comes before all that there are. */
TEST(every_destination_is_asked_again_within_a_minute_whatever_is_added)
{
    struct riptide_applier_config config;
    struct router router = { 0 };
    uint32_t n_unasked = 0;

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&router, &config);
    for (uint32_t i = 0; i < 100; i++)
        want(&router, (1u << 20) + i);
    for (uint32_t i = 0; i < router.targets.n; i++)
        router.targets.list[i]->must_ask = false;
    for (uint32_t second = 0; second < 60; second++) {
        want(&router, 1000 - second);
        plan_tick(&router, 1);
    }
    for (uint32_t i = 0; i < router.targets.n; i++) {
        const struct target *target = router.targets.list[i];

        n_unasked += target->wanted.dst.addr[1] == 16 && !target->must_ask;
    }
    assert_int_equal(n_unasked, 0);
    plan_deinit(&router);
}

/* No answer to a request counts as one that was lost. */
TEST(a_rule_that_cannot_be_removed_for_now_is_an_error_after_eight_setbacks)
{
    struct riptide_applier_config config;
    struct router router = { 0 };
    int kernels[2];

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&router, &config);
    assert_int_equal(netlink_init(&router.channel), 0);
    assert_int_equal(netlink_open(&router.notifications, NETLINK_ROUTE, 0), 0);
    kernels[0] = stand_in_for_kernel(mnl_socket_get_fd(router.channel.socket));
    kernels[1] = stand_in_for_kernel(mnl_socket_get_fd(router.notifications));
    router.is_claimed = router.own[0].is_in_place = router.own[0].must_remove = true;
    router.budget = BUDGET_MAX;
    for (int i = 0; i < 8; i++)
        assert_int_equal(router_dispatch(&router), RIPTIDE_E_MORE);
    assert_int_equal(router_dispatch(&router), -ENOBUFS);
    assert_true(router.own[0].is_in_place && router.own[0].must_remove);
    netlink_close(router.notifications);
    netlink_deinit(&router.channel);
    plan_deinit(&router);
    close(kernels[0]);
    close(kernels[1]);
}
