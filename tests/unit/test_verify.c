/* SPDX-License-Identifier: MIT */
/*
 * cli/verify/judge: the answers that no host of the tests can be made to give, and the order of
 * the questions. The others are in tests/netns/test_verify.py.
 */
#include "bytes.h"
#include "lib/tools.h"
#include "verify/judge.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

static const struct rule rules[] = {
    { .family = AF_INET, .is_unconditional = true, .table = RT_TABLE_LOCAL },
    { .family = AF_INET, .is_ours = true, .priority = 32765, .table = 7230 },
    { .family = AF_INET, .is_unconditional = true, .priority = 32766, .table = RT_TABLE_MAIN },
};

/* A connection that got its window. */
static struct evidence applied(void)
{
    struct evidence evidence = {
        .probe = { .peer = prefix("203.0.113.1"),
                   .cwnd = 40,
                   .ssthresh = 0x7fffffff,
                   .mss_bytes = 1448,
                   .snd_wnd_bytes = 65160,
                   .congestion_control = "cubic" },
        .answer = { .table = 7230, .initcwnd = 40 },
        .has_route = true,
        .route = { .initcwnd = 40 },
        .rules = rules,
        .n_rules = sizeof(rules) / sizeof(rules[0]),
        .has_holder = true,
    };

    riptide_applier_config_init(&evidence.applier, sizeof(evidence.applier));
    return evidence;
}

static void assert_verdict(const struct evidence *evidence, enum verdict_kind kind,
                           const char *reason)
{
    struct verdict verdict;

    verdict_judge(evidence, &verdict);
    if (verdict.kind != kind || !strstr(verdict.reason, reason))
        fail_msg("%s: %s; expected %s", verdict_name(verdict.kind), verdict.reason, reason);
    if (kind == VERDICT_APPLIED)
        assert_string_equal(verdict.reason, "");
}

TEST(applied_by_our_route)
{
    struct evidence evidence = applied();

    assert_verdict(&evidence, VERDICT_APPLIED, "");
    /* Old kernels do not report the peer's window. */
    evidence.probe.snd_wnd_bytes = 0;
    assert_verdict(&evidence, VERDICT_APPLIED, "");
}

TEST(the_same_window_by_chance_is_no_proof)
{
    struct evidence evidence = applied();

    evidence.answer.table = RT_TABLE_MAIN;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "main answers as if");
}

TEST(bounded_by_a_segment)
{
    struct evidence evidence = applied();

    evidence.probe.snd_wnd_bytes = 40 * 1448;
    assert_verdict(&evidence, VERDICT_APPLIED, "");
    evidence.probe.snd_wnd_bytes--;
    assert_verdict(&evidence, VERDICT_BOUNDED, "39 segments");
}

TEST(another_window_on_our_route)
{
    struct evidence evidence = applied();

    evidence.probe.cwnd = 4;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "congestion control cubic or a BPF program");
    evidence.answer.initcwnd = 50;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "from 40 to 50");
    evidence.probe.cwnd = 1;
    evidence.probe.retrans_segs = 1; /* the kernel forgives one */
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "from 40 to 50");
    evidence.probe.retrans_segs = 2;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN,
                   "SYNs were lost (retransmitted: 2): the kernel starts with one segment then");
}

TEST(without_a_route)
{
    struct evidence evidence = applied();

    evidence.answer.table = RT_TABLE_MAIN;
    evidence.has_route = false;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "there was no connection");
    evidence.has_holder = false;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "no riptided runs here");
    evidence.dry.state = RIPTIDE_ROUTE_LEFT_ALONE;
    strcpy(evidence.dry.reason, "it is multicast");
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "alone: it is multicast");
    evidence.answer.error = -EHOSTUNREACH;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, strerror(EHOSTUNREACH));
}

/* No route of ours is expected, whatever the result of the dry run. */
TEST(why_a_program_gives_nothing)
{
    struct evidence evidence = applied();

    evidence.answer.table = RT_TABLE_MAIN;
    evidence.has_route = false;
    evidence.dry.state = RIPTIDE_ROUTE_LEFT_ALONE;
    strcpy(evidence.why_off, "paused");
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "gives no windows by the program: paused");
    evidence.why_off[0] = '\0';
    evidence.silent_pid = 7;
    assert_verdict(&evidence, VERDICT_UNKNOWN, "process 7 gives windows by the program and does not "
                                               "answer on --control");
}

TEST(the_same_window_by_chance_is_not_the_programs)
{
    struct evidence evidence = applied();

    evidence.answer = (struct route_answer){ .table = RT_TABLE_MAIN };
    evidence.has_route = false;
    evidence.program_cwnd = 40;
    evidence.has_given = true;
    assert_verdict(&evidence, VERDICT_APPLIED, "");
    evidence.has_given = false;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "program has given no window meanwhile");
    strcpy(evidence.cgroup, "/sys/fs/cgroup/a");
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "outside of the cgroup /sys/fs/cgroup/a");
}

