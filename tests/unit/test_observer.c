/*
 * What the observer stands on besides samples: the set of own prefixes, the steps over messages,
 * what a message is to a dump, and the check of a configuration. No sockets: the rest of
 * the observer runs in tests/netns.
 */
#include "observe/local.h"
#include "observe/reply.h"
#include "observe/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <riptide/observe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct riptide_prefix prefix(const char *text)
{
    struct riptide_prefix parsed;

    assert_int_equal(riptide_prefix_parse(&parsed, text), 0);
    return parsed;
}

struct route {
    _Alignas(4) unsigned char bytes[64];
    size_t len;
};

/* struct rtmsg, an attribute that the parser does not know, RTA_DST. */
static struct route make_route(uint8_t type, uint8_t table, const char *text)
{
    struct riptide_prefix dst = prefix(text);
    uint8_t address_len = dst.family == AF_INET ? 4 : 16;
    struct route route = {
        .bytes = { dst.family, dst.len, 0, 0, table, 2, 0,
                   type,       0,       0, 0, 0,     8, 0,
                   RTA_OIF,    0,       1, 0, 0,     0, (uint8_t)(4 + address_len),
                   0,          RTA_DST, 0 },
        .len = 24 + (size_t)address_len,
    };

    memcpy(route.bytes + 24, dst.addr, address_len);
    return route;
}

static void add(struct local_set *set, uint8_t type, uint8_t table, const char *text)
{
    struct route route = make_route(type, table, text);

    assert_int_equal(local_set_add_route(set, route.bytes, route.len), 0);
}

static bool contains(const struct local_set *set, const char *text)
{
    struct riptide_prefix dst = prefix(text);

    return local_set_contains(set, &dst);
}

static void test_local_empty_set_holds_nothing(void **state)
{
    struct local_set set = { 0 };

    (void)state;
    local_set_sort(&set);
    assert_false(contains(&set, "127.0.0.1"));
    assert_false(contains(&set, "::1"));
    local_set_deinit(&set);
}

static void test_local_addresses_and_prefixes(void **state)
{
    struct local_set set = { 0 };

    (void)state;
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "198.18.0.0/15");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8:a::/64");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "10.0.0.1");
    local_set_sort(&set);
    assert_true(contains(&set, "192.0.2.1"));
    assert_true(contains(&set, "10.0.0.1"));
    assert_true(contains(&set, "2001:db8::1"));
    assert_true(contains(&set, "198.19.9.9"));
    assert_true(contains(&set, "2001:db8:a::77"));
    assert_false(contains(&set, "192.0.2.2"));
    assert_false(contains(&set, "192.0.2.0"));
    assert_false(contains(&set, "2001:db8::2"));
    assert_false(contains(&set, "2001:db8:b::77"));
    local_set_deinit(&set);
}

/* Every host has them, and sample.c knows such peers by itself. */
static void test_local_does_not_keep_loopback(void **state)
{
    struct local_set set = { 0 };

    (void)state;
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.0/8");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.1");
    assert_int_equal(set.n, 0);
    local_set_deinit(&set);
}

static void test_local_thousands_are_found(void **state)
{
    struct local_set set = { 0 };
    char text[32];

    (void)state;
    /* In an order that is neither sorted nor reversed; odd ones only. */
    for (unsigned i = 0; i < 5000; i++) {
        unsigned host = (i * 7919) % 5000 * 2 + 1;

        snprintf(text, sizeof(text), "10.0.%u.%u", host / 256, host % 256);
        add(&set, RTN_LOCAL, RT_TABLE_LOCAL, text);
    }
    local_set_sort(&set);
    for (unsigned host = 0; host < 10000; host++) {
        snprintf(text, sizeof(text), "10.0.%u.%u", host / 256, host % 256);
        assert_int_equal(contains(&set, text), host % 2 == 1);
    }
    local_set_deinit(&set);
}

static void test_local_passes_over_other_routes(void **state)
{
    struct local_set set = { 0 };

    (void)state;
    add(&set, RTN_BROADCAST, RT_TABLE_LOCAL, "192.0.2.255");
    add(&set, RTN_UNICAST, RT_TABLE_MAIN, "198.51.100.0/24");
    add(&set, RTN_LOCAL, 100, "0.0.0.0/0"); /* a transparent proxy's */
    local_set_sort(&set);
    assert_int_equal(set.n, 0);
    local_set_deinit(&set);
}

