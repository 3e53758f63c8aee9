/* SPDX-License-Identifier: MIT */
/*
 * lib/agent/state: the file of an agent's state, and files that are refused. The agents are not
 * started: their sockets change nothing.
 */
#include "estimators.h"

#include <sys/stat.h>

NEEDS_NETLINK(NETLINK_SOCK_DIAG)

static char directory[64];
static char path[80];

static int make_directory(void **state)
{
    snprintf(directory, sizeof(directory), "/tmp/riptide-state-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/state", directory);
    return 0;
}

static int remove_directory(void **state)
{
    unlink(path);
    return rmdir(directory);
}

static bool was_refused;

/* One that has loaded the state in that file. */
static struct riptide_agent *agent_with(const char *file)
{
    /* A dry run saves nothing. */
    struct riptide_agent *agent =
        AGENT_WITH(configs.estimator.policy = riptide_policy_find("paper"),
                   configs.applier.dry_run = false, configs.agent.state = file);

    was_refused = state_load(agent);
    agent->is_started = true;
    return agent;
}

static void save(uint32_t cwnd)
{
    AGENT *agent = agent_with(path);
    struct riptide_error error = { .text = "" };

    learn(agent->estimator, cwnd, read_clock(CLOCK_BOOTTIME));
    if (riptide_agent_save(agent, true, &error) != 0)
        fail_msg("%s", error.text);
}

static void assert_loads(bool is_refused, const char *said, uint32_t cwnd)
{
    AGENT *agent = agent_with(path);
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(agent);
    char expected[256];

    snprintf(expected, sizeof(expected), "%s: %s", path, said);
    assert_string_equal(stats->state, expected);
    assert_int_equal(was_refused, is_refused);
    assert_int_equal(cwnd_of(agent->estimator), cwnd);
}

TEST_WITH(state_goes_on_from_that_of_the_file, make_directory, remove_directory)
{
    assert_loads(false, "No such file or directory; starting empty", 0);
    save(30);
    save(70); /* by an agent that had loaded 30 */
    assert_loads(false, LOADED(1, 0, 0) "; outcomes of connections: 0", 50);
}

TEST_WITH(refusal_names_the_file_and_keeps_it, make_directory, remove_directory)
{
    static const char refused[] = "state: the first line is not that of a riptide state; no "
                                  "destinations loaded; outcomes of connections: 0; kept as .old";
    char old[sizeof(path) + 4];
    struct stat kept;

    snprintf(old, sizeof(old), "%s.old", path);
    for (off_t size = 20; size >= 0; size -= 20) {
        save(30);
        assert_int_equal(truncate(path, size), 0);
        assert_loads(true, refused, 0);
        assert_int_equal(stat(old, &kept), 0);
        assert_int_equal(kept.st_size, size);
    }
    save(30);
    assert_int_equal(truncate(path, INT64_C(2) << 30), 0);
    assert_loads(true, "File too large; starting empty; kept as .old", 0);
    unlink(old);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_loads(true, "is no regular file; starting empty", 0);
}

TEST_WITH(save_that_fails_leaves_nothing, make_directory, remove_directory)
{
    AGENT *into_directory = agent_with(directory), *nowhere = agent_with("/nonexistent/state");
    AGENT *without = agent_with(NULL);
    struct riptide_error error = { .text = "" };

    assert_int_equal(riptide_agent_save(into_directory, true, &error), -EISDIR);
    assert_int_equal(riptide_agent_save(nowhere, true, &error), -ENOENT);
    assert_string_equal(error.text,
                        "state: /nonexistent/state: cannot make a temporary file beside it: No "
                        "such file or directory");
    assert_string_equal(error.field, "state");
    assert_int_equal(riptide_agent_save(without, true, &error), -EINVAL);
}

/* Else an agent whose start fails would replace the state by nothing. */
TEST_WITH(nothing_is_saved_before_the_start, make_directory, remove_directory)
{
    AGENT *agent = NULL;
    struct riptide_error error = { .text = "" };

    save(30);
    agent = agent_with(path);
    learn(agent->estimator, 70, read_clock(CLOCK_BOOTTIME));
    agent->is_started = false;
    assert_int_equal(riptide_agent_save(agent, true, &error), -EINVAL);
    assert_int_equal(riptide_agent_stop(agent, &error), 0);
    assert_loads(false, LOADED(1, 0, 0) "; outcomes of connections: 0", 30);
}
