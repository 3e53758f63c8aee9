/* SPDX-License-Identifier: MIT */
/*
 * lib/agent: an agent's configuration, and what its functions do at which time. It is a dry run, so
 * that its sockets change nothing.
 */
#include "estimators.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

NEEDS_NETLINK(NETLINK_SOCK_DIAG)

static struct stages stages_of(const struct stages *configs)
{
    struct riptide_error error = { .text = "" };
    struct stages stages;

    if (agent_config_take(&stages, &configs->agent, &error) != 0)
        fail_msg("%s", error.text);
    return stages;
}

/* Destinations that give way have places beside those that replace them. */
TEST(places_for_windows_are_twice_those_for_destinations)
{
    struct stages configs;

    configs_init(&configs);
    configs.applier.max_windows = 1;
    configs.estimator.max_destinations = 50000;
    assert_int_equal(stages_of(&configs).applier.max_windows, 100000);
    configs.estimator.max_destinations = RIPTIDE_MAX_DESTINATIONS;
    assert_int_equal(stages_of(&configs).applier.max_windows, RIPTIDE_MAX_DESTINATIONS);
}

TEST(calls_after_a_start_or_a_stop_are_refused)
{
    struct riptide_error error = { .text = "" };
    AGENT *agent = AGENT_WITH(0);

    assert_int_equal(riptide_agent_start(agent, NULL), 0);
    assert_int_equal(riptide_agent_start(agent, &error), -EALREADY);
    assert_string_equal(error.text, "it was started before");
    assert_int_equal(riptide_agent_stop(agent, NULL), 0);
    assert_int_equal(riptide_agent_start(agent, &error), -ESHUTDOWN);
    assert_string_equal(error.text, "it was stopped; a new one is needed");
    assert_int_equal(riptide_agent_set_paused(agent, true), -ESHUTDOWN);
    assert_int_equal(riptide_agent_set_paused(agent, false), -ESHUTDOWN);
    /* Who stops twice has stopped. */
    assert_int_equal(riptide_agent_dispatch(agent), -ESHUTDOWN);
    assert_int_equal(riptide_agent_stop(agent, NULL), 0);
}

static bool is_refused(int r, struct riptide_error *error)
{
    char expected[sizeof(error->text)];

    snprintf(expected, sizeof(expected),
             "made before fork(2), in process %d; make a new one in this process", (int)getppid());
    return r == -ECHILD && strcmp(error->text, expected) == 0;
}

static bool are_calls_refused(struct riptide_agent *agent)
{
    const struct riptide_wanted wanted = { .dst = { AF_INET, 32, { 198, 51, 100, 1 } } };
    const struct riptide_sample *sample;
    struct riptide_error error;

    return is_refused(riptide_agent_start(agent, &error), &error) &&
           is_refused(riptide_agent_save(agent, false, &error), &error) &&
           is_refused(riptide_agent_stop(agent, &error), &error) &&
           riptide_agent_set_paused(agent, true) == -ECHILD &&
           riptide_agent_dispatch(agent) == -ECHILD &&
           riptide_observer_start(agent->observer) == -ECHILD &&
           riptide_observer_dispatch(agent->observer) == -ECHILD &&
           riptide_observer_pop(agent->observer, &sample) == -ECHILD &&
           riptide_applier_set(agent->applier, &wanted) == -ECHILD &&
           riptide_applier_set_paused(agent->applier, RIPTIDE_REASON_PAUSED, NULL) == -ECHILD &&
           riptide_applier_start(agent->applier, NULL) == -ECHILD &&
           riptide_applier_dispatch(agent->applier) == -ECHILD &&
           riptide_applier_stop(agent->applier) == -ECHILD;
}

