/* SPDX-License-Identifier: MIT */
/*
 * cli/doctor: what no host of the tests has (VRFs, queue fq, old kernels, the machine's own network
 * namespace), and the parsers.
 */
#include "bytes.h"
#include "doctor/checks.h"
#include "lib/tools.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* A host without anything to find. */
static struct host *healthy(void)
{
    static struct riptide_rule rules[] = {
        { .family = AF_INET, .is_unconditional = true, .table = RT_TABLE_LOCAL },
        { .family = AF_INET, .is_unconditional = true, .priority = 32766, .table = RT_TABLE_MAIN },
        { .family = AF_INET6, .is_unconditional = true, .table = RT_TABLE_LOCAL },
        { .family = AF_INET6, .is_unconditional = true, .priority = 32766, .table = RT_TABLE_MAIN },
    };
    struct host *host = calloc(1, sizeof(*host));

    assert_non_null(host);
    riptide_router_config_init(&host->router, sizeof(host->router));
    host->kernel.tcp_info_bytes = 280;
    host->rules = rules;
    host->n_rules = sizeof(rules) / sizeof(rules[0]);
    host->is_initial_namespace = true;
    host->initrwnd = 100;
    host->connections.n = 1;
    strcpy(host->congestion_control, "cubic");
    strcpy(host->slow_start_after_idle, "1");
    host->links.n = 1;
    host->links.list[0] =
        (struct link){ .ifindex = 2, .name = "eth0", .is_up = true, .queue = "fq" };
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

TEST(nothing_to_find)
{
    struct host *host = healthy();
    struct finding finding;

    for (size_t i = 0; i < checks_count(); i++) {
        checks_judge(i, host, &finding);
        if (strcmp(finding.check, "daemon") != 0 && finding.severity != SEVERITY_OK)
            fail_msg("%s: %s", finding.check, finding.summary);
        assert_string_not_equal(finding.summary, "");
        assert_string_not_equal(finding.evidence, "");
    }
    free(host);
}

/* kill(1) takes process 0 for all of the shell's own group. */
TEST(daemon_that_hangs_out_of_sight)
{
    struct host *host = healthy();
    struct finding finding;

    host->has_holder = true;
    host->control_error = -ETIMEDOUT;
    strcpy(host->control_failure.text, "/run/x: no answer within 5 s");
    finding = judge(host, "daemon");
    assert_int_equal(finding.severity, SEVERITY_ERROR);
    assert_string_equal(finding.evidence, "control socket /run/x: no answer within 5 s");
    assert_string_equal(finding.remedy, "systemctl restart riptided");
    free(host);
}

TEST(kernel)
{
    struct host *host = healthy();

    host->kernel.destroy_error = -EOPNOTSUPP;
    assert_int_equal(judge(host, "kernel").severity, SEVERITY_NOTE);
    host->kernel.tcp_info_bytes = 104;
    assert_int_equal(judge(host, "kernel").severity, SEVERITY_WARNING);
    host->n_rules = 0;
    host->rules_error = -EOPNOTSUPP;
    assert_int_equal(judge(host, "kernel").severity, SEVERITY_ERROR);
    assert_int_equal(judge(host, "rules").severity, SEVERITY_ERROR);
    host->kernel.strict_error = -ENOPROTOOPT;
    assert_non_null(strstr(judge(host, "kernel").summary, "too old"));
    free(host);
}

TEST(sockets)
{
    struct host *host = healthy();

    host->connections.error = -ENOENT;
    assert_int_equal(judge(host, "sockets").severity, SEVERITY_ERROR);
    assert_non_null(strstr(judge(host, "sockets").remedy, "tcp_diag"));
    host->connections.error = -EACCES;
    assert_non_null(strstr(judge(host, "sockets").remedy, "root"));
    free(host);
}

TEST(namespace)
{
    struct host *host = healthy();

    host->n_named_namespaces = 3;
    assert_int_equal(judge(host, "namespace").severity, SEVERITY_NOTE);
    host->is_initial_namespace = false;
    assert_non_null(strstr(judge(host, "namespace").summary, "beside the machine's own"));
    free(host);
}

TEST(pacing)
{
    struct host *host = healthy();
    struct link *link = &host->links.list[0];

    strcpy(link->queue, "mq");
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_WARNING);
    link->n_children = link->n_fq_children = 4;
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_OK);
    link->n_fq_children = 3;
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_WARNING);
    /* Neither down nor without a queue nor loopback: none of them decides. */
    *link = (struct link){ .is_up = true, .queue = "fq" };
    host->links.list[1] = (struct link){ .queue = "pfifo" };
    host->links.list[2] = (struct link){ .is_up = true, .queue = "noqueue" };
    host->links.list[3] = (struct link){ .is_up = true, .is_loopback = true, .queue = "pfifo" };
    host->links.n = 4;
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_OK);
    link->is_up = false;
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_WARNING);
    host->router.cwnd_max = 10;
    assert_int_equal(judge(host, "pacing").severity, SEVERITY_OK);
    free(host);
}

