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

static struct router router;
static int kernels[2]; /* the other ends of its sockets for requests and notifications */

static int set_up(void **state)
{
    struct riptide_applier_config config;

    memset(&router, 0, sizeof(router));
    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&router, &config);
    router.seen[0].n = 1;
    assert_int_equal(netlink_init(&router.channel), 0);
    assert_int_equal(netlink_open(&router.notifications, NETLINK_ROUTE, 0), 0);
    kernels[0] = stand_in_for_kernel(mnl_socket_get_fd(router.channel.socket));
    kernels[1] = stand_in_for_kernel(mnl_socket_get_fd(router.notifications));
    return 0;
}

static int tear_down(void **state)
{
    netlink_close(router.notifications);
    netlink_deinit(&router.channel);
    plan_deinit(&router);
    close(kernels[0]);
    return close(kernels[1]);
}

/* Without so many bytes at its end. */
static void send_answer(struct bytes *answer, uint32_t seq, size_t n_missing)
{
    struct nlmsghdr *message = bytes_message(answer);

    message->nlmsg_seq = seq;
    message->nlmsg_pid = mnl_socket_get_portid(router.channel.socket);
    assert_true(send(kernels[0], message, message->nlmsg_len - n_missing, 0) > 0);
}

static void answer_one(uint32_t seq, enum fault fault)
{
    static char large[64 * 1024];
    const struct nlmsgerr refused = { .error = -EPERM };
    struct bytes answer;

    bytes_put_route(&answer, &(struct bytes_route){ .dst = fault == FAULT_OTHER ? "198.51.100.0/24"
                                                                                : "203.0.113.0/24",
                                                    .gateway = "192.0.2.254",
                                                    .ifindex = 3 });
    if (fault == FAULT_REFUSED)
        bytes_begin(&answer, NLMSG_ERROR, &refused, sizeof(refused));
    if (fault == FAULT_LARGE)
        assert_int_equal(send(kernels[0], large, sizeof(large), 0), sizeof(large));
    else if (fault != FAULT_MISSING)
        send_answer(&answer, seq, fault == FAULT_CUT ? 8 : 0);
}

TEST(answer_without_sense_costs_its_destination_alone)
{
    for (enum fault fault = 0; fault < FAULTS; fault++) {
        struct target *targets[TARGETS];
        struct bytes end;

        set_up(NULL);
        for (uint32_t i = 0; i < TARGETS; i++) {
            struct riptide_prefix dst = { AF_INET, 32, { 203, 0, 113, (uint8_t)i } };

            assert_int_equal(targets_add(&router.targets, &dst, &targets[i]), 0);
            targets[i]->wanted.initcwnd = 40;
            targets[i]->ask = ASK_NOW;
            answer_one(i + 1, i == BAD ? fault : FAULT_NONE);
        }
        bytes_begin(&end, NLMSG_ERROR, &(struct nlmsgerr){ 0 }, sizeof(struct nlmsgerr));
        send_answer(&end, TARGETS, 0);
        assert_int_equal(sync_resolve(&router, targets, TARGETS), 0);
        for (uint32_t i = 0; i < TARGETS; i++) {
            assert_int_equal(!targets[i]->base, i == BAD);
            assert_int_equal(targets[i]->reason != RIPTIDE_REASON_NONE, i == BAD);
            assert_int_equal(targets[i]->ask,
                             i == BAD && fault == FAULT_REFUSED ? ASK_AT_TICK : ASK_NOT);
        }
        assert_int_equal(router.stats.malformed + router.channel.malformed > 0,
                         fault != FAULT_REFUSED);
        tear_down(NULL);
    }
}

/* A port of a bridge, which affects nothing, and so many bytes behind it. */
static void hear(size_t more_bytes)
{
    const struct ifinfomsg port = { .ifi_family = AF_BRIDGE };
    struct bytes bytes;
    size_t n_bytes;

    bytes_begin(&bytes, RTM_NEWLINK, &port, sizeof(port));
    n_bytes = bytes_message(&bytes)->nlmsg_len + more_bytes;
    router.stats.malformed = 0;
    router.scan_wanted = 0;
    router.has_work = false;
    assert_int_equal(send(kernels[1], &bytes, n_bytes, 0), n_bytes);
    assert_int_equal(notifications_read(&router), 1);
}

/* It may have been any: less than a header, or one with a length beyond the end (bytes of 0xdd). */
TEST_WITH(tail_that_is_no_message_has_everything_read_again, set_up, tear_down)
{
    hear(0);
    assert_int_equal(router.stats.malformed, 0);
    assert_false(router.has_work);
    for (size_t more = 1; more <= sizeof(struct nlmsghdr) + 4; more++) {
        hear(more);
        assert_int_equal(router.stats.malformed, 1);
        assert_int_equal(router.scan_wanted, SCAN_ALL);
        assert_true(router.has_work);
    }
}