TEST(agent_and_stages_are_refused_in_a_child_of_fork)
{
    AGENT *agent = AGENT_WITH(0);
    int status = -1;
    pid_t child;

    assert_int_equal(riptide_agent_start(agent, NULL), 0);
    assert_int_equal(riptide_observer_start(agent->observer), 0);
    child = fork();
    if (child == 0) {
        /* Not by exit(2), at which valgrind would look for leaks of the child's copies. */
        if (are_calls_refused(agent))
            execl("/bin/true", "true", NULL);
        _exit(EXIT_FAILURE);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, EXIT_SUCCESS);
}

/* AUTO has chosen by then, and may have found no cgroup. */
TEST(policies_learn_that_flights_are_paced_where_they_are)
{
    static const struct {
        uint32_t backend;
        const char *cgroup;
        bool pacing;
    } cases[] = {
        { RIPTIDE_ROUTES, NULL, true },  { RIPTIDE_AUTO, "/none", false },
        { RIPTIDE_AUTO, "/none", true }, { RIPTIDE_AUTO, NULL, false },
        { RIPTIDE_AUTO, NULL, true },
    };

    EACH(row, cases) {
        AGENT *agent =
            AGENT_WITH(configs.applier.backend = row->backend, configs.applier.cgroup = row->cgroup,
                       configs.applier.pacing = row->pacing);

        assert_int_equal(riptide_agent_start(agent, NULL), 0);
        while (!agent->estimator->has_ticked)
            assert_true(riptide_agent_dispatch(agent) >= 0);
        assert_int_equal(agent->estimator->input.can_pace,
                         row->pacing && agent_applier_stats(agent).backend != RIPTIDE_ROUTES);
    }
}

/* Policy careful learns from those that close, one of the host's may, and outcomes need them. */
TEST(destroy_events_are_read_where_something_needs_them_unless_said)
{
    struct riptide_policy own = *riptide_policy_find("paper");
    const struct {
        const struct riptide_policy *policy;
        int asked;
        uint32_t holdout_percent;
        bool hears;
    } cases[] = {
        { riptide_policy_find("careful"), RIPTIDE_DESTROY_EVENTS_AUTO, 0, true },
        { riptide_policy_find("careful"), RIPTIDE_DESTROY_EVENTS_NO, 0, false },
        { &own, RIPTIDE_DESTROY_EVENTS_AUTO, 0, true },
        { riptide_policy_find("paper"), RIPTIDE_DESTROY_EVENTS_AUTO, 0, false },
        { riptide_policy_find("paper"), RIPTIDE_DESTROY_EVENTS_YES, 0, true },
        { riptide_policy_find("paper"), RIPTIDE_DESTROY_EVENTS_AUTO, 5, true },
    };

    own.name = "own";
    EACH(row, cases) {
        struct stages stages = CONFIGURED(stages_of, configs.observer.destroy_events = row->asked,
                                          configs.estimator.policy = row->policy,
                                          configs.applier.holdout_percent = row->holdout_percent);

        assert_row(stages.observer.destroy_events == row->hears);
    }
}

static struct riptide_prefix peer_of(uint8_t last)
{
    return (struct riptide_prefix){ AF_INET, 32, { 192, 0, 2, last } };
}

/* Adds a sample, and loads a state, of what the scope may exclude. */
static void assert_taken(struct riptide_agent *agent, bool is_taken)
{
    const struct riptide_sample sample = { .dst = peer_of(1), .cwnd = 40 },
                                of_loopback = { .dst = prefix("127.0.0.1"), .cwnd = 40 };
    static const char state[] = "riptide state 2 saved_ns=0\n"
                                "192.0.2.1 cwnd=48 age_ns=0\n";

    assert_int_equal(riptide_agent_add(agent, &sample),
                     is_taken ? RIPTIDE_E_LEFT_OUT : RIPTIDE_E_UNKNOWN);
    assert_int_equal(riptide_agent_add(agent, &of_loopback), RIPTIDE_E_UNKNOWN);
    assert_text(load_at(agent->estimator, read_clock(CLOCK_BOOTTIME), 0, state, sizeof(state) - 1),
                is_taken ? LOADED(1, 0, 0) : LOADED(0, 0, 1));
}

