/* SPDX-License-Identifier: MIT */
/*
 * Configurations of all objects: sizes that callers' headers may have, and values that are refused,
 * by their paths from an agent's configuration.
 */
#include "estimators.h"

#include <fcntl.h>

NEEDS_NETLINK(NETLINK_SOCK_DIAG)

/* How much longer a newer caller's struct is here. */
enum { ROOM_BYTES = 64 };

#define OBJECT(name)                                                                               \
    static void init_##name(void *config, size_t size)                                             \
    {                                                                                              \
        riptide_##name##_config_init(config, size);                                                \
    }                                                                                              \
    static int try_##name(const void *config, struct riptide_error *error)                         \
    {                                                                                              \
        struct riptide_##name *object = NULL;                                                      \
        int r = riptide_##name##_new(&object, config, error);                                      \
                                                                                                   \
        riptide_##name##_free(object);                                                             \
        assert_true(fcntl(0, F_GETFD) >= 0); /* 0 is an fd of the host */                          \
        return r;                                                                                  \
    }

OBJECT(observer)
OBJECT(estimator)
OBJECT(applier)
OBJECT(agent)

static const struct object {
    const char *name;
    size_t bytes; /* without padding at the end: STRUCT_ENDS_WITH */
    void (*init)(void *config, size_t size);
    int (*try)(const void *config, struct riptide_error *error);
} objects[] = {
    { "observer", sizeof(struct riptide_observer_config), init_observer, try_observer },
    { "estimator", sizeof(struct riptide_estimator_config), init_estimator, try_estimator },
    { "applier", sizeof(struct riptide_applier_config), init_applier, try_applier },
    { "agent", sizeof(struct riptide_agent_config), init_agent, try_agent },
};

/* Of any of them. */
union config {
    size_t size;
    unsigned char bytes[1024];
};

/* Taken as long as it asks for nothing new, wherever headers may put their next field; as is none. */
TEST(each_byte_that_a_newer_caller_sets_is_refused_and_no_more_than_an_older_one_has_is_filled)
{
    EACH(object, objects) {
        struct riptide_error error = { .text = "" };
        union config config;

        memset(&config, 0x5a, sizeof(config));
        object->init(&config, object->bytes - 1);
        assert_int_equal(config.size, object->bytes - 1);
        assert_int_equal(config.bytes[object->bytes - 1], 0x5a);
        assert_true(object->bytes + ROOM_BYTES <= sizeof(config));
        object->init(&config, object->bytes + ROOM_BYTES);
        if (object->try(&config, &error) != 0 || object->try(NULL, &error) != 0)
            fail_msg("%s: %s", object->name, error.text);
        for (size_t at = object->bytes; at < object->bytes + ROOM_BYTES; at++) {
            object->init(&config, object->bytes + ROOM_BYTES);
            config.bytes[at] = 1;
            if (object->try(&config, &error) != -E2BIG)
                fail_msg("%s, byte %zu: %s", object->name, at, error.text);
            assert_non_null(strstr(error.text, "size: "));
        }
    }
}

/*
 * No release had such a size. sizeof gives a pointer's size if a `*` is missing; the values after
 * it must not be ignored silently.
 */
TEST(sizes_that_no_release_had_are_refused)
{
    EACH(object, objects) {
        const size_t sizes[] = { 0,
                                 sizeof(void *),
                                 offsetof(struct riptide_agent_config, observer),
                                 object->bytes - 1,
                                 65537,
                                 SIZE_MAX };

        EACH(size, sizes) {
            struct riptide_error error = { .text = "" };
            union config config;
            char begin[64], call[64];

            object->init(&config, object->bytes);
            config.size = *size;
            assert_int_equal(object->try(&config, &error), -EINVAL);
            assert_non_null(strstr(error.field, "size"));
            snprintf(begin, sizeof(begin), "size: %zu; struct riptide_%s_config has ", *size,
                     object->name);
            assert_non_null(strstr(error.text, begin));
            snprintf(call, sizeof(call), "riptide_%s_config_init(config, sizeof(*config))",
                     object->name);
            assert_non_null(strstr(error.text, call));
        }
    }
}

static const char *refusal;

static void assert_refused(const struct stages *configs)
{
    struct riptide_agent *agent = NULL;
    struct riptide_error error = { .text = "" };

    assert_true(riptide_agent_new(&agent, &configs->agent, &error) < 0);
    assert_null(agent);
    assert_memory_equal(error.text, refusal, strlen(refusal));
    assert_memory_equal(error.field, refusal, strcspn(refusal, ":["));
    assert_int_equal(riptide_agent_new(&agent, &configs->agent, NULL), -EINVAL);
}

/* The defaults with some assignments to members of `configs`. */
#define REFUSED(text, ...) (refusal = (text), CONFIGURED(assert_refused, __VA_ARGS__))

#define REFUSED_SCOPE(text, ...)                                                                   \
    REFUSED("observer.scope." text, configs.observer.scope = (struct riptide_scope){ __VA_ARGS__ })