static void want(uint8_t high, uint8_t low)
{
    const struct riptide_wanted wanted = { { AF_INET, 32, { 10, high, 0, low } }, .initcwnd = 40 };

    assert_int_equal(plan_want(&router, &wanted), 0);
}

/* Each second another one comes before all that there are. */
TEST_WITH(every_destination_is_asked_again_within_a_minute_whatever_is_added, set_up, tear_down)
{
    for (uint8_t i = 0; i < 100; i++)
        want(16, i);
    for (uint32_t i = 0; i < router.targets.n; i++)
        router.targets.list[i]->ask = ASK_NOT;
    for (uint8_t second = 0; second < 60; second++) {
        want(0, (uint8_t)(100 - second));
        plan_tick(&router, 1);
    }
    for (uint32_t i = 0; i < router.targets.n; i++) {
        const struct target *target = router.targets.list[i];

        assert_true(target->wanted.dst.addr[1] != 16 || target->ask == ASK_NOW);
    }
}

/* No answer to a request counts as one that was lost. */
TEST_WITH(a_rule_that_cannot_be_removed_for_now_is_an_error_after_eight_setbacks, set_up, tear_down)
{
    router.is_claimed = router.own[0].is_in_place = router.own[0].must_remove = true;
    router.budget = BUDGET_MAX;
    for (int i = 0; i < 8; i++)
        assert_int_equal(routes_row.dispatch(&router.backend), RIPTIDE_E_MORE);
    assert_int_equal(routes_row.dispatch(&router.backend), -ENOBUFS);
    assert_true(router.own[0].is_in_place && router.own[0].must_remove);
}

/* Without the claim no request is sent, and the rules count as removed. */
TEST_WITH(budget_price_and_cap, set_up, tear_down)
{
    router.budget = BUDGET_MAX;
    for (int i = 0; i < 2; i++)
        router.own[i].is_in_place = router.own[i].must_remove = true;
    assert_int_equal(sync_remove(&router), 0);
    assert_int_equal(router.budget, BUDGET_MAX - 2 * COST_REMOVAL);
    /* A rule that is not in place costs nothing. */
    router.own[0].must_remove = true;
    assert_int_equal(sync_remove(&router), 0);
    assert_int_equal(router.budget, BUDGET_MAX - 2 * COST_REMOVAL);
    router.budget = -1;
    plan_tick(&router, 1);
    assert_int_equal(router.budget, BUDGET_PER_S - 1);
    /* However long nothing has happened. */
    plan_tick(&router, 60);
    assert_int_equal(router.budget, BUDGET_MAX);
}

/* The flags of the last request for a route that one dispatch sends. */
static uint16_t flags_of_put(uint32_t initcwnd)
{
    static const struct route base = { .gateway = { AF_INET, 32, { 192, 0, 2, 254 } },
                                       .ifindex = 3 };
    const struct riptide_wanted wanted = { { AF_INET, 32, { 203, 0, 113, 1 } },
                                           .initcwnd = initcwnd };
    static struct nlmsghdr room[16384];
    struct netlink_walk datagram;
    const struct nlmsghdr *message;
    uint16_t flags = 0;

    assert_int_equal(plan_want(&router, &wanted), 0);
    assert_int_equal(targets_set_base(&router.targets, router.targets.list[0], &base), 0);
    router.targets.list[0]->ask = ASK_NOT;
    routes_row.dispatch(&router.backend);
    datagram =
        (struct netlink_walk){ (void *)room, (size_t)recv(kernels[0], room, sizeof(room), 0) };
    while ((message = netlink_next_message(&datagram)))
        flags = message->nlmsg_type == RTM_NEWROUTE ? message->nlmsg_flags : flags;
    return flags;
}

/* Only a route that is known to be ours is replaced: another one stays. */
TEST_WITH(put_replaces_only_ours, set_up, tear_down)
{
    uint16_t flags;

    router.is_claimed = router.has_work = true;
    router.budget = BUDGET_MAX;
    router.scan_wanted = 0;
    flags = flags_of_put(40);
    assert_int_equal(flags & (NLM_F_CREATE | NLM_F_EXCL | NLM_F_REPLACE),
                     NLM_F_CREATE | NLM_F_EXCL);
    /* As if the answer had come. */
    targets_set_kernel(&router.targets, router.targets.list[0], KERNEL_CURRENT);
    router.scan_wanted = 0;
    flags = flags_of_put(80);
    assert_int_equal(flags & (NLM_F_CREATE | NLM_F_EXCL | NLM_F_REPLACE),
                     NLM_F_CREATE | NLM_F_REPLACE);
}