TEST(excluded_destination_comes_neither_by_a_state_nor_by_the_host)
{
    struct riptide_prefix excluded = peer_of(1);
    AGENT *agent = AGENT_WITH(configs.observer.scope.exclude = &excluded,
                              configs.observer.scope.n_exclude = 1);
    AGENT *other = AGENT_WITH(0);

    excluded.addr[3] = 2; /* the scope was copied */
    assert_taken(agent, false);
    assert_taken(other, true);
}

/* Of a filter's search no address with such a length may be read. */
TEST(sample_of_no_host_is_refused_and_counted)
{
    static const uint8_t lens[] = { 0, 24, 33, 255 };
    struct riptide_sample sample = { .dst = peer_of(1), .cwnd = 40 };
    AGENT *agent = AGENT_WITH(configs.observer.scope.exclude = &sample.dst,
                              configs.observer.scope.n_exclude = 1);

    for (size_t i = 0; i < sizeof(lens); i++) {
        sample.dst.len = lens[i];
        assert_int_equal(riptide_agent_add(agent, &sample), RIPTIDE_E_INVALID);
    }
    assert_int_equal(riptide_agent_get_stats(agent)->estimator->invalid, sizeof(lens));
}

/* What is found of a peer; NULL: nothing. */
static const struct riptide_window *find_window(struct riptide_agent *agent, uint8_t last)
{
    const struct riptide_prefix peer = peer_of(last);
    const struct riptide_window *window;

    return riptide_agent_find(agent, &peer, &window) == 0 ? window : NULL;
}

/* As a stack of the host's own asks, which knows peers, not destinations. */
TEST(window_of_a_peer_is_that_of_its_destination)
{
    const struct riptide_hint off = { .dst = { AF_INET, 16, { 192 } }, .off = true };
    const struct riptide_sample sample = { .dst = peer_of(1), .cwnd = 40 };
    const struct riptide_window *window;
    struct riptide_hint hint;
    uint32_t cursor = 0;
    AGENT *agent = AGENT_WITH(configs.estimator.prefix_len4 = 24,
                              configs.estimator.policy = riptide_policy_find("paper"));

    window = find_window(agent, 77);
    assert_true(!window->estimate && !window->route && !window->program);
    assert_int_equal(window->reason_code, RIPTIDE_REASON_NOT_LEARNED);
    assert_int_equal(riptide_agent_next(agent, &cursor, &window), RIPTIDE_E_DONE);
    assert_int_equal(riptide_agent_add(agent, &sample), 0);
    riptide_estimator_tick(agent->estimator, read_clock(CLOCK_BOOTTIME), false);
    window = find_window(agent, 77);
    assert_non_null(window);
    assert_int_equal(window->dst.len, 24);
    assert_int_equal(window->estimate->cwnd, 40);
    assert_int_equal(window->program->state, RIPTIDE_ROUTE_APPLIED);
    assert_int_equal(window->program->initcwnd, 40);
    assert_null(window->route); /* one serves a single address */
    assert_int_equal(window->reason_code, RIPTIDE_REASON_NONE);
    assert_string_equal(window->reason, "");
    cursor = 0;
    assert_int_equal(riptide_agent_next(agent, &cursor, &window), 0);
    assert_int_equal(window->estimate->cwnd, 40);

    cursor = 0;
    assert_int_equal(riptide_agent_next_hint(agent, &cursor, &hint), RIPTIDE_E_DONE);
    assert_int_equal(riptide_agent_set_hint(agent, &off, NULL), 0);
    assert_int_equal(riptide_agent_next_hint(agent, &cursor, &hint), 0);
    assert_memory_equal(&hint.dst, &off.dst, sizeof(off.dst));
    assert_int_equal(riptide_agent_next_hint(agent, &cursor, &hint), RIPTIDE_E_DONE);
    window = find_window(agent, 77);
    assert_int_equal(window->estimate->cwnd, 0);
    assert_null(window->program);
    assert_string_equal(window->reason, "windows are off for 192.0.0.0/16");
    assert_int_equal(window->reason_code, RIPTIDE_REASON_OFF);
    assert_int_equal(riptide_agent_remove_hint(agent, &off.dst), 0);
    assert_int_equal(find_window(agent, 77)->estimate->cwnd, 40);
    assert_int_equal(riptide_agent_stop(agent, NULL), 0);
    assert_int_equal(riptide_agent_remove_hint(agent, &off.dst), -ESHUTDOWN);
    assert_null(find_window(agent, 77)->program); /* it has ended */
    assert_int_equal(find_window(agent, 77)->reason_code, RIPTIDE_REASON_STOPPED);
}

