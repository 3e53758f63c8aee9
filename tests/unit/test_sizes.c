/* SPDX-License-Identifier: MIT */
/* Configurations begin with their size: sizes that callers' headers may have, and refused ones. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <sys/socket.h>

NEEDS_NETLINK(NETLINK_SOCK_DIAG)

/* How much longer a newer caller's struct is here. */
enum { ROOM_BYTES = 64 };

/* Behind the last field that means something. */
#define END_OF(type, field) (offsetof(struct type, field) + sizeof(((struct type *)NULL)->field))

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
        return r;                                                                                  \
    }

OBJECT(observer)
OBJECT(estimator)
OBJECT(applier)
OBJECT(agent)

static const struct object {
    const char *name;
    size_t bytes, end;
    void (*init)(void *config, size_t size);
    int (*try)(const void *config, struct riptide_error *error);
} objects[] = {
    { "observer", sizeof(struct riptide_observer_config),
      END_OF(riptide_observer_config, scope), init_observer, try_observer },
    { "estimator", sizeof(struct riptide_estimator_config),
      END_OF(riptide_estimator_config, ttl_ns), init_estimator, try_estimator },
    { "applier", sizeof(struct riptide_applier_config), END_OF(riptide_applier_config, cgroup),
      init_applier, try_applier },
    { "agent", sizeof(struct riptide_agent_config), END_OF(riptide_agent_config, state),
      init_agent, try_agent },
};

enum { N_OBJECTS = sizeof(objects) / sizeof(objects[0]) };

union any_config {
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_applier_config applier;
    struct riptide_agent_config agent;
};

union config {
    union any_config any;
    unsigned char bytes[sizeof(union any_config) + ROOM_BYTES];
};

/* Taken as long as it asks for nothing new, wherever headers may put their next field; as is none. */
TEST(each_byte_that_a_newer_caller_sets_is_refused)
{
    for (size_t i = 0; i < N_OBJECTS; i++) {
        const struct object *object = &objects[i];
        struct riptide_error error = { .text = "" };
        union config config;

        object->init(&config, object->bytes + ROOM_BYTES);
        if (object->try(&config, &error) != 0 || object->try(NULL, &error) != 0)
            fail_msg("%s: %s", object->name, error.text);
        for (size_t at = object->end; at < object->bytes + ROOM_BYTES; at++) {
            object->init(&config, object->bytes + ROOM_BYTES);
            config.bytes[at] = 1;
            assert_int_equal(object->try(&config, &error), -E2BIG);
            assert_non_null(strstr(error.text, at < object->bytes ? "reserved: " : "size: "));
        }
    }
}

/*
 * No release had such a size. sizeof gives a pointer's size if a `*` is missing; the values after
 * it must not be ignored silently.
 */
TEST(sizes_that_no_release_had_are_refused)
{
    for (size_t i = 0; i < N_OBJECTS; i++) {
        const struct object *object = &objects[i];
        const size_t sizes[] = { 0,
                                 sizeof(void *),
                                 offsetof(struct riptide_agent_config, observer),
                                 object->bytes - 1,
                                 65537,
                                 SIZE_MAX };

        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            struct riptide_error error = { .text = "" };
            union config config;
            char begin[64], call[64];

            object->init(&config, object->bytes);
            config.any.agent.size = sizes[j];
            assert_int_equal(object->try(&config, &error), -EINVAL);
            assert_non_null(strstr(error.field, "size"));
            snprintf(begin, sizeof(begin), "size: %zu; struct riptide_%s_config has ", sizes[j],
                     object->name);
            assert_non_null(strstr(error.text, begin));
            snprintf(call, sizeof(call), "riptide_%s_config_init(config, sizeof(*config))",
                     object->name);
            assert_non_null(strstr(error.text, call));
        }
    }
}

TEST(configuration_in_that_of_an_agent_is_refused_by_its_path)
{
    struct riptide_applier_config applier = { .size = 1 };
    struct riptide_agent_config config;
    struct riptide_error error;

    riptide_agent_config_init(&config, sizeof(config));
    config.applier = &applier;
    assert_int_equal(try_agent(&config, &error), -EINVAL);
    assert_string_equal(error.field, "applier.size");
}

/* Of the host, as 0 is an fd. */
TEST(refused_configuration_closes_no_fd)
{
    struct riptide_applier_config config;
    struct riptide_applier *applier;

    riptide_applier_config_init(&config, sizeof(config));
    config.table = 0;
    assert_int_equal(riptide_applier_new(&applier, &config, NULL), -EINVAL);
    assert_true(fcntl(0, F_GETFD) >= 0);
}

/* Values of a newer caller that are unknown here are not ignored silently. */
TEST(each_byte_behind_what_is_wanted_is_refused)
{
    struct riptide_applier_config config;
    struct riptide_applier *applier;
    struct riptide_wanted wanted = { .dst = { AF_INET, 32, { 192, 0, 2, 1 } }, .initcwnd = 20 };

    riptide_applier_config_init(&config, sizeof(config));
    assert_int_equal(riptide_applier_new(&applier, &config, NULL), 0);
    assert_int_equal(riptide_applier_set(applier, &wanted), 0);
    for (size_t i = offsetof(struct riptide_wanted, reserved); i < sizeof(wanted); i++) {
        ((char *)&wanted)[i] = 1;
        assert_int_equal(riptide_applier_set(applier, &wanted), RIPTIDE_E_INVALID);
        ((char *)&wanted)[i] = 0;
    }
    riptide_applier_free(applier);
}
