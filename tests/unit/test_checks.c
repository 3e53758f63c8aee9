/* SPDX-License-Identifier: MIT */
/* The checks of doctor on hosts that no machine of the tests is. */
#include "checks.h"
#include "unit.h"

/* A host without anything to find. */
static struct host healthy(void)
{
    return (struct host){ .is_there = true,
                          .pid = 7,
                          .is_well = true,
                          .health = "ok",
                          .by = "both",
                          .cwnd_max = 100,
                          .may_write_routes = true,
                          .may_load_program = true,
                          .has_cgroup2 = true,
                          .rmem_bytes = { 4096, 131072, 6291456 },
                          .slow_start_after_idle = 1,
                          .fastopen = 3 };
}

/* Those among the checks that are asked beside others that find something. */
enum { PRIVILEGES = 1, RULES = 3 };

static struct finding judge(const struct host *host, unsigned int check)
{
    struct finding finding;

    checks_judge(check, host, &finding);
    return finding;
}

/* What the named check finds, and no other one. */
static struct finding find(const struct host *host, const char *name)
{
    struct finding finding, named = { .check = NULL };

    for (unsigned int i = 0; i < N_CHECKS; i++) {
        checks_judge(i, host, &finding);
        if (!strcmp(finding.check, name))
            named = finding;
        else
            assert_int_equal(finding.kind, PASSED);
        assert_true(finding.what[0]);
        assert_int_equal(finding.kind != PASSED, finding.remedy[0] != '\0');
    }
    assert_non_null(named.check);
    return named;
}

static void assert_found(const struct host *host, const char *name, enum kind kind,
                         const char *words)
{
    struct finding finding = find(host, name);

    assert_int_equal(finding.kind, kind);
    if (!strstr(finding.what, words) && !strstr(finding.remedy, words))
        fail_msg("%s: %s", finding.what, finding.remedy);
}

static struct host absent(void)
{
    struct host host = healthy();

    host.is_there = false;
    host.error = -ENOENT;
    host.by[0] = '\0';
    host.rmem_bytes[1] = 1 << 20;
    return host;
}

TEST(a_healthy_host_passes_all)
{
    struct host host = healthy();

    assert_found(&host, "daemon", PASSED, "gives windows");
}

TEST(the_daemon_is_judged_by_its_health_and_by_what_it_left)
{
    struct host host = healthy();

    host.is_well = false;
    strcpy(host.health, "suspended");
    strcpy(host.reason, "time +3 %");
    assert_found(&host, "daemon", PROBLEM, "suspended: time +3 %");
    host = absent();
    assert_found(&host, "daemon", ADVICE, "systemctl start");
    host.left.n_routes = 3;
    assert_found(&host, "daemon", PROBLEM, "riptide flush");
    host.is_there = true;
    assert_found(&host, "daemon", ADVICE, "process 7 ");
    host.error = -ETIMEDOUT;
    assert_found(&host, "daemon", PROBLEM, "does not answer");
}

TEST(privileges_that_a_container_lacks_are_named)
{
    struct host host = absent();

    host.error = 0;
    host.is_well = true;
    strcpy(host.by, "routes");
    strcpy(host.why, "no CAP_BPF");
    assert_found(&host, "privileges", ADVICE, "no CAP_BPF");
    host = absent();
    host.may_write_routes = host.may_load_program = false;
    assert_int_equal(judge(&host, PRIVILEGES).kind, PROBLEM);
    host.may_write_routes = true;
    assert_non_null(strstr(judge(&host, PRIVILEGES).what, "CAP_BPF"));
    host.may_load_program = true;
    host.has_cgroup2 = false;
    assert_non_null(strstr(judge(&host, PRIVILEGES).what, "cgroup2"));
}

TEST(others_rules_and_tables)
{
    struct host host = healthy();

    strcpy(host.before, "IPv4 priority 1 lookup 5");
    assert_found(&host, "rules", ADVICE, "priority 1 lookup 5");
    host.not_taken = true;
    assert_found(&host, "rules", PROBLEM, "apply = program");
    strcpy(host.by, "program");
    host.slow_start_after_idle = -1;
    assert_int_equal(judge(&host, RULES).kind, PASSED);
    host = healthy();
    strcpy(host.conflict, "table 7230 has routes of another protocol");
    assert_found(&host, "table", PROBLEM, "table 7230 has");
    host = healthy();
    host.removes_rules = true;
    assert_found(&host, "networkd", PROBLEM, "removes our rules when");
}

TEST(sysctls)
{
    struct host host = healthy();

    host.slow_start_after_idle = 0;
    assert_found(&host, "idle-restart", ADVICE, "however old");
    host = healthy();
    strcpy(host.by, "program");
    assert_found(&host, "idle-restart", ADVICE, "tcp_slow_start_after_idle=0");
    host = healthy();
    host.fastopen = 0x203;
    assert_found(&host, "fastopen", PROBLEM, "tcp_fastopen=3");
    host.fastopen = 0x201; /* of clients alone */
    assert_found(&host, "fastopen", PASSED, "");
    host = healthy();
    strcpy(host.by, "routes");
    assert_found(&host, "receiver", ADVICE, "tcp_rmem=\"4096 292000 6291456\"");
    host.rmem_bytes[1] = 292000;
    assert_found(&host, "receiver", PASSED, "");
}
