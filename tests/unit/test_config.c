/* SPDX-License-Identifier: MIT */
/* riptided.conf and the command line: reading, precedence, and refusals with their lines. */
#include "settings.h"
#include "unit.h"

#include <getopt.h>

#define ARGV(...)                                                                                  \
    (char *[])                                                                                     \
    {                                                                                              \
        "riptided", __VA_ARGS__, NULL                                                              \
    }

/* Those that are freed where they go out of scope. */
#define SETTINGS __attribute__((cleanup(settings_deinit))) struct settings

static int read_text(struct settings *settings, const char *text, struct riptide_error *error)
{
    settings_init(settings);
    settings->text = strdup(text);
    assert_non_null(settings->text);
    return config_parse(settings, "a.conf", settings->text, error);
}

static void assert_taken(struct settings *settings, const char *text)
{
    struct riptide_error error;

    if (read_text(settings, text, &error) != 0)
        fail_msg("%s", error.text);
}

static void assert_refused(const char *text, const char *expected)
{
    struct riptide_error error;
    SETTINGS settings;

    assert_int_equal(read_text(&settings, text, &error), -EINVAL);
    assert_string_equal(error.text, expected);
}

/* As editors leave them. A comment begins behind a blank: names may hold these characters. */
TEST(lines_and_values)
{
    SETTINGS settings;

    assert_taken(&settings, "# a comment\n; another\n\n"
                            "interval = 2s # why\r\n"
                            "  policy=careful\n\tcwnd-max = 80 ; and no more\n"
                            "ttl = 10min\t# = 1s\nstate = /var/lib/a b#c;d\n"
                            "pacing = no\nmax-share = 20%\nlog-level = debug");
    assert_int_equal(settings.agent.interval_ns, 2000000000);
    assert_true(settings.agent.max_share == 0.2);
    assert_ptr_equal(settings.estimator.policy, riptide_policy_find("careful"));
    assert_int_equal(settings.estimator.cwnd_max, 80);
    assert_int_equal(settings.estimator.ttl_ns, 600000000000);
    assert_string_equal(settings.state, "/var/lib/a b#c;d");
    assert_false(settings.applier.pacing);
    assert_int_equal(settings.log_level, LOG_DEBUG);
}

TEST(the_command_line_goes_before_the_file_and_adds_to_lists)
{
    struct riptide_error error;
    SETTINGS settings;

    assert_taken(&settings, "ttl = 30s\ncwnd-max = 50\nscope = 10.0.0.0/8, 192.0.2.0/24\n"
                            "exclude = 10.1.0.0/16\nscope = ,203.0.113.7,\n");
    assert_int_equal(settings_parse(&settings, 3, ARGV("--ttl=40s", "--scope=::/0"), &error), 0);
    assert_int_equal(settings.estimator.ttl_ns, 40000000000);
    assert_int_equal(settings.estimator.cwnd_max, 50);
    assert_int_equal(settings.estimator.cwnd_min, 10);
    assert_int_equal(settings.observer.scope.n_learn, 4);
    assert_int_equal(settings.observer.scope.learn[2].len, 32);
    assert_int_equal(settings.observer.scope.learn[3].family, AF_INET6);
    assert_int_equal(settings.observer.scope.n_exclude, 1);
}

TEST(prefix_sections)
{
    SETTINGS settings;

    assert_taken(&settings, "[prefix 203.0.113.0/24]\ncwnd-max = 40\ncwnd-min = 20\n"
                            "[prefix\t2001:0db8:1111:2222:3333:4444:5555:6666/128] # why\n"
                            "off = yes\n");
    assert_int_equal(settings.n_overrides, 2);
    assert_int_equal(settings.overrides[0].cwnd_max, 40);
    assert_int_equal(settings.overrides[0].cwnd_min, 20);
    assert_false(settings.overrides[0].off);
    assert_int_equal(settings.overrides[1].dst.addr[15], 0x66);
    assert_true(settings.overrides[1].off);
}

#define DURATION "not a duration (write 500ms, 1s, 10min, 1d)"
#define LISTED   "(riptided.conf(5) lists all, CHANGELOG.md those that were removed)"
#define SECTION  "a section is [prefix PREFIX], with nothing after it"
#define PREFIX   "not a prefix (write 203.0.113.0/24 or 2001:db8::1, host bits zero)"

TEST(mistakes_are_named_with_line_key_value_and_remedy)
{
    static const char *const cases[][2] = {
        { "\n\ncwnd-mx = 3\n", "a.conf:3: cwnd-mx: unknown key " LISTED },
        { "= 5s\n", "a.conf:1: : unknown key " LISTED },
        { "[prefix ::/0]\nscal = 1\n", "a.conf:2: scal: unknown key of a [prefix] " LISTED },
        { "[prefix ::/0]\nttl = 1s", "a.conf:2: ttl: unknown key of a [prefix] " LISTED },
        { "once = yes", "a.conf:1: once: unknown key " LISTED },
        { "ttl = 5x", "a.conf:1: ttl 5x: " DURATION },
        { "ttl =", "a.conf:1: ttl: " DURATION },
        { "ttl\nzebra = 5", "a.conf:1: neither KEY = VALUE nor [prefix PREFIX]" },
        { "[compute]\n", "a.conf:1: [compute]: " SECTION },
        { "[prefixes 10.0.0.0/8]", "a.conf:1: [prefixes 10.0.0.0/8]: " SECTION },
        { "[prefix ::/0\n", "a.conf:1: [prefix ::/0: " SECTION },
        { "[prefix ::/0] off = yes\n", "a.conf:1: [prefix ::/0] off = yes: " SECTION },
        { "[prefix 10.0.0.1/8]\n", "a.conf:1: [prefix 10.0.0.1/8]: " PREFIX },
        { "[prefix ::/0]\noff = no\n[prefix ::/0]\n",
          "a.conf:3: [prefix ::/0]: was given already" },
        { "[prefix ::/0]\ncwnd-max = 0", "a.conf:2: cwnd-max 0: must be above 0" },
    };

    EACH(row, cases)
        assert_refused((*row)[0], (*row)[1]);
}