static void test_local_mapped_routes_say_nothing_about_v4(void **state)
{
    unsigned char bytes[] = { AF_INET6, 128,  0,         0,   RT_TABLE_LOCAL,
                              2,        0,    RTN_LOCAL, 0,   0,
                              0,        0,    20,        0,   RTA_DST,
                              0,        0,    0,         0,   0,
                              0,        0,    0,         0,   0,
                              0,        0xff, 0xff,      192, 0,
                              2,        1 };
    struct local_set set = { 0 };

    (void)state;
    assert_int_equal(local_set_add_route(&set, bytes, sizeof(bytes)), 0);
    assert_int_equal(set.n, 0);
    local_set_deinit(&set);
}

static void test_local_default_route_has_no_destination(void **state)
{
    static const unsigned char bytes[] = { AF_INET, 0, 0, 0, RT_TABLE_LOCAL, 2, 0, RTN_LOCAL,
                                           0,       0, 0, 0 };
    struct local_set set = { 0 };

    (void)state;
    assert_int_equal(local_set_add_route(&set, bytes, sizeof(bytes)), 0);
    local_set_sort(&set);
    assert_true(contains(&set, "192.0.2.1"));
    assert_false(contains(&set, "2001:db8::1"));
    local_set_deinit(&set);
}

static void test_local_cut_anywhere_is_invalid(void **state)
{
    struct route route = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1");
    struct local_set set = { 0 };

    (void)state;
    for (size_t len = 0; len < route.len; len++) {
        unsigned char *bytes = malloc(len ? len : 1);

        assert_non_null(bytes);
        memcpy(bytes, route.bytes, len);
        assert_int_equal(local_set_add_route(&set, bytes, len), RIPTIDE_E_INVALID);
        free(bytes);
    }
    assert_int_equal(set.n, 0);
    local_set_deinit(&set);
}

static void test_local_contradictions_are_invalid(void **state)
{
    struct local_set set = { 0 };
    struct route route;

    (void)state;
    route = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");
    route.bytes[1] = 33;
    assert_int_equal(local_set_add_route(&set, route.bytes, route.len), RIPTIDE_E_INVALID);
    route = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");
    route.bytes[0] = AF_INET6; /* four bytes of address */
    assert_int_equal(local_set_add_route(&set, route.bytes, route.len), RIPTIDE_E_INVALID);
    route = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");
    route.bytes[0] = AF_UNIX;
    route.bytes[1] = 0;
    assert_int_equal(local_set_add_route(&set, route.bytes, 12), RIPTIDE_E_INVALID);
    route = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");
    route.bytes[route.len] = 8; /* the beginning of an attribute behind a good RTA_DST */
    assert_int_equal(local_set_add_route(&set, route.bytes, route.len + 4), RIPTIDE_E_INVALID);
    assert_int_equal(set.n, 0);
    local_set_deinit(&set);
}

static void test_local_cleared_set_is_refilled(void **state)
{
    struct local_set set = { 0 };

    (void)state;
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.0/8");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "10.0.0.0/8");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");
    local_set_sort(&set);
    local_set_clear(&set);
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.2");
    local_set_sort(&set);
    assert_false(contains(&set, "127.0.0.1"));
    assert_false(contains(&set, "192.0.2.1"));
    assert_true(contains(&set, "192.0.2.2"));
    local_set_deinit(&set);
}

/* A header and room for a payload of four bytes. */
struct message {
    struct nlmsghdr header;
    int32_t error;
};

static struct message make_message(uint16_t type, uint32_t seq, uint32_t portid, int32_t error)
{
    return (struct message){
        .header = { .nlmsg_len = sizeof(struct message),
                    .nlmsg_type = type,
                    .nlmsg_seq = seq,
                    .nlmsg_pid = portid },
        .error = error,
    };
}

