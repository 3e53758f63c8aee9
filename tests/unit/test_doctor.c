/* SPDX-License-Identifier: MIT */
/*
 * cli/doctor: what no host of the tests has (queue fq, kernels without rules or sock_diag).
 */
#include "bytes.h"
#include "doctor/checks.h"
#include "lib/internal.h"
#include "lib/tools.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* A host without anything to find. */
static struct host *healthy(void)
{
    static struct rule rules[] = {
        { .family = AF_INET, .is_unconditional = true, .table = RT_TABLE_LOCAL },
        { .family = AF_INET, .is_unconditional = true, .priority = 32766, .table = RT_TABLE_MAIN },
        { .family = AF_INET6, .is_unconditional = true, .table = RT_TABLE_LOCAL },
        { .family = AF_INET6, .is_unconditional = true, .priority = 32766, .table = RT_TABLE_MAIN },
    };
    struct host *host = calloc(1, sizeof(*host));

    assert_non_null(host);
    riptide_applier_config_init(&host->applier, sizeof(host->applier));
    host->cwnd_max = 100;
    host->rules = rules;
    host->n_rules = sizeof(rules) / sizeof(rules[0]);
    host->initrwnd = 100;
    host->connections.n = 1;
    strcpy(host->congestion_control, "cubic");
    strcpy(host->slow_start_after_idle, "1");
    host->queues.n_paced = 1;
    return host;
}

static struct finding judge(const struct host *host, const char *check)
{
    struct finding finding;

    for (size_t i = 0; i < checks_count(); i++) {
        checks_judge(i, host, &finding);
        if (!strcmp(finding.check, check))
            return finding;
    }
    fail_msg("no check of the name %s", check);
    return finding;
}

TEST(a_suspension_is_meant_and_tried_again)
{
    CLEANUP(freep) struct host *host = healthy();
    struct finding finding;

    host->has_holder = true;
    strcpy(host->apply, "program");
    strcpy(host->reason, "suspended for 30 s: time +148.3 %");
    host->is_suspended = true;
    finding = judge(host, "daemon");
    assert_int_equal(finding.severity, SEVERITY_WARNING);
    assert_string_equal(finding.remedy,
                        "riptide verdict has sizes and paths; a smaller --cwnd-max");
    host->is_suspended = false;
    finding = judge(host, "daemon");
    assert_int_equal(finding.severity, SEVERITY_ERROR);
    assert_null(strstr(finding.remedy, "restart"));
}

/* riptided cannot do it for an agent of another program. */
TEST(both_is_recommended_where_it_can_be)
{
    CLEANUP(freep) struct host *host = healthy();

    strcpy(host->apply, "program");
    assert_string_equal(judge(host, "idle-restart").remedy,
                        "riptided --apply both, or sysctl -w net.ipv4.tcp_slow_start_after_idle=0");
    host->holder_pid = 7;
    assert_string_equal(judge(host, "idle-restart").remedy,
                        "sysctl -w net.ipv4.tcp_slow_start_after_idle=0");
}

TEST(nothing_to_find)
{
    CLEANUP(freep) struct host *host = healthy();
    struct finding finding;

    for (size_t i = 0; i < checks_count(); i++) {
        checks_judge(i, host, &finding);
        if (strcmp(finding.check, "daemon") != 0 && finding.severity != SEVERITY_OK)
            fail_msg("%s: %s", finding.check, finding.summary);
        assert_string_not_equal(finding.summary, "");
        assert_string_not_equal(finding.evidence, "");
    }
}

/* kill(1) takes process 0 for all of the shell's own group. */
TEST(daemon_that_hangs_out_of_sight)
{
    CLEANUP(freep) struct host *host = healthy();
    struct finding finding;

    host->has_holder = true;
    host->control_error = -ETIMEDOUT;
    strcpy(host->control_failure.text, "/run/x: no answer within 5 s");
    finding = judge(host, "daemon");
    assert_int_equal(finding.severity, SEVERITY_ERROR);
    assert_string_equal(finding.evidence, "control socket /run/x: no answer within 5 s");
    assert_string_equal(finding.remedy, "systemctl restart riptided");
}

TEST(kernel_without_rules)
{
    CLEANUP(freep) struct host *host = healthy();

    host->n_rules = 0;
    host->rules_error = -EOPNOTSUPP;
    assert_int_equal(judge(host, "rules").severity, SEVERITY_ERROR);
    assert_non_null(strstr(judge(host, "rules").evidence, strerror(EOPNOTSUPP)));
}

TEST(sockets)
{
    CLEANUP(freep) struct host *host = healthy();

    host->connections.error = -ENOENT;
    assert_int_equal(judge(host, "sockets").severity, SEVERITY_ERROR);
    assert_non_null(strstr(judge(host, "sockets").remedy, "tcp_diag"));
    host->connections.error = -EACCES;
    assert_non_null(strstr(judge(host, "sockets").remedy, "root"));
}

static void put_queue(struct queues *queues, int ifindex, const char *kind)
{
    const struct tcmsg header = { .tcm_ifindex = ifindex };
    struct bytes bytes;

    bytes_begin(&bytes, RTM_NEWQDISC, &header, sizeof(header));
    bytes_put(&bytes, TCA_KIND, kind, strlen(kind) + 1);
    queues_add(queues, bytes_message(&bytes));
}

TEST(pacing)
{
    CLEANUP(freep) struct host *host = healthy();

    /* Each with queues below it, or with none. */
    put_queue(&host->queues, 1, "noqueue");
    put_queue(&host->queues, 2, "mq");
    put_queue(&host->queues, 2, "fq");
    assert_int_equal(host->queues.n_paced, 2);
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_OK);
    put_queue(&host->queues, 3, "fq_codel");
    put_queue(&host->queues, 4, "pfifo");
    assert_int_equal(host->queues.ifindex, 3);
    assert_string_equal(host->queues.kind, "fq_codel");
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_WARNING);
    host->cwnd_max = 10;
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_OK);
}

/* Unless its link hands packets to others below it, as a bond does. */
TEST(queues_of_the_default_route_count_alone)
{
    struct queues queues = { .default_ifindex = 4 };

    put_queue(&queues, 4, "noqueue");
    put_queue(&queues, 2, "fq");
    put_queue(&queues, 3, "pfifo");
    assert_int_equal(queues.n_paced, 1);
    assert_int_equal(queues.ifindex, 3);
    put_queue(&queues, 4, "mq");
    put_queue(&queues, 4, "fq");
    put_queue(&queues, 4, "fq");
    put_queue(&queues, 5, "pfifo");
    assert_int_equal(queues.n_paced, 2);
    assert_int_equal(queues.ifindex, 0);
    put_queue(&queues, 4, "fq_codel");
    assert_int_equal(queues.ifindex, 4);
}

TEST(queue_whose_message_ends_early)
{
    const struct tcmsg header = { .tcm_ifindex = 7 };
    struct queues queues = { .error = 0 };
    struct bytes bytes;

    bytes_begin(&bytes, RTM_NEWQDISC, &header, sizeof(header));
    queues_add(&queues, bytes_message(&bytes));
    bytes_message(&bytes)->nlmsg_len = NLMSG_HDRLEN + 4;
    queues_add(&queues, bytes_message(&bytes));
    assert_int_equal(queues.ifindex, 0);
}