TEST(rules_of_the_other_family_do_not_count)
{
    struct evidence evidence = applied();

    evidence.answer.table = RT_TABLE_MAIN;
    evidence.probe.peer = prefix("2001:db8::1");
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "rule for IPv6 is not in place");
}

TEST(threshold_is_noted)
{
    struct evidence evidence = applied();
    struct verdict verdict;

    evidence.probe.ssthresh = 40;
    verdict_judge(&evidence, &verdict);
    assert_string_equal(verdict.note, "");
    evidence.probe.ssthresh = 12;
    verdict_judge(&evidence, &verdict);
    assert_int_equal(verdict.kind, VERDICT_APPLIED);
    assert_non_null(strstr(verdict.note, "threshold of 12 segments"));
}

TEST(answers)
{
    struct rtmsg header = {
        .rtm_family = AF_INET, .rtm_dst_len = 24, .rtm_table = 252, .rtm_protocol = 230
    };
    struct route_answer answer;
    struct bytes bytes;
    size_t at;

    bytes_begin(&bytes, RTM_NEWROUTE, &header, sizeof(header));
    bytes_put_u32(&bytes, RTA_TABLE, 7230);
    bytes_put_address(&bytes, RTA_DST, "203.0.113.0");
    at = bytes_nest(&bytes, RTA_METRICS);
    bytes_put_u32(&bytes, RTAX_INITCWND, 33);
    bytes_nest_end(&bytes, at);
    route_query_read(bytes_message(&bytes), &answer);
    assert_int_equal(answer.error, 0);
    assert_int_equal(answer.table, 7230);
    assert_int_equal(answer.initcwnd, 33);
    assert_int_equal(answer.protocol, 230);
    assert_int_equal(answer.match.len, 24);
    bytes_message(&bytes)->nlmsg_len = NLMSG_HDRLEN;
    route_query_read(bytes_message(&bytes), &answer);
    assert_int_equal(answer.error, -EBADMSG);
}

TEST(answer_may_be_an_error)
{
    const struct nlmsgerr no_route = { .error = -ENETUNREACH };
    struct route_answer answer;
    struct bytes bytes;

    bytes_begin(&bytes, NLMSG_ERROR, &no_route, sizeof(no_route));
    route_query_read(bytes_message(&bytes), &answer);
    assert_int_equal(answer.error, -ENETUNREACH);
}

/* Other programs' rules before ours: one leads around, one looks up main except its default. */
static const struct rule company[] = {
    { .family = AF_INET, .is_unconditional = true, .table = RT_TABLE_LOCAL },
    { .family = AF_INET, .priority = 100, .target = 32766 },
    { .family = AF_INET, .priority = 32764, .table = RT_TABLE_MAIN },
    { .family = AF_INET, .is_ours = true, .priority = 32765, .table = 7230 },
    { .family = AF_INET, .is_unconditional = true, .priority = 32766, .table = RT_TABLE_MAIN },
};

TEST(start_by_answer_and_rules)
{
    char no_route[128];
    const struct {
        struct route_answer answer;
        size_t n_rules;
        uint32_t cwnd;
        const char *text;
    } cases[] = {
        { { .table = 7230, .initcwnd = 40 }, 5, 40, "" },
        { { .table = 254, .initcwnd = 17 },
          5,
          17,
          "a rule comes before ours: IPv4 priority 32764 lookup main" },
        { { .table = 254 }, 5, 10, "a rule comes before ours: IPv4 priority 32764 lookup main" },
        { { .table = 51820 }, 5, 10, "table 51820 answers before ours" },
        { { .table = 254 }, 3, 10, "our rule for IPv4 is not in place" },
        { { .error = -ENETUNREACH }, 5, 0, no_route },
    };

    snprintf(no_route, sizeof(no_route), "the kernel has no route: %s", strerror(ENETUNREACH));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct start start;

        rules_judge_start(company, cases[i].n_rules, AF_INET, 7230, &cases[i].answer, &start);
        assert_int_equal(start.cwnd, cases[i].cwnd);
        assert_string_equal(start.text, cases[i].text);
    }
}

TEST(rules_before_ours)
{
    assert_ptr_equal(rules_find_before(company, 5, AF_INET, 0), &company[1]);
    assert_ptr_equal(rules_find_before(company, 5, AF_INET, RT_TABLE_MAIN), &company[2]);
    assert_null(rules_find_before(company, 5, AF_INET, 7230));
    assert_null(rules_find_before(company, 5, AF_INET6, 0));
    assert_null(rules_find_before(rules, 3, AF_INET, 0));
    assert_true(rules_are_in_place(company, 5, AF_INET));
    assert_false(rules_are_in_place(company, 3, AF_INET));
}

/* wg-quick(8) has main looked up before all others, except its default route. */
TEST(main_before_ours_is_named)
{
    struct evidence evidence = applied();

    evidence.rules = company;
    evidence.n_rules = 5;
    evidence.answer.table = RT_TABLE_MAIN;
    assert_verdict(&evidence, VERDICT_OVERRIDDEN, "a rule comes before ours: IPv4 priority 32764 "
                                                  "lookup main");
}
