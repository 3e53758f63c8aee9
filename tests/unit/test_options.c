/* SPDX-License-Identifier: MIT */
/*
 * The options engine with riptided's own table: parsing, errors, help, the line of settings.
 */
#include "options.h"
#include "settings.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define ARGV(...)                                                                                  \
    (char *[])                                                                                     \
    {                                                                                              \
        "riptided", __VA_ARGS__, NULL                                                              \
    }

static int parse(struct settings *settings, char **argv, struct riptide_error *error)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    settings_init(settings);
    return settings_parse(settings, argc, argv, error);
}

static void assert_error(char **argv, const char *expected)
{
    struct riptide_error error = { .text = "" };
    struct settings settings;

    assert_int_equal(parse(&settings, argv, &error), -EINVAL);
    assert_string_equal(error.text, expected);
    settings_deinit(&settings);
}

static void test_every_option(void **state)
{
    struct riptide_error error;
    struct settings settings;

    (void)state;
    assert_int_equal(
        parse(&settings,
              ARGV("--interval", "500ms", "--ttl=2min", "--policy", "paper", "--history-weight",
                   "0.25", "--cwnd-min", "11", "--cwnd-max", "90", "--prefix-len4", "24",
                   "--prefix-len6", "64", "--aggregate", "10.2.0.0/16", "--scope", "10.0.0.0/8",
                   "--scope", "192.0.2.0/24", "--exclude=10.1.0.0/16", "--local-port", "443",
                   "--local-port=8000-8099", "--remote-port", "5000", "--slices", "1",
                   "--paced=no", "--max-destinations", "7", "--table", "99", "--protocol", "231", "--rule-priority", "100", "--mark", "0xff",
                   "--dry-run", "--once", "--log-level", "debug"),
              &error),
        0);
    assert_int_equal(settings.agent.interval_ns, 500000000);
    assert_int_equal(settings.estimator.ttl_ns, 120000000000);
    assert_true(settings.estimator.history_weight == 0.25);
    assert_int_equal(settings.estimator.cwnd_min, 11);
    assert_int_equal(settings.estimator.cwnd_max, 90);
    assert_int_equal(settings.estimator.prefix_len4, 24);
    assert_int_equal(settings.estimator.prefix_len6, 64);
    assert_int_equal(settings.estimator.n_aggregates, 1);
    assert_int_equal(settings.estimator.aggregates[0].len, 16);
    assert_int_equal(settings.observer.scope.n_learn, 2);
    assert_int_equal(settings.observer.scope.learn[1].len, 24);
    assert_int_equal(settings.observer.scope.n_exclude, 1);
    assert_int_equal(settings.observer.scope.n_local_ports, 2);
    assert_int_equal(settings.observer.scope.local_ports[1].last, 8099);
    assert_int_equal(settings.observer.scope.n_remote_ports, 1);
    assert_int_equal(settings.estimator.max_destinations, 7);
    assert_int_equal(settings.router.max_routes, 7);
    assert_int_equal(settings.router.table, 99);
    assert_int_equal(settings.router.protocol, 231);
    assert_int_equal(settings.router.rule_priority, 100);
    assert_int_equal(settings.router.mark, 0xff);
    assert_true(settings.router.dry_run);
    assert_true(settings.once);
    assert_int_equal(settings.log_level, LOG_LEVEL_DEBUG);
    assert_ptr_equal(settings.agent.router, &settings.router);
    settings_deinit(&settings);
}

static void test_defaults_are_the_librarys(void **state)
{
    struct riptide_estimator_config estimator;
    struct riptide_error error;
    struct settings settings;

    (void)state;
    riptide_estimator_config_init(&estimator, sizeof(estimator));
    assert_int_equal(parse(&settings, ARGV(NULL), &error), 0);
    assert_int_equal(settings.estimator.ttl_ns, estimator.ttl_ns);
    assert_int_equal(settings.estimator.cwnd_max, estimator.cwnd_max);
    assert_int_equal(settings.observer.scope.n_learn, 0);
    assert_false(settings.help || settings.version || settings.once || settings.router.dry_run);
    settings_deinit(&settings);
}

static void test_the_last_one_wins(void **state)
{
    struct riptide_error error;
    struct settings settings;

    (void)state;
    assert_int_equal(parse(&settings, ARGV("--ttl", "1s", "--ttl", "2s"), &error), 0);
    assert_int_equal(settings.estimator.ttl_ns, 2000000000);
    settings_deinit(&settings);
}

static void test_errors_name_option_and_value(void **state)
{
    (void)state;
    assert_error(ARGV("--interval", "5x"),
                 "--interval 5x: not a duration (write 500ms, 1s, 10min, 1d)");
    assert_error(ARGV("--interval="), "--interval : not a duration (write 500ms, 1s, 10min, 1d)");
    assert_error(ARGV("--ttl", "--once"),
                 "--ttl --once: not a duration (write 500ms, 1s, 10min, 1d)");
    assert_error(ARGV("--protocol", "256"), "--protocol 256: not a number from 0 to 255");
    assert_error(ARGV("--slices", "4"),
                 "--slices 4: is gone, and is always 1: --max-share bounds what looks take");
    assert_error(ARGV("--socket-mark=7"),
                 "--socket-mark 7: is gone: --scope, --local-port and --remote-port choose "
                 "connections");
    assert_error(ARGV("--ttl"), "--ttl TIME: the value is missing");
    assert_error(ARGV("--once=yes"), "--once yes: takes no value");
}