/* Without a dump the host has no addresses but those that each has. */
TEST(destination_that_is_never_learned_says_why)
{
    static const struct riptide_port_range port = { 1, 1 };
    static const struct {
        const char *dst;
        enum riptide_reason reason;
        bool has_ports;
    } cases[] = {
        { "127.0.0.1", RIPTIDE_REASON_LOCAL, false },
        { "0.0.0.0", RIPTIDE_REASON_LOCAL, false },
        { "::1", RIPTIDE_REASON_LOCAL, false },
        { "169.254.1.1", RIPTIDE_REASON_LINK_LOCAL, false },
        { "fe80::1", RIPTIDE_REASON_LINK_LOCAL, false },
        { "239.1.1.1", RIPTIDE_REASON_LINK_LOCAL, false },
        { "255.255.255.255", RIPTIDE_REASON_LINK_LOCAL, false },
        { "ff02::1", RIPTIDE_REASON_LINK_LOCAL, false },
        { "192.0.2.1", RIPTIDE_REASON_NOT_LEARNED, false },
        { "192.0.2.1", RIPTIDE_REASON_PORT, true },
        { "192.0.2.129", RIPTIDE_REASON_EXCLUDED, true },
        { "192.0.2.130", RIPTIDE_REASON_NOT_LEARNED, false },
        { "198.51.100.1", RIPTIDE_REASON_OUT_OF_SCOPE, true },
        /* Without the exclusion it would be as much. */
        { "203.0.113.1", RIPTIDE_REASON_OUT_OF_SCOPE, false },
    };
    const struct riptide_prefix learn[] = { prefix("192.0.2.0/24"), prefix("192.0.2.130") },
                                exclude[] = { prefix("192.0.2.128/25"), prefix("203.0.113.0/24") };

    EACH(row, cases) {
        AGENT *agent = AGENT_WITH(configs.observer.scope =
                                      (struct riptide_scope){ .learn = learn,
                                                              .n_learn = COUNT(learn),
                                                              .exclude = exclude,
                                                              .n_exclude = COUNT(exclude),
                                                              .remote_ports = &port,
                                                              .n_remote_ports = row->has_ports });
        const struct riptide_window *window;

        assert_row(riptide_agent_find(agent, prefix_at(row->dst), &window) == 0);
        assert_row(window->reason_code == row->reason);
        assert_text(window->reason, riptide_name(RIPTIDE_NAMES_REASON, row->reason));
    }
}