static void test_walk_ends_with_the_datagram(void **state)
{
    struct message messages[2] = { make_message(20, 1, 1, 0), make_message(20, 1, 1, 0) };
    struct walk walk = { (void *)messages, sizeof(messages) };

    (void)state;
    assert_ptr_equal(walk_message(&walk), &messages[0]);
    assert_ptr_equal(walk_message(&walk), &messages[1]);
    assert_null(walk_message(&walk));
    assert_int_equal(walk.left, 0);
}

static void test_walk_stops_at_lengths_that_lie(void **state)
{
    static const uint32_t lengths[] = {
        0, 1, 15, 21, 0x7fffffff, 0x80000000, 0xfffffff0, UINT32_MAX
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct message message = make_message(20, 1, 1, 0);
        struct walk walk = { (void *)&message, sizeof(message) };

        message.header.nlmsg_len = lengths[i];
        assert_null(walk_message(&walk));
        assert_int_equal(walk.left, sizeof(message));
    }
}

static void test_walk_stops_at_half_a_header(void **state)
{
    struct message message = make_message(20, 1, 1, 0);
    struct walk walk = { (void *)&message, sizeof(struct nlmsghdr) - 1 };

    (void)state;
    assert_null(walk_message(&walk));
    assert_int_not_equal(walk.left, 0);
}

static void test_walk_takes_a_last_message_without_padding(void **state)
{
    struct message message = make_message(20, 1, 1, 0);
    struct walk walk = { (void *)&message, 17 };

    (void)state;
    message.header.nlmsg_len = 17;
    assert_non_null(walk_message(&walk));
    assert_int_equal(walk.left, 0);
}

static const struct reply_expected expected = { .seq = 7, .portid = 99, .type = 20 };

static struct reply reply_to(uint16_t type, uint32_t seq, uint32_t portid, int32_t error)
{
    struct message message = make_message(type, seq, portid, error);

    return reply_read(&message.header, &expected);
}

static void test_reply_data_and_ends(void **state)
{
    (void)state;
    assert_int_equal(reply_to(20, 7, 99, 0).kind, REPLY_DATA);
    assert_int_equal(reply_to(NLMSG_DONE, 7, 99, 0).kind, REPLY_END);
    assert_int_equal(reply_to(NLMSG_DONE, 7, 99, 0).error, 0);
    assert_int_equal(reply_to(NLMSG_DONE, 7, 99, -ENOENT).error, -ENOENT);
    assert_int_equal(reply_to(NLMSG_ERROR, 7, 99, -EPERM).kind, REPLY_END);
    assert_int_equal(reply_to(NLMSG_ERROR, 7, 99, -EPERM).error, -EPERM);
    assert_int_equal(reply_to(NLMSG_OVERRUN, 7, 99, 0).kind, REPLY_END);
    assert_int_equal(reply_to(NLMSG_OVERRUN, 7, 99, 0).error, -ENOBUFS);
}

static void test_reply_acknowledgement_ends_nothing(void **state)
{
    (void)state;
    assert_int_equal(reply_to(NLMSG_ERROR, 7, 99, 0).kind, REPLY_NOTHING);
    assert_int_equal(reply_to(NLMSG_NOOP, 7, 99, 0).kind, REPLY_NOTHING);
}

static void test_reply_of_older_requests(void **state)
{
    (void)state;
    assert_int_equal(reply_to(20, 6, 99, 0).kind, REPLY_OLD);
    assert_int_equal(reply_to(NLMSG_DONE, 6, 99, 0).kind, REPLY_OLD);
    assert_int_equal(reply_to(NLMSG_ERROR, 6, 99, -EBUSY).kind, REPLY_OLD);
}

static void test_reply_strays(void **state)
{
    (void)state;
    assert_int_equal(reply_to(20, 8, 99, 0).kind, REPLY_STRAY);
    assert_int_equal(reply_to(20, 7, 98, 0).kind, REPLY_STRAY);
    assert_int_equal(reply_to(NLMSG_DONE, 7, 98, 0).kind, REPLY_STRAY);
    assert_int_equal(reply_to(21, 7, 99, 0).kind, REPLY_STRAY);
}

static void test_reply_error_without_a_number_is_stray(void **state)
{
    struct message message = make_message(NLMSG_ERROR, 7, 99, -EPERM);

    (void)state;
    message.header.nlmsg_len = sizeof(message.header) + 3;
    assert_int_equal(reply_read(&message.header, &expected).kind, REPLY_STRAY);
}