static void put_link(struct bytes *bytes, const char *name, const char *kind)
{
    struct ifinfomsg header = { .ifi_index = 7, .ifi_flags = IFF_UP };
    size_t at;

    bytes_begin(bytes, RTM_NEWLINK, &header, sizeof(header));
    bytes_put(bytes, IFLA_IFNAME, name, strlen(name) + 1);
    bytes_put(bytes, IFLA_QDISC, "mq", 3);
    at = bytes_nest(bytes, IFLA_LINKINFO);
    bytes_put(bytes, IFLA_INFO_KIND, kind, strlen(kind) + 1);
    bytes_nest_end(bytes, at);
}

static void put_queue(struct bytes *bytes, uint32_t parent, const char *kind)
{
    struct tcmsg header = { .tcm_ifindex = 7, .tcm_parent = parent };

    bytes_begin(bytes, RTM_NEWQDISC, &header, sizeof(header));
    bytes_put(bytes, TCA_KIND, kind, strlen(kind) + 1);
}

TEST(links)
{
    static struct links links;
    struct bytes bytes;

    put_link(&bytes, "red", "vrf");
    links_add(&links, bytes_message(&bytes));
    put_link(&bytes, "br0", "bridge");
    links_add(&links, bytes_message(&bytes));
    assert_int_equal(links.n, 2);
    assert_string_equal(links.list[0].name, "red");
    assert_true(links.list[0].is_vrf);
    assert_true(links.list[0].is_up);
    assert_false(links.list[1].is_vrf);
    put_queue(&bytes, TC_H_ROOT, "mq");
    links_add_queue(&links, bytes_message(&bytes));
    assert_int_equal(links.list[0].n_children, 0);
    put_queue(&bytes, 1, "fq");
    links_add_queue(&links, bytes_message(&bytes));
    assert_true(link_is_paced(&links.list[0]));
    put_queue(&bytes, 2, "fq_codel");
    links_add_queue(&links, bytes_message(&bytes));
    assert_false(link_is_paced(&links.list[0]));
}

TEST(vrf)
{
    struct host *host = healthy();

    strcpy(host->links.list[0].name, "red");
    host->links.list[0].is_vrf = true;
    assert_int_equal(judge(host, "vrf").severity, SEVERITY_WARNING);
    assert_non_null(strstr(judge(host, "vrf").evidence, "red"));
    free(host);
}

/* More links than there is room for, and messages that end early. */
TEST(links_are_bounded)
{
    static struct links links;
    struct bytes bytes;

    put_link(&bytes, "eth0", "veth");
    for (int i = 0; i < LINKS_MAX + 10; i++)
        links_add(&links, bytes_message(&bytes));
    assert_int_equal(links.n, LINKS_MAX);
    links.n = 0;
    bytes_message(&bytes)->nlmsg_len = NLMSG_HDRLEN + 4;
    links_add(&links, bytes_message(&bytes));
    assert_int_equal(links.n, 0);
}