/* Members of 0 are those of a route that is in force, of no reason, or no window. */
TEST(of_all_reasons_the_one_that_keeps_the_window_away_is_given)
{
    enum {
        NOTHING,
        APPLIED = 1 + RIPTIDE_ROUTE_APPLIED,
        LEFT_ALONE = 1 + RIPTIDE_ROUTE_LEFT_ALONE,
        FAILED = 1 + RIPTIDE_ROUTE_FAILED
    };
    static const struct {
        uint32_t cwnd;
        enum riptide_reason not_learned, route_reason, program_reason;
        int route, program;
        uint32_t backends;
        enum riptide_reason reason;
    } cases[] = {
        { 40, 0, 0, 0, APPLIED, NOTHING, RIPTIDE_ROUTES, RIPTIDE_REASON_NONE },
        /* One backend is enough. */
        { 40, 0, RIPTIDE_REASON_BASE_LOCKS, 0, LEFT_ALONE, APPLIED, RIPTIDE_BOTH,
          RIPTIDE_REASON_NONE },
        { 40, 0, 0, RIPTIDE_REASON_NOT_ATTACHED, APPLIED, APPLIED, RIPTIDE_BOTH,
          RIPTIDE_REASON_NONE },
        { 40, 0, RIPTIDE_REASON_OTHER_TABLE, RIPTIDE_REASON_PAUSED, APPLIED, APPLIED, RIPTIDE_BOTH,
          RIPTIDE_REASON_PAUSED },
        { 40, 0, RIPTIDE_REASON_OTHER_TABLE, 0, APPLIED, NOTHING, RIPTIDE_BOTH,
          RIPTIDE_REASON_OTHER_TABLE },
        { 40, 0, 0, RIPTIDE_REASON_REFUSED, NOTHING, FAILED, RIPTIDE_PROGRAM,
          RIPTIDE_REASON_REFUSED },
        { 40, 0, RIPTIDE_REASON_BASE_LOCKS, 0, LEFT_ALONE, NOTHING, RIPTIDE_ROUTES,
          RIPTIDE_REASON_BASE_LOCKS },
        { 10, RIPTIDE_REASON_HELD_BACK, RIPTIDE_REASON_KERNEL_SUFFICES, 0, LEFT_ALONE, NOTHING,
          RIPTIDE_ROUTES, RIPTIDE_REASON_HELD_BACK },
        { 10, RIPTIDE_REASON_HELD_BACK, RIPTIDE_REASON_BASE_LOCKS, 0, LEFT_ALONE, NOTHING,
          RIPTIDE_ROUTES, RIPTIDE_REASON_BASE_LOCKS },
        { 10, RIPTIDE_REASON_HELD_BACK, 0, 0, NOTHING, APPLIED, RIPTIDE_PROGRAM,
          RIPTIDE_REASON_HELD_BACK },
        { 10, RIPTIDE_REASON_HELD_BACK, 0, 0, APPLIED, NOTHING, RIPTIDE_ROUTES,
          RIPTIDE_REASON_HELD_BACK },
        /* A smaller one than without us is a window. */
        { 5, RIPTIDE_REASON_HELD_BACK, 0, 0, NOTHING, APPLIED, RIPTIDE_PROGRAM,
          RIPTIDE_REASON_NONE },
        { 10, 0, 0, 0, NOTHING, APPLIED, RIPTIDE_PROGRAM, RIPTIDE_REASON_NONE },
        { 10, RIPTIDE_REASON_HELD_BACK, 0, RIPTIDE_REASON_PAUSED, NOTHING, APPLIED, RIPTIDE_PROGRAM,
          RIPTIDE_REASON_PAUSED },
        /* Until a backend has withdrawn it. */
        { 0, RIPTIDE_REASON_OFF, 0, 0, NOTHING, APPLIED, RIPTIDE_BOTH, RIPTIDE_REASON_NONE },
        /* A window that the estimator has not is not the backends' matter. */
        { 0, RIPTIDE_REASON_OFF, RIPTIDE_REASON_BASE_LOCKS, RIPTIDE_REASON_PAUSED, LEFT_ALONE,
          APPLIED, RIPTIDE_BOTH, RIPTIDE_REASON_OFF },
        { 0, RIPTIDE_REASON_OFF, 0, 0, NOTHING, NOTHING, 0, RIPTIDE_REASON_OFF },
        { 40, 0, 0, 0, NOTHING, NOTHING, RIPTIDE_BOTH, RIPTIDE_REASON_PENDING },
        { 40, 0, 0, 0, NOTHING, NOTHING, RIPTIDE_ROUTES, RIPTIDE_REASON_PREFIX },
        { 40, 0, 0, 0, NOTHING, NOTHING, 0, RIPTIDE_REASON_STOPPED },
    };

    EACH(row, cases) {
        const struct riptide_estimate estimate = { .cwnd = row->cwnd };
        const struct riptide_route route = { .state = (enum riptide_route_state)(row->route - 1),
                                             .initcwnd = row->cwnd,
                                             .reason_code = row->route_reason };
        const struct riptide_route program = {
            .state = (enum riptide_route_state)(row->program - 1),
            .initcwnd = row->cwnd,
            .reason_code = row->program_reason,
        };
        const struct riptide_window window = { .dst = prefix("192.0.2.0/24"),
                                               .estimate = &estimate,
                                               .route = row->route ? &route : NULL,
                                               .program = row->program ? &program : NULL };

        assert_row(why_not_given(&window, row->not_learned, row->backends) == row->reason);
    }
}

