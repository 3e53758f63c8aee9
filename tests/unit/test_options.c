/* SPDX-License-Identifier: MIT */
/*
 * The options engine with riptided's own table: parsing, errors, help.
 */
#include "config_case.h"
#include "options.h"

#include <errno.h>
#include <sys/socket.h>

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
    SETTINGS settings;

    assert_int_equal(parse(&settings, argv, &error), -EINVAL);
    assert_string_equal(error.text, expected);
}

TEST(errors_name_option_and_value)
{
    char value[1000];

    assert_error(ARGV("--interval="), "--interval: not a duration (write 500ms, 1s, 10min, 1d)");
    assert_error(ARGV("--ttl", "--once"),
                 "--ttl --once: not a duration (write 500ms, 1s, 10min, 1d)");
    assert_error(ARGV("--ttl"), "--ttl TIME: the value is missing");
    assert_error(ARGV("--once=yes"), "--once yes: takes no value");
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    assert_error(ARGV("--ttl", value), "--ttl xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                       "xxxxxx: not a duration (write 500ms, 1s, 10min, 1d)");
}

TEST(unknown_options)
{
    assert_error(ARGV("--bogus"), "--bogus: unknown option (--help lists them)");
    assert_error(ARGV("--bogus=1"), "--bogus=1: unknown option (--help lists them)");
    /* An abbreviation today is ambiguous tomorrow. */
    assert_error(ARGV("--int", "5s"), "--int: unknown option (--help lists them)");
    assert_error(ARGV("-t", "5s"), "-t: unknown option (--help lists them)");
    assert_error(ARGV("-xtable", "5"), "-xtable: unknown option (--help lists them)");
    assert_error(ARGV("--=5"), "--=5: unknown option (--help lists them)");
    assert_error(ARGV("now"), "now: unexpected operand; only options are allowed (--help)");
    assert_error(ARGV("--", "--once"),
                 "--once: unexpected operand; only options are allowed (--help)");
}

TEST(operands_move_to_the_front)
{
    char **argv = ARGV("10.0.0.1", "--once", "-", "--", "--ttl");
    struct riptide_error error;
    SETTINGS settings;

    settings_init(&settings);
    assert_int_equal(options_parse(settings_rows, &settings, 6, argv, &error), 3);
    assert_string_equal(argv[0], "10.0.0.1");
    assert_string_equal(argv[1], "-");
    assert_string_equal(argv[2], "--ttl");
    assert_true(settings.once);
}

TEST(short_help)
{
    struct riptide_error error;
    SETTINGS settings;

    assert_int_equal(parse(&settings, ARGV("-h"), &error), 0);
    assert_true(settings.help);
}