static void test_reply_sequence_numbers_wrap(void **state)
{
    struct reply_expected wrapped = { .seq = 1, .portid = 99, .type = 20 };
    struct message message = make_message(20, UINT32_MAX, 99, 0);

    (void)state;
    assert_int_equal(reply_read(&message.header, &wrapped).kind, REPLY_OLD);
    wrapped.seq = UINT32_MAX;
    message.header.nlmsg_seq = 1;
    assert_int_equal(reply_read(&message.header, &wrapped).kind, REPLY_STRAY);
}

static void test_reply_interruption_counts_for_our_dump_alone(void **state)
{
    struct message message = make_message(20, 7, 99, 0);

    (void)state;
    assert_false(reply_read(&message.header, &expected).interrupted);
    message.header.nlmsg_flags = NLM_F_MULTI | NLM_F_DUMP_INTR;
    assert_true(reply_read(&message.header, &expected).interrupted);
    message.header.nlmsg_type = NLMSG_DONE;
    assert_true(reply_read(&message.header, &expected).interrupted);
    message.header.nlmsg_seq = 6;
    assert_false(reply_read(&message.header, &expected).interrupted);
}

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
    assert_false(config.destroy_events);
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
        assert_refused(&config, "scope.learn[0]: IPv4-mapped");
        config.scope.exclude = &mapped[i];
        config.scope.n_exclude = 1;
        config.scope.n_learn = 0;
        assert_refused(&config, "scope.exclude[0]: IPv4-mapped");
    }
}

static void test_config_mark_and_destroy_events_exclude_each_other(void **state)
{
    struct riptide_observer_config config;

    (void)state;
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.mark = config.scope.mark_mask = 1;
    config.destroy_events = true;
    assert_refused(&config, "destroy_events: ");
}

static void test_config_ports_mark_and_slices_are_checked(void **state)
{
    static struct riptide_port_range ranges[RIPTIDE_SCOPE_MAX_PORT_RANGES + 1];
    struct riptide_observer_config config;

    (void)state;
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.remote_ports = ranges;
    config.scope.n_remote_ports = RIPTIDE_SCOPE_MAX_PORT_RANGES + 1;
    assert_refused(&config, "scope.remote_ports");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local_empty_set_holds_nothing),
        cmocka_unit_test(test_local_addresses_and_prefixes),
        cmocka_unit_test(test_local_does_not_keep_loopback),
        cmocka_unit_test(test_local_thousands_are_found),
        cmocka_unit_test(test_local_passes_over_other_routes),
        cmocka_unit_test(test_local_mapped_routes_say_nothing_about_v4),
        cmocka_unit_test(test_local_default_route_has_no_destination),
        cmocka_unit_test(test_local_cut_anywhere_is_invalid),
        cmocka_unit_test(test_local_contradictions_are_invalid),
        cmocka_unit_test(test_local_cleared_set_is_refilled),
        cmocka_unit_test(test_walk_ends_with_the_datagram),
        cmocka_unit_test(test_walk_stops_at_lengths_that_lie),
        cmocka_unit_test(test_walk_stops_at_half_a_header),
        cmocka_unit_test(test_walk_takes_a_last_message_without_padding),
        cmocka_unit_test(test_reply_data_and_ends),
        cmocka_unit_test(test_reply_acknowledgement_ends_nothing),
        cmocka_unit_test(test_reply_of_older_requests),
        cmocka_unit_test(test_reply_strays),
        cmocka_unit_test(test_reply_error_without_a_number_is_stray),
        cmocka_unit_test(test_reply_sequence_numbers_wrap),
        cmocka_unit_test(test_reply_interruption_counts_for_our_dump_alone),
        cmocka_unit_test(test_config_defaults_fill_no_more_than_asked),
        cmocka_unit_test(test_config_errors_name_the_field),
        cmocka_unit_test(test_config_mapped_prefixes_are_refused),
        cmocka_unit_test(test_config_mark_and_destroy_events_exclude_each_other),
        cmocka_unit_test(test_config_ports_mark_and_slices_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