/* By the rule that the program follows as well (test_program.py). */
TEST(connections_start_with_the_larger_window_unless_it_may_be_lowered)
{
    static const struct {
        uint32_t program, route;
        bool may_lower;
        enum riptide_reason program_reason;
        uint32_t start;
    } cases[] = {
        { 40, 0, false, 0, 40 },
        { 40, 60, false, 0, 60 },
        { 40, 60, true, 0, 40 },
        { 40, 60, true, RIPTIDE_REASON_PAUSED, 60 },
        { 5, 0, false, 0, 10 },
        { 5, 0, true, 0, 5 },
        { 40, 0, false, RIPTIDE_REASON_PAUSED, 10 },
    };

    EACH(row, cases) {
        const struct riptide_estimate estimate = { .may_lower = row->may_lower };
        const struct riptide_route program = { .state = RIPTIDE_ROUTE_APPLIED,
                                               .initcwnd = row->program,
                                               .reason_code = row->program_reason };
        const struct riptide_window window = { .estimate = &estimate, .program = &program };

        assert_row(riptide_window_get_start(&window, row->route) == row->start);
    }
    assert_int_equal(riptide_window_get_start(&(struct riptide_window){ .estimate = NULL }, 17),
                     17);
}

/* In place of the sockets that hear of changes of routes: one that can never be read. */
static void break_notifications(void)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    for (int fd = 3; fd < 64; fd++) {
        uint32_t groups[4] = { 0 };
        socklen_t n_bytes = sizeof(groups);

        if (getsockopt(fd, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS, groups, &n_bytes) == 0 &&
            (groups[0] | groups[1]))
            dup2(null_fd, fd);
    }
    close(null_fd);
}

/* Serves the agent until so many rounds have ended. Returns the last error of a dispatch. */
static int serve_rounds(struct riptide_agent *agent, int n_rounds)
{
    struct pollfd fd = { .fd = riptide_agent_get_fd(agent), .events = POLLIN };
    const struct riptide_agent_event *event;
    uint64_t end_ns = read_clock(CLOCK_BOOTTIME) + 20 * S;
    int r, error = 0;

    while (n_rounds > 0) {
        assert_true(read_clock(CLOCK_BOOTTIME) < end_ns);
        poll(&fd, 1, 1000);
        r = riptide_agent_dispatch(agent);
        error = r < 0 ? r : error;
        while (riptide_agent_pop(agent, &event) == 0)
            n_rounds -= event->kind == RIPTIDE_AGENT_TICK;
    }
    return error;
}

