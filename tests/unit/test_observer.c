/* SPDX-License-Identifier: MIT */
/*
 * The configuration of an observer: defaults, and what is refused by name. What an observer does
 * runs in tests/netns.
 */
#include <riptide/observe.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bytes.h"

static void test_config_defaults_fill_no_more_than_asked(void **state)
{
    struct riptide_observer_config config;

    (void)state;
    memset(&config, 0x5a, sizeof(config));
    riptide_observer_config_init(&config, offsetof(struct riptide_observer_config, max_restarts));
    assert_int_equal(config.size, offsetof(struct riptide_observer_config, max_restarts));
    assert_int_equal(config.scope.n_learn, 0);
    assert_int_equal(config.max_restarts, 0x5a5a5a5a);
    riptide_observer_config_init(&config, sizeof(config));
    assert_int_equal(config.size, sizeof(config));
    assert_int_equal(config.max_restarts, 3);
    assert_true(config.congestion_control);
    assert_int_equal(config.destroy_events, RIPTIDE_DESTROY_EVENTS_AUTO);
    assert_int_equal(config.netns_fd, -1);
}

static void test_config_errors_name_the_field(void **state)
{
    struct riptide_prefix prefixes[] = { prefix("10.0.0.0/8"), prefix("10.0.0.0/8") };
    struct riptide_observer_config config;
    struct riptide_observer *observer = NULL;
    struct riptide_error error;

    (void)state;
    riptide_observer_config_init(&config, sizeof(config));
    prefixes[1].addr[3] = 1; /* a bit behind its length */
    config.scope.exclude = prefixes;
    config.scope.n_exclude = 2;
    assert_int_equal(riptide_observer_new(&observer, &config, &error), -EINVAL);
    assert_non_null(strstr(error.text, "scope.exclude[1]"));
    assert_null(observer);

    riptide_observer_config_init(&config, sizeof(config));
    config.events_buffer_bytes = 4095;
    assert_int_equal(riptide_observer_new(&observer, &config, &error), -EINVAL);
    assert_non_null(strstr(error.text, "events_buffer_bytes"));

    riptide_observer_config_init(&config, sizeof(config));
    config.netns_fd = -2;
    assert_int_equal(riptide_observer_new(&observer, &config, &error), -EBADF);
    assert_non_null(strstr(error.text, "netns_fd"));

    riptide_observer_config_init(&config, sizeof(config));
    config.scope.n_learn = 1;
    assert_int_equal(riptide_observer_new(&observer, &config, NULL), -EINVAL);
    assert_int_equal(riptide_observer_new(&observer, &config, &error), -EINVAL);
    assert_non_null(strstr(error.text, "scope.learn"));
}

static void assert_refused(const struct riptide_observer_config *config, const char *field)
{
    struct riptide_observer *observer = NULL;
    struct riptide_error error;

    assert_int_equal(riptide_observer_new(&observer, config, &error), -EINVAL);
    assert_non_null(strstr(error.text, field));
    assert_null(observer);
}

/* IPv4 peers are IPv4, whatever the socket: such prefixes would match nothing. */
static void test_config_mapped_prefixes_are_refused(void **state)
{
    static const struct riptide_prefix mapped[] = {
        { AF_INET6, 96, { [10] = 0xff, [11] = 0xff } },
        { AF_INET6, 128, { [10] = 0xff, [11] = 0xff, 203, 0, 113, 1 } },
    };
    struct riptide_observer_config config;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        riptide_observer_config_init(&config, sizeof(config));
        config.scope.learn = &mapped[i];
        config.scope.n_learn = 1;
        assert_refused(&config, "observer.scope.learn[0]: IPv4-mapped");
        config.scope.exclude = &mapped[i];
        config.scope.n_exclude = 1;
        config.scope.n_learn = 0;
        assert_refused(&config, "observer.scope.exclude[0]: IPv4-mapped");
    }
}

static void test_config_mark_and_destroy_events_exclude_each_other(void **state)
{
    struct riptide_observer_config config;

    (void)state;
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.mark = config.scope.mark_mask = 1;
    config.destroy_events = true;
    assert_refused(&config, "observer.scope.mark: ");
    config.destroy_events = 2;
    assert_refused(&config, "destroy_events: 2; must be -1 (auto), 0 (no) or 1 (yes)");
}

static void test_config_ports_mark_and_slices_are_checked(void **state)
{
    static struct riptide_port_range ranges[RIPTIDE_SCOPE_MAX_PORT_RANGES + 1];
    struct riptide_observer_config config;

    (void)state;
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.remote_ports = ranges;
    config.scope.n_remote_ports = RIPTIDE_SCOPE_MAX_PORT_RANGES + 1;
    assert_refused(&config, "scope.remote_ports: 257; at most 256");
    config.scope.n_remote_ports = 2;
    ranges[1] = (struct riptide_port_range){ 81, 80 };
    assert_refused(&config, "scope.remote_ports[1]");
    config.scope.n_remote_ports = 0;
    config.scope.n_local_ports = 1;
    assert_refused(&config, "scope.local_ports");

    riptide_observer_config_init(&config, sizeof(config));
    config.scope.mark = 0x11;
    config.scope.mark_mask = 0x10;
    assert_refused(&config, "scope.mark");

    riptide_observer_config_init(&config, sizeof(config));
    config.slices = 0;
    assert_refused(&config, "slices");
    config.slices = RIPTIDE_MAX_SLICES + 1;
    assert_refused(&config, "slices");
}

/* A count that was set without its array, or is none at all. */
static void test_config_counts_need_their_arrays(void **state)
{
    static const struct {
        size_t array, count;
        const char *field;
        uint32_t max;
    } pairs[] = {
#define PAIR(name, max)                                                                            \
    {                                                                                              \
        offsetof(struct riptide_observer_config, scope.name),                                      \
            offsetof(struct riptide_observer_config, scope.n_##name), #name, max                   \
    }
        PAIR(learn, 1048576),
        PAIR(exclude, 1048576),
        PAIR(local_ports, 256),
        PAIR(remote_ports, 256),
    };
    static const size_t counts[] = { 5, (size_t)1 << 60, SIZE_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        for (size_t j = 0; j < 3; j++) {
            struct riptide_observer_config config;
            char text[128];
            const void *array = pairs;

            riptide_observer_config_init(&config, sizeof(config));
            memcpy((char *)&config + pairs[i].count, &counts[j], sizeof(counts[j]));
            snprintf(text, sizeof(text), "observer.scope.%s: NULL, but its number is 5",
                     pairs[i].field);
            if (j > 0) {
                memcpy((char *)&config + pairs[i].array, &array, sizeof(array));
                snprintf(text, sizeof(text), "observer.scope.%s: %zu; at most %u",
                         pairs[i].field, counts[j], pairs[i].max);
            }
            assert_refused(&config, text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_defaults_fill_no_more_than_asked),
        cmocka_unit_test(test_config_errors_name_the_field),
        cmocka_unit_test(test_config_mapped_prefixes_are_refused),
        cmocka_unit_test(test_config_mark_and_destroy_events_exclude_each_other),
        cmocka_unit_test(test_config_ports_mark_and_slices_are_checked),
        cmocka_unit_test(test_config_counts_need_their_arrays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
