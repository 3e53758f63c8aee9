/* SPDX-License-Identifier: MIT */
/*
 * The configuration of an observer: defaults, and refusals with their fields.
 */
#include "unit.h"

#include <errno.h>
#include <riptide/observe.h>

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