static void test_unknown_options(void **state)
{
    (void)state;
    assert_error(ARGV("--bogus"), "--bogus: unknown option (--help lists them)");
    assert_error(ARGV("--bogus=1"), "--bogus=1: unknown option (--help lists them)");
    /* An abbreviation today is ambiguous tomorrow. */
    assert_error(ARGV("--int", "5s"),
                 "--int: unknown option; is --interval meant? (--help lists them)");
    assert_error(ARGV("-t", "5s"), "-t: unknown option (--help lists them)");
    assert_error(ARGV("-xtable", "5"), "-xtable: unknown option (--help lists them)");
    assert_error(ARGV("--=5"), "--=5: unknown option (--help lists them)");
    assert_error(ARGV("now"), "now: only options are taken (--help)");
    assert_error(ARGV("--", "--once"), "--once: only options are taken (--help)");
}

static void test_long_values_are_cut(void **state)
{
    struct riptide_error error;
    struct settings settings;
    char value[1000];

    (void)state;
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    assert_int_equal(parse(&settings, ARGV("--ttl", value), &error), -EINVAL);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    assert_int_equal(parse(&settings, ARGV(value), &error), -EINVAL);
    settings_deinit(&settings);
}

static void test_operands_move_to_the_front(void **state)
{
    char **argv = ARGV("10.0.0.1", "--once", "-", "--", "--ttl");
    struct riptide_error error;
    struct settings settings;

    (void)state;
    settings_init(&settings);
    assert_int_equal(options_parse(settings_rows, &settings, 6, argv, NULL, &error), 3);
    assert_string_equal(argv[0], "10.0.0.1");
    assert_string_equal(argv[1], "-");
    assert_string_equal(argv[2], "--ttl");
    assert_true(settings.once);
}

static void test_short_help(void **state)
{
    struct riptide_error error;
    struct settings settings;

    (void)state;
    assert_int_equal(parse(&settings, ARGV("-h"), &error), 0);
    assert_true(settings.help);
}

static void test_help_has_every_row(void **state)
{
    struct settings settings;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    settings_init(&settings);
    options_print_help(out, settings_rows, &settings);
    fclose(out);
    for (const struct option_row *row = settings_rows; row->name; row++) {
        char option[64];

        snprintf(option, sizeof(option), "  --%s ", row->name);
        assert_non_null(strstr(text, option));
        assert_non_null(strstr(text, row->help));
    }
    assert_non_null(strstr(text, "(default 90s)"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 100);
    free(text);
}

static void test_destroy_events_are_auto_unless_given(void **state)
{
    const struct {
        char **argv;
        int8_t destroy_events;
    } cases[] = {
        { ARGV(NULL), RIPTIDE_DESTROY_EVENTS_AUTO },
        { ARGV("--policy", "paper"), RIPTIDE_DESTROY_EVENTS_AUTO },
        { ARGV("--destroy-events"), RIPTIDE_DESTROY_EVENTS_YES },
        { ARGV("--destroy-events=no"), RIPTIDE_DESTROY_EVENTS_NO },
        { ARGV("--destroy-events", "--destroy-events=auto"), RIPTIDE_DESTROY_EVENTS_AUTO },
    };
    struct riptide_error error;
    struct settings settings;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse(&settings, cases[i].argv, &error), 0);
        assert_int_equal(settings.observer.destroy_events, cases[i].destroy_events);
        settings_deinit(&settings);
    }
}

static void test_values_in_one_line(void **state)
{
    struct riptide_error error;
    struct settings settings;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(
        parse(&settings, ARGV("--scope", "10.0.0.0/8", "--scope", "::/0", "--dry-run"), &error), 0);
    options_print_values(out, settings_rows, &settings);
    fclose(out);
    assert_non_null(strstr(text, "policy careful, cwnd-min 10, cwnd-max 100, ttl 90s"));
    assert_non_null(strstr(text, ", scope 10.0.0.0/8 ::/0, "));
    assert_non_null(strstr(text, ", dry-run yes"));
    assert_null(strstr(text, "exclude"));
    assert_null(strstr(text, "\n"));
    free(text);
    settings_deinit(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_option),
        cmocka_unit_test(test_defaults_are_the_librarys),
        cmocka_unit_test(test_the_last_one_wins),
        cmocka_unit_test(test_errors_name_option_and_value),
        cmocka_unit_test(test_unknown_options),
        cmocka_unit_test(test_long_values_are_cut),
        cmocka_unit_test(test_operands_move_to_the_front),
        cmocka_unit_test(test_short_help),
        cmocka_unit_test(test_help_has_every_row),
        cmocka_unit_test(test_destroy_events_are_auto_unless_given),
        cmocka_unit_test(test_values_in_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
