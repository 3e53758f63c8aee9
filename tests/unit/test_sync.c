/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/routes/sync: base routes of several destinations, asked for in one batch, where the
 * answers about one of them make no sense: a socket pair answers in the kernel's stead.
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
    int pair[2];

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&bed->router, &config);
    assert_int_equal(netlink_init(&bed->router.channel), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_true(dup2(pair[0], mnl_socket_get_fd(bed->router.channel.socket)) >= 0);
    close(pair[0]);
    bed->kernel = pair[1];
    for (uint32_t i = 0; i < TARGETS; i++) {
        struct riptide_prefix dst = prefix(dsts[i]);

        assert_int_equal(targets_add(&bed->router.targets, &dst, &bed->targets[i]), 0);
        bed->targets[i]->wanted.initcwnd = 40;
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
        struct bed bed;

        set_up(&bed);
        answer_all(&bed, fault);
        assert_int_equal(sync_resolve(&bed.router, bed.targets, TARGETS), 0);
        for (uint32_t i = 0; i < TARGETS; i++) {
            const struct target *target = bed.targets[i];

            assert_int_equal(!target->has_base, i == BAD);
            assert_int_equal(target->reason != NULL, i == BAD);
            assert_int_equal(target->is_failed, i == BAD && fault == FAULT_REFUSED);
        }
        assert_int_equal(bed.router.stats.malformed + bed.router.channel.malformed > 0,
                         fault != FAULT_REFUSED);
        tear_down(&bed);
    }
}