TEST(too_many_sections)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    for (int i = 0; i < 2060; i++)
        fprintf(out, "[prefix 10.0.%d.%d]\n", i >> 8, i & 255);
    fclose(out);
    assert_refused(text, "a.conf:2049: more than 2048 sections for prefixes");
    free(text);
}

TEST(refusals_of_the_library_name_the_key_and_its_file)
{
    static const struct {
        const char *field;
        int64_t index;
        const char *refusal, *expected;
    } cases[] = {
        { "estimator.cwnd_min", -1, "0; must be", "a.conf: cwnd-min: 0; must be" },
        { "estimator.cwnd_max", -1, "5; below 10", "a.conf: cwnd-max: 5; below 10" },
        { "interval_ns", -1, "must be shorter", "interval: must be shorter" }, /* nobody gave it */
        { "applier.table", -1, "0 is", "table: 0 is" },
        { "observer.scope.exclude[]", 1, "no: why", "a.conf: exclude: no: why" },
        { "observer.scope.local_ports", -1, "300; at most 256",
          "a.conf: local-port: 300; at most 256" },
        { "hint.cwnd_max", 1, "5; must", "a.conf: [prefix 10.0.0.0/8] cwnd-max: 5; must" },
        { NULL, -1, "out of patience", "out of patience" },
        { "observer.other", -1, "0", "observer.other: 0" },
    };
    SETTINGS settings;

    assert_taken(&settings, "cwnd-min = 3\ncwnd-max = 5\nexclude = ::1\nlocal-port = 1\ntable = 9\n"
                            "[prefix ::/0]\ncwnd-min = 9\n[prefix 10.0.0.0/8]\n");
    settings.given = UINT64_C(1) << (options_find(settings_rows, "table") - settings_rows);
    EACH(row, cases) {
        struct riptide_error error = { .field = row->field, .index = row->index };

        snprintf(error.text, sizeof(error.text), "%s%s%s", error.field ? error.field : "",
                 error.field ? ": " : "", row->refusal);
        settings_explain_refusal(&settings, &error);
        assert_string_equal(error.text, row->expected);
    }
}

TEST(command_lines_that_are_refused_name_option_value_and_remedy)
{
#define THIRTY "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    static const struct {
        char *options[2], *expected;
    } cases[] = {
        { { "--interval=" }, "--interval: " DURATION },
        { { "--ttl", "--once" }, "--ttl --once: " DURATION },
        { { "--ttl", THIRTY THIRTY THIRTY }, "--ttl " THIRTY THIRTY ": " DURATION },
        { { "--ttl" }, "--ttl: the value is missing" },
        { { "--once=yes" }, "--once=yes: takes no value" },
        { { "--bogus" }, "--bogus: unknown option (--help lists them)" },
        { { "--bogus=1" }, "--bogus=1: unknown option (--help lists them)" },
        { { "--cwnd=5" }, "--cwnd=5: unknown option (--help lists them)" },
        { { "-v" }, "-v: unknown option (--help lists them)" },
        { { "-t", "5s" }, "-t: unknown option (--help lists them)" },
        { { "-hxtable", "5" }, "-x: unknown option (--help lists them)" },
        { { "--=5" }, "--=5: unknown option (--help lists them)" },
        { { "now" }, "now: unexpected operand; only options are allowed (--help)" },
        { { "--", "--once" }, "--once: unexpected operand; only options are allowed (--help)" },
    };

    EACH(row, cases) {
        char **argv = ARGV(row->options[0], row->options[1]);
        struct riptide_error error = { .text = "" };
        SETTINGS settings;

        settings_init(&settings);
        assert_int_equal(settings_parse(&settings, argv[2] ? 3 : 2, argv, &error), -EINVAL);
        assert_text(error.text, row->expected);
    }
}

TEST(operands_move_to_the_end)
{
    char **argv = ARGV("10.0.0.1", "--once", "-h", "-", "--", "--ttl");
    struct riptide_error error;
    uint64_t given = 0;
    SETTINGS settings;

    settings_init(&settings);
    assert_int_equal(options_parse(settings_rows, &settings, &given, 7, argv, &error), 0);
    assert_int_equal(__builtin_popcountll(given), 2);
    assert_int_equal(optind, 4);
    assert_string_equal(argv[4], "10.0.0.1");
    assert_string_equal(argv[5], "-");
    assert_string_equal(argv[6], "--ttl");
    assert_true(settings.once && settings.help);
}
