/* SPDX-License-Identifier: MIT */
/*
 * State in a file of a temporary directory: a round trip, replacement, and files that are refused.
 */
#include "estimators.h"

#include <dirent.h>
#include <errno.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char directory[64];
static char path[80];

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * S + (uint64_t)time.tv_nsec;
}

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

static size_t count_files(void)
{
    DIR *dir = opendir(directory);
    size_t n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}

static void save(uint32_t cwnd)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_error error = { .text = "" };

    learn(estimator, cwnd, now());
    if (riptide_state_save(estimator, path, &error) != 0)
        fail_msg("%s", error.text);
}

static int load(uint32_t *cwnd, struct riptide_error *error)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    int r = riptide_state_load(estimator, path, NULL, error);

    *cwnd = cwnd_of(estimator);
    return r;
}

TEST_WITH(file_is_replaced_and_nothing_stays_beside_it, make_directory, remove_directory)
{
    struct riptide_error error = { .text = "" };
    uint32_t cwnd;

    assert_int_equal(load(&cwnd, &error), -ENOENT);
    save(30);
    save(70);
    assert_int_equal(load(&cwnd, &error), 0);
    assert_int_equal(cwnd, 70);
    assert_int_equal(count_files(), 1);
}

TEST_WITH(refusal_names_the_file, make_directory, remove_directory)
{
    struct riptide_error error = { .text = "" };
    char expected[256];
    uint32_t cwnd;
    FILE *file;

    save(30);
    assert_int_equal(truncate(path, 20), 0);
    assert_int_equal(load(&cwnd, &error), -EINVAL);
    assert_int_equal(cwnd, 0);
    snprintf(expected, sizeof(expected),
             "%s: state: the first line is not that of a riptide state", path);
    assert_string_equal(error.text, expected);

    file = fopen(path, "w");
    fclose(file);
    assert_int_equal(load(&cwnd, &error), -EINVAL);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load(&cwnd, &error), -EINVAL);
    unlink(path);
}

TEST_WITH(outcome_has_a_reason, make_directory, remove_directory)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_error error = { .text = "" };
    char expected[256];

    save(30);
    riptide_estimator_tick(estimator, INT64_MAX);
    assert_int_equal(riptide_state_load(estimator, path, NULL, &error), RIPTIDE_E_INVALID);
    snprintf(expected, sizeof(expected), "%s: the value is impossible", path);
    assert_string_equal(error.text, expected);
}

TEST_WITH(save_that_fails_leaves_nothing, make_directory, remove_directory)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_error error = { .text = "" };

    assert_int_equal(riptide_state_save(estimator, directory, &error), -EISDIR);
    assert_int_equal(riptide_state_save(estimator, "/nonexistent/state", &error), -ENOENT);
    assert_string_equal(error.text, "/nonexistent/state: cannot make a temporary file beside it: "
                                    "No such file or directory");
}

/* It is written a piece at a time. */
TEST_WITH(each_of_many_lines_is_written_once, make_directory, remove_directory)
{
    enum { HOSTS = 250 };
    ESTIMATOR *saved = estimator_of_policy("paper");
    ESTIMATOR *loaded = estimator_of_policy("paper");
    struct riptide_load_counts counts;
    char dst[sizeof("192.0.2.255")];

    for (uint32_t i = 1; i <= HOSTS; i++) {
        snprintf(dst, sizeof(dst), "192.0.2.%u", i & 255);
        add_host(saved, dst, 20 + i % 70);
    }
    riptide_estimator_tick(saved, now());
    assert_int_equal(riptide_state_save(saved, path, NULL), 0);
    assert_int_equal(riptide_state_load(loaded, path, &counts, NULL), 0);
    assert_int_equal(counts.loaded, HOSTS);
    assert_int_equal(counts.skipped + counts.older, 0);
    for (uint32_t i = 1; i <= HOSTS; i++) {
        snprintf(dst, sizeof(dst), "192.0.2.%u", i & 255);
        assert_int_equal(find_host(loaded, dst).cwnd, 20 + i % 70);
    }
}