TEST(observer_is_refused_by_the_name_of_a_value)
{
    static const struct riptide_prefix bits_behind[] = { { AF_INET, 8, { 10 } },
                                                         { AF_INET, 8, { 10, [3] = 1 } } };
    static const struct riptide_prefix mapped = { AF_INET6, 96, { [10] = 0xff, [11] = 0xff } };
    static const struct riptide_port_range ranges[] = { { 80, 80 }, { 81, 80 } };

    REFUSED("observer.destroy_events: 2; must be -1 (auto), 0 (no) or 1 (yes)",
            configs.observer.destroy_events = 2);
    REFUSED_SCOPE("exclude[1]: no prefix", .exclude = bits_behind, .n_exclude = 2);
    REFUSED_SCOPE("learn[0]: IPv4-mapped", .learn = &mapped, .n_learn = 1);
    REFUSED_SCOPE("exclude[0]: IPv4-mapped", .exclude = &mapped, .n_exclude = 1);
    REFUSED_SCOPE("remote_ports[1]: ends before", .remote_ports = ranges, .n_remote_ports = 2);
    REFUSED_SCOPE("learn: NULL, but its number is 5", .n_learn = 5);
    REFUSED_SCOPE("exclude: NULL, but its number is 5", .n_exclude = 5);
    REFUSED_SCOPE("local_ports: NULL, but its number is 5", .n_local_ports = 5);
    REFUSED_SCOPE("remote_ports: NULL, but its number is 5", .n_remote_ports = 5);
    REFUSED_SCOPE("learn: 18446744073709551615; at most 1048576", .learn = &mapped,
                  .n_learn = SIZE_MAX);
    REFUSED_SCOPE("exclude: 1048577; at most 1048576", .exclude = &mapped, .n_exclude = 1048577);
    REFUSED_SCOPE("local_ports: 257; at most 256", .local_ports = ranges, .n_local_ports = 257);
    REFUSED_SCOPE("remote_ports: 257; at most 256", .remote_ports = ranges, .n_remote_ports = 257);
}

/* Policy paper with one member changed. */
#define REFUSED_POLICY(text, change)                                                               \
    do {                                                                                           \
        struct riptide_policy policy = *riptide_policy_find("paper");                              \
                                                                                                   \
        policy.change;                                                                             \
        REFUSED("estimator.policy: " text, configs.estimator.policy = &policy);                    \
    } while (0)

TEST(estimator_is_refused_by_the_name_of_a_value)
{
    REFUSED("estimator.history_weight: 1; ", configs.estimator.history_weight = 1);
    REFUSED("estimator.history_weight: -0.1; ", configs.estimator.history_weight = -0.1);
    REFUSED("estimator.history_weight: nan; ",
            configs.estimator.history_weight = __builtin_nan(""));
    REFUSED("estimator.cwnd_min: 0; must be 1 to the largest window, 100",
            configs.estimator.cwnd_min = 0);
    REFUSED("estimator.cwnd_max: 9; below the smallest", configs.estimator.cwnd_max = 9);
    REFUSED("estimator.cwnd_max: 65536; must be 1 to 65535", configs.estimator.cwnd_max = 65536);
    REFUSED("estimator.prefix_len4: 33; ", configs.estimator.prefix_len4 = 33);
    REFUSED("estimator.prefix_len6: 129; ", configs.estimator.prefix_len6 = 129);
    REFUSED("estimator.ttl_ns: must be longer than the interval", configs.estimator.ttl_ns = 0);
    REFUSED("estimator.max_destinations: 0; ", configs.estimator.max_destinations = 0);
    REFUSED("estimator.max_destinations: 16777217; must be 1 to 16777216",
            configs.estimator.max_destinations = RIPTIDE_MAX_DESTINATIONS + 1);
    REFUSED("estimator.rto_min_floor_us: 999 us; must be 1 ms to 60 s; 0 leaves rto_min unchanged",
            configs.estimator.rto_min_floor_us = 999);
    REFUSED("estimator.rto_min_floor_us: 60000001 us; ",
            configs.estimator.rto_min_floor_us = RIPTIDE_RTO_MIN_LIMIT_US + 1);
    REFUSED("estimator.policy: not given, or without a name", configs.estimator.policy = NULL);
    REFUSED_POLICY("not given, or without a name", name = NULL);
    REFUSED_POLICY("without its functions add and combine", add = NULL);
    REFUSED_POLICY("without its functions add and combine", combine = NULL);
    REFUSED_POLICY("memory_bytes must be at most RIPTIDE_POLICY_MEMORY_BYTES", memory_bytes = 257);
    REFUSED_POLICY("tick_bytes must be at most memory_bytes", tick_bytes = policy.memory_bytes + 1);
    REFUSED_POLICY("its name is that of a built-in one", name = "careful");
}

