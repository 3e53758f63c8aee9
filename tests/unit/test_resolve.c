/* SPDX-License-Identifier: MIT */
/*
 * Base routes of several destinations, asked for in one batch, where the answers about one of them
 * make no sense: a socket pair answers in the kernel's stead.
 */
#include "apply/routes/router.h"
#include "bytes.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

enum { TARGETS = 3, BAD = 1 };

enum fault {
    FAULT_NONE,
    FAULT_OTHER,   /* about another destination */
    FAULT_CUT,     /* a message that ends before its length */
    FAULT_ATTR,    /* an attribute that ends after its message */
    FAULT_KIND,    /* no route at all */
    FAULT_LARGE,   /* larger than the buffer */
    FAULT_MISSING, /* no answer */
    FAULT_MORE,    /* an attribute that is not copied */
    FAULT_REFUSED, /* an error that is no answer */
    FAULTS,
};

static const char *const dsts[TARGETS] = { "203.0.113.1", "203.0.113.2", "203.0.113.3" };

struct bed {
    struct plan plan;
    struct netlink channel;
    int kernel; /* the other end of the router's socket */
    struct target *targets[TARGETS];
};

static void set_up(struct bed *bed)
{
    struct riptide_applier_config config;
    int pair[2];

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&bed->plan, &config);
    assert_int_equal(netlink_init(&bed->channel), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_true(dup2(pair[0], mnl_socket_get_fd(bed->channel.socket)) >= 0);
    close(pair[0]);
    bed->kernel = pair[1];
    for (uint32_t i = 0; i < TARGETS; i++) {
        struct riptide_prefix dst = prefix(dsts[i]);

        assert_int_equal(targets_add(&bed->plan.targets, &dst, &bed->targets[i]), 0);
        bed->targets[i]->wanted.initcwnd = 40;
    }
}

static void tear_down(struct bed *bed)
{
    plan_deinit(&bed->plan);
    netlink_deinit(&bed->channel);
    close(bed->kernel);
}

static void begin(struct bytes *answer, const char *match)
{
    struct riptide_prefix dst = prefix(match);
    const struct rtmsg rtm = { .rtm_family = AF_INET,
                               .rtm_dst_len = dst.len,
                               .rtm_table = RT_TABLE_MAIN,
                               .rtm_type = RTN_UNICAST };

    bytes_begin(answer, RTM_NEWROUTE, &rtm, sizeof(rtm));
    bytes_put_address(answer, RTA_DST, match);
    bytes_put_address(answer, RTA_GATEWAY, "192.0.2.254");
    bytes_put_u32(answer, RTA_OIF, 3);
}

static void put_fault(struct bytes *answer, enum fault fault)
{
    const struct nlmsgerr refused = { .error = -EPERM };

    switch (fault) {
    case FAULT_OTHER:
        begin(answer, "198.51.100.0/24");
        break;
    case FAULT_ATTR:
        bytes_put_u32(answer, RTA_PRIORITY, 1);
        answer->data[bytes_message(answer)->nlmsg_len - 8] = 0xff;
        break;
    case FAULT_KIND:
        bytes_message(answer)->nlmsg_type = RTM_NEWLINK;
        break;
    case FAULT_MORE:
        bytes_put(answer, 250, "", 0);
        break;
    case FAULT_REFUSED:
        bytes_begin(answer, NLMSG_ERROR, &refused, sizeof(refused));
        break;
    default:
        break;
    }
}

static void send_answer(const struct bed *bed, struct bytes *answer, uint32_t seq, size_t n_bytes)
{
    struct nlmsghdr *message = bytes_message(answer);

    message->nlmsg_seq = seq;
    message->nlmsg_pid = netlink_port(&bed->channel);
    assert_int_equal(send(bed->kernel, message, n_bytes, 0), n_bytes);
}

static void answer_one(const struct bed *bed, uint32_t seq, enum fault fault)
{
    static char large[64 * 1024];
    struct bytes answer;

    begin(&answer, "203.0.113.0/24");
    put_fault(&answer, fault);
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

static uint64_t n_malformed(const struct bed *bed)
{
    return bed->plan.stats.malformed + bed->channel.malformed;
}

static void check(enum fault fault)
{
    bool is_counted = fault != FAULT_MORE && fault != FAULT_REFUSED;
    struct bed bed;

    set_up(&bed);
    answer_all(&bed, fault);
    assert_int_equal(sync_resolve(&bed.plan, &bed.channel, bed.targets, TARGETS), 0);
    for (uint32_t i = 0; i < TARGETS; i++) {
        const struct target *target = bed.targets[i];

        assert_int_equal(!target->has_base, i == BAD);
        assert_int_equal(target->reason != NULL, i == BAD);
        assert_int_equal(target->is_failed, i == BAD && fault == FAULT_REFUSED);
    }
    assert_int_equal(n_malformed(&bed) > 0, is_counted);
    tear_down(&bed);
}

TEST(an_answer_without_sense_costs_its_destination_alone)
{
    for (int fault = FAULT_NONE + 1; fault < FAULTS; fault++)
        check((enum fault)fault);
}