/* Dumps, expiry and the windows of the other backend do not depend on routes. */
TEST(dispatch_rounds_end_despite_errors)
{
    const struct riptide_sample sample = { .dst = peer_of(1), .cwnd = 40 };
    AGENT *agent = AGENT_WITH(
        configs.applier.backend = RIPTIDE_ROUTES, configs.agent.interval_ns = 10 * MS,
        configs.estimator.ttl_ns = 50 * MS, configs.estimator.policy = riptide_policy_find("paper"),
        configs.observer.destroy_events = RIPTIDE_DESTROY_EVENTS_NO);

    assert_int_equal(riptide_agent_start(agent, NULL), 0);
    assert_int_equal(serve_rounds(agent, 1), 0);
    break_notifications();
    assert_int_equal(riptide_agent_add(agent, &sample), 0);
    assert_int_equal(serve_rounds(agent, 1), -ENOTSOCK);
    assert_int_equal(find_window(agent, 1)->estimate->cwnd, 40);
    assert_int_equal(serve_rounds(agent, 20), -ENOTSOCK);
    assert_null(find_window(agent, 1)->estimate);
}

/* What the estimator forgets, the agent keeps: why a window went last. */
TEST(window_that_was_withdrawn_says_why)
{
    const struct riptide_sample sample = { .dst = peer_of(101), .cwnd = 40 };
    AGENT *agent =
        AGENT_WITH(configs.agent.interval_ns = 10 * MS, configs.estimator.ttl_ns = 50 * MS,
                   configs.estimator.policy = riptide_policy_find("paper"),
                   configs.observer.destroy_events = RIPTIDE_DESTROY_EVENTS_NO);

    assert_int_equal(riptide_agent_start(agent, NULL), 0);
    assert_int_equal(riptide_agent_add(agent, &sample), 0);
    assert_int_equal(serve_rounds(agent, 2), 0);
    while (find_window(agent, 101)->estimate)
        assert_int_equal(serve_rounds(agent, 1), 0);
    assert_int_equal(find_window(agent, 101)->reason_code, RIPTIDE_REASON_EXPIRED);
    assert_int_equal(find_window(agent, 102)->reason_code, RIPTIDE_REASON_NOT_LEARNED);
    agent->withdrawn[agent->n_withdrawn++] =
        (struct withdrawn){ peer_of(101), RIPTIDE_REASON_FULL };
    assert_int_equal(find_window(agent, 101)->reason_code, RIPTIDE_REASON_FULL);
    agent->withdrawn[agent->n_withdrawn++] = (struct withdrawn){ peer_of(101), RIPTIDE_REASON_OFF };
    assert_int_equal(find_window(agent, 101)->reason_code, RIPTIDE_REASON_EXPIRED);
}

/* What decides asks for more evidence with each beginning: a resume without a pause is none. */
TEST(resume_begins_first_phase)
{
    AGENT *agent = AGENT_WITH(0);

    agent->experiment.phase = HOLDOUT_SETTLED;
    assert_int_equal(riptide_agent_set_paused(agent, false), 0);
    assert_int_equal(agent->experiment.phase, HOLDOUT_SETTLED);
    assert_int_equal(riptide_agent_set_paused(agent, true), 0);
    assert_int_equal(riptide_agent_set_paused(agent, false), 0);
    assert_int_equal(agent->experiment.phase, HOLDOUT_FIRST);
}

/* While routes are not withdrawn, destinations that replace others find no place. */
TEST(overflow_counts_windows)
{
    struct riptide_sample sample = { .cwnd = 40 };
    AGENT *agent =
        AGENT_WITH(configs.applier.backend = RIPTIDE_ROUTES, configs.agent.interval_ns = 10 * MS,
                   configs.estimator.max_destinations = 1,
                   configs.estimator.policy = riptide_policy_find("paper"));

    assert_int_equal(riptide_agent_start(agent, NULL), 0);
    assert_int_equal(serve_rounds(agent, 1), 0);
    break_notifications();
    for (uint8_t i = 1; i <= 3; i++) {
        assert_int_equal(riptide_agent_get_stats(agent)->estimator->overflow, 0);
        sample.dst = peer_of(i);
        assert_int_equal(riptide_agent_add(agent, &sample), 0);
        assert_int_equal(serve_rounds(agent, 2), -ENOTSOCK);
    }
    assert_int_equal(riptide_agent_get_stats(agent)->estimator->overflow, 1);
}