TEST(applier_and_agent_are_refused_by_the_name_of_a_value)
{
    REFUSED("applier.size: 1; ", configs.applier.size = 1);
    REFUSED("applier.table: 0 ", configs.applier.table = 0);
    REFUSED("applier.table: 255 ", configs.applier.table = 255);
    REFUSED("applier.backend: 999 ", configs.applier.backend = 999);
    REFUSED("applier.holdout_percent: 51; must be 0 to 50", configs.applier.holdout_percent = 51);
    REFUSED("applier.pacing: off; routes pace nothing", configs.applier.backend = RIPTIDE_ROUTES,
            configs.applier.pacing = false);
    REFUSED("applier.cgroup: system.slice; must be an absolute path",
            configs.applier.cgroup = "system.slice");
    REFUSED("applier.cgroup: /sys/fs/cgroup; routes are for all",
            configs.applier.backend = RIPTIDE_ROUTES, configs.applier.cgroup = "/sys/fs/cgroup");
    REFUSED("applier.holdout_percent: 5; routes cannot", configs.applier.backend = RIPTIDE_ROUTES,
            configs.applier.holdout_percent = 5);
    REFUSED("applier.holdout_percent: 5; outcomes of connections need",
            configs.observer.destroy_events = RIPTIDE_DESTROY_EVENTS_NO,
            configs.applier.holdout_percent = 5);
    REFUSED(
        "estimator.prefix_len4: a prefix; routes serve single addresses, the program serves prefixes",
        configs.applier.backend = RIPTIDE_ROUTES, configs.estimator.prefix_len4 = 31);
    REFUSED(
        "estimator.prefix_len6: a prefix; routes serve single addresses, the program serves prefixes",
        configs.applier.backend = RIPTIDE_ROUTES, configs.estimator.prefix_len6 = 64);
    REFUSED("interval_ns: must be 10 ms to one hour", configs.agent.interval_ns = 1);
    REFUSED("interval_ns: must be shorter than the time to live, or windows expire at once",
            configs.agent.interval_ns = configs.estimator.ttl_ns);
    REFUSED("estimator.ttl_ns: must be longer than the interval, or windows expire at once",
            configs.agent.interval_ns = --configs.estimator.ttl_ns);
    REFUSED("max_share: ", configs.agent.max_share = -0.01);
    REFUSED("max_share: ", configs.agent.max_share = 1.01);
    REFUSED("max_share: ", configs.agent.max_share = __builtin_nan(""));
    REFUSED("state: state; must be an absolute path", configs.agent.state = "state");
    REFUSED("state: ; must be an absolute path", configs.agent.state = "");
}

TEST(values_at_their_bounds_are_taken)
{
    AGENT *least = AGENT_WITH(configs.estimator.cwnd_min = configs.estimator.cwnd_max = 1,
                              configs.agent.interval_ns = 10 * MS);
    AGENT *most =
        AGENT_WITH(configs.estimator.cwnd_min = configs.estimator.cwnd_max = 65535,
                   configs.agent.interval_ns = 3600 * S, configs.estimator.ttl_ns = 3601 * S,
                   configs.applier.backend = RIPTIDE_BOTH, configs.applier.pacing = false);

    assert_true(least && most);
}

TEST(what_is_not_there_is_not_written)
{
    const struct riptide_prefix dst = { AF_INET, 32, { 192, 0, 2, 1 } };
    const struct riptide_route *route = NULL;
    struct riptide_applier *applier;

    assert_int_equal(riptide_applier_new(&applier, NULL, NULL), 0);
    assert_int_equal(riptide_applier_pop(applier, &route), RIPTIDE_E_AGAIN);
    assert_int_equal(riptide_applier_find(applier, &dst, RIPTIDE_ROUTES, &route),
                     RIPTIDE_E_UNKNOWN);
    assert_null(route);
    riptide_applier_free(applier);
}

/* Values of a newer caller that are unknown here are not ignored silently. */
TEST(each_byte_behind_what_is_wanted_is_refused_and_figures_beyond_their_limits)
{
    static const struct riptide_wanted beyond[] = {
        { .initcwnd = RIPTIDE_CWND_LIMIT + 1 },         { .cwnd_max = RIPTIDE_CWND_LIMIT + 1 },
        { .base_cwnd = RIPTIDE_CWND_LIMIT + 1 },        { .pacing_percent = 101 },
        { .rto_min_us = RIPTIDE_RTO_MIN_LIMIT_US + 1 },
    };
    struct riptide_applier *applier;
    struct riptide_wanted wanted = { .dst = prefix("192.0.2.1"), .initcwnd = 20 };

    assert_int_equal(riptide_applier_new(&applier, NULL, NULL), 0);
    assert_int_equal(riptide_applier_set(applier, &wanted), 0);
    for (size_t i = offsetof(struct riptide_wanted, reserved); i < sizeof(wanted); i++) {
        ((char *)&wanted)[i] = 1;
        assert_int_equal(riptide_applier_set(applier, &wanted), RIPTIDE_E_INVALID);
        ((char *)&wanted)[i] = 0;
    }
    EACH(row, beyond) {
        wanted = *row;
        wanted.dst = prefix("192.0.2.1");
        assert_int_equal(riptide_applier_set(applier, &wanted), RIPTIDE_E_INVALID);
    }
    riptide_applier_free(applier);
}
