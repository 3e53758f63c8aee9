/* SPDX-License-Identifier: MIT */
/*
 * The configuration of an observer: defaults, refusals with their fields, and the connections that
 * a scope contains. tests/netns runs observers.
 */
#include "bytes.h"
#include "internal.h"
#include "observe/filter.h"

#include <errno.h>
#include <stdio.h>

enum { MAX_PREFIXES = 4 };

/* Prefixes apart by spaces. */
static size_t read_prefixes(struct riptide_prefix prefixes[MAX_PREFIXES], const char *text)
{
    char copy[128], *rest = copy, *word;
    size_t n = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    while (*text && (word = strsep(&rest, " "))) {
        assert_true(n < MAX_PREFIXES);
        prefixes[n++] = prefix(word);
    }
    return n;
}

TEST(scope_judges_by_the_longest_prefix)
{
    static const struct {
        const char *learn, *exclude, *taken, *left;
    } cases[] = {
        { "", "", "203.0.113.7 2001:db8::1", "" },
        { "", "203.0.113.0/24 2001:db8::/32", "203.0.114.7 2001:db9::1", "203.0.113.7 2001:db8::1" },
        { "203.0.113.0/24 2001:db8::/32", "", "203.0.113.7 2001:db8:ffff::1",
          "203.0.112.255 2001:db7::1" },
        { "10.0.0.0/8 10.1.2.0/24", "10.1.2.3 10.1.0.0/16", "10.2.0.1 10.1.2.1",
          "10.1.0.1 10.1.2.3 11.0.0.1" },
        { "10.0.0.0/8 2001:db8::/32", "10.0.0.0/8 2001:db8::/32", "", "10.0.0.1 2001:db8::1" },
        { "0.0.0.0/0", "", "10.0.0.1", "2001:db8::1" },
        { "", "::/0", "10.0.0.1", "2001:db8::1" },
        /* A prefix is judged as a whole. */
        { "10.0.0.0/16", "", "10.0.0.0/16 10.0.1.0/24", "10.0.0.0/15" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct riptide_prefix learn[MAX_PREFIXES], exclude[MAX_PREFIXES], dsts[MAX_PREFIXES];
        struct riptide_scope scope = {
            .learn = learn,
            .n_learn = read_prefixes(learn, cases[i].learn),
            .exclude = exclude,
            .n_exclude = read_prefixes(exclude, cases[i].exclude),
        };

        CLEANUP(filter_deinit) struct filter filter = { .n_bytes = 0 };

        assert_int_equal(filter_init(&filter, &scope), 0);
        for (int is_taken = 0; is_taken < 2; is_taken++) {
            size_t n = read_prefixes(dsts, is_taken ? cases[i].taken : cases[i].left);

            for (size_t k = 0; k < n; k++) {
                if (prefix_set_search(&filter.prefixes, &dsts[k]) != is_taken)
                    fail_msg("case %zu: %d, %zu", i, is_taken, k);
            }
        }
    }
}

/* A sample that meets all conditions, and without one of them. */
TEST(ports_of_both_sides_count)
{
    struct riptide_port_range local[] = { { 443, 443 }, { 8000, 8010 } };
    struct riptide_port_range remote[] = { { 1024, 65535 } };
    struct riptide_scope scope = {
        .local_ports = local,
        .n_local_ports = 2,
        .remote_ports = remote,
        .n_remote_ports = 1,
    };
    struct riptide_sample good = { .dst = prefix("192.0.2.1"),
                                   .local_port = 8010,
                                   .remote_port = 1024 };
    struct riptide_sample bad[] = { good, good };

    CLEANUP(filter_deinit) struct filter filter = { .n_bytes = 0 };

    assert_int_equal(filter_init(&filter, &scope), 0);
    assert_true(filter_matches(&filter, &good));
    bad[0].local_port = 8011;
    bad[1].remote_port = 1023;
    for (int i = 0; i < 2; i++)
        assert_false(filter_matches(&filter, &bad[i]));
}

TEST(defaults_fill_no_more_than_asked)
{
    struct riptide_observer_config config;

    memset(&config, 0x5a, sizeof(config));
    riptide_observer_config_init(&config, offsetof(struct riptide_observer_config, scope));
    assert_int_equal(config.size, offsetof(struct riptide_observer_config, scope));
    assert_true(config.scope.n_learn != 0);
    riptide_observer_config_init(&config, sizeof(config));
    assert_int_equal(config.size, sizeof(config));
    assert_int_equal(config.scope.n_learn, 0);
    assert_int_equal(config.destroy_events, RIPTIDE_DESTROY_EVENTS_AUTO);
}

static void assert_refused(const struct riptide_observer_config *config, const char *field)
{
    struct riptide_observer *observer = NULL;
    struct riptide_error error;

    assert_int_equal(riptide_observer_new(&observer, config, &error), -EINVAL);
    assert_non_null(strstr(error.text, field));
    assert_null(observer);
}

/* Each alone is refused by its name. */
TEST(errors_name_the_field)
{
    static const struct riptide_prefix bits_behind[] = { { AF_INET, 8, { 10 } },
                                                         { AF_INET, 8, { 10, [3] = 1 } } };
    static const struct riptide_prefix mapped = { AF_INET6, 96, { [10] = 0xff, [11] = 0xff } };
    static const struct riptide_port_range ranges[] = { { 80, 80 }, { 81, 80 } };
    static const struct {
        const char *text;
        struct riptide_observer_config config; /* values other than 0 are set */
    } cases[] = {
        { "observer.scope.exclude[1]: no prefix",
          { .scope = { .exclude = bits_behind, .n_exclude = 2 } } },
        { "observer.scope.learn[0]: IPv4-mapped", { .scope = { .learn = &mapped, .n_learn = 1 } } },
        { "observer.scope.exclude[0]: IPv4-mapped",
          { .scope = { .exclude = &mapped, .n_exclude = 1 } } },
        { "observer.scope.remote_ports[1]: ends before",
          { .scope = { .remote_ports = ranges, .n_remote_ports = 2 } } },
        { "observer.scope.learn: NULL, but its number is 5", { .scope = { .n_learn = 5 } } },
        { "observer.scope.exclude: NULL, but its number is 5", { .scope = { .n_exclude = 5 } } },
        { "observer.scope.local_ports: NULL, but its number is 5",
          { .scope = { .n_local_ports = 5 } } },
        { "observer.scope.remote_ports: NULL, but its number is 5",
          { .scope = { .n_remote_ports = 5 } } },
        { "; at most 1048576",
          { .scope = { .learn = &mapped, .n_learn = SIZE_MAX } } },
        { "observer.scope.exclude: 1048577; at most 1048576",
          { .scope = { .exclude = &mapped, .n_exclude = 1048577 } } },
        { "observer.scope.local_ports: 257; at most 256",
          { .scope = { .local_ports = ranges, .n_local_ports = 257 } } },
        { "observer.scope.remote_ports: 257; at most 256",
          { .scope = { .remote_ports = ranges, .n_remote_ports = 257 } } },
        { "observer.destroy_events: 2; must be -1 (auto), 0 (no) or 1 (yes)",
          { .destroy_events = 2 } },
    };
    struct riptide_observer_config config;
    struct riptide_observer *observer = NULL;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        riptide_observer_config_init(&config, sizeof(config));
        config.scope = cases[i].config.scope;
        if (cases[i].config.destroy_events)
            config.destroy_events = cases[i].config.destroy_events;
        assert_refused(&config, cases[i].text);
    }
    assert_int_equal(riptide_observer_new(&observer, &config, NULL), -EINVAL);
}
