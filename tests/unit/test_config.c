/* SPDX-License-Identifier: MIT */
/* riptided.conf: reading, precedence, and refusals with their lines. */
#include "config_case.h"

#include <errno.h>
#include <sys/socket.h>

static void assert_refused_bytes(const char *bytes, size_t n, const char *expected)
{
    SETTINGS settings;

    assert_int_equal(read_bytes(&settings, bytes, n), -EINVAL);
    assert_string_equal(settings.mistake.text, expected);
}

static void assert_refused(const char *text, const char *expected)
{
    assert_refused_bytes(text, strlen(text), expected);
}

TEST(sections_and_values)
{
    SETTINGS settings;

    read_text(&settings, "# a comment\n; another\n\n"
                         "[observe]\ninterval = 2s\n"
                         "[compute] # all of it\npolicy=careful\ncwnd-max = 80 ; and no more\n"
                         "history-weight = 80%\nttl = 10min\nstate = /var/lib/a b\n"
                         "[apply]\ntable = 0xe6\n"
                         "[log]\nlog-level = debug\n");
    assert_int_equal(settings.agent.interval_ns, 2000000000);
    assert_ptr_equal(settings.estimator.policy, riptide_policy_find("careful"));
    assert_int_equal(settings.estimator.cwnd_max, 80);
    assert_true(settings.estimator.history_weight == 0.8);
    assert_int_equal(settings.estimator.ttl_ns, 600000000000);
    assert_string_equal(settings.state, "/var/lib/a b");
    assert_int_equal(settings.applier.table, 0xe6);
    assert_int_equal(settings.log_level, LOG_LEVEL_DEBUG);
}

TEST(lines_as_editors_leave_them)
{
    SETTINGS settings;

    read_text(&settings, "\xef\xbb\xbf[compute]\r\n  state = /a\r\n  ttl = 30s\r\n\tcwnd-max = 50");
    assert_string_equal(settings.state, "/a");
    assert_int_equal(settings.estimator.ttl_ns, 30000000000);
    assert_int_equal(settings.estimator.cwnd_max, 50);
    settings_deinit(&settings);
    read_text(&settings, "");
    settings_deinit(&settings);
    read_text(&settings, "[log]");
}

TEST(lists_in_one_line_and_in_many)
{
    SETTINGS settings;
    struct riptide_error error;

    read_text(&settings, "[observe]\nscope = 10.0.0.0/8, 192.0.2.0/24  2001:db8::/32\n"
                         "exclude = 10.1.0.0/16\nscope = ,203.0.113.7,\n");
    assert_int_equal(settings.observer.scope.n_learn, 4);
    assert_int_equal(settings.observer.scope.learn[3].len, 32);
    assert_int_equal(settings.observer.scope.n_exclude, 1);
    /* The command line's takes its place. */
    assert_int_equal(
        settings_parse(&settings, 5, ARGV("--scope", "::/0", "--scope", "0.0.0.0/0"), &error), 0);
    assert_int_equal(settings.observer.scope.n_learn, 2);
    assert_int_equal(settings.observer.scope.learn[0].family, AF_INET6);
    assert_int_equal(settings.observer.scope.n_exclude, 1);
}

TEST(command_line_goes_before_file_before_default)
{
    SETTINGS settings;
    struct riptide_error error;

    read_text(&settings, "[compute]\nttl = 30s\ncwnd-max = 50\n");
    assert_int_equal(settings_parse(&settings, 2, ARGV("--ttl=40s"), &error), 0);
    assert_int_equal(settings.estimator.ttl_ns, 40000000000);
    assert_int_equal(settings.estimator.cwnd_max, 50);
    assert_int_equal(settings.estimator.cwnd_min, 10);
}

TEST(prefix_sections)
{
    struct riptide_error error;
    SETTINGS settings;

    read_text(&settings, "[prefix 203.0.113.0/24]\ncwnd-max = 40\ncwnd-min = 20\n"
                         "[prefix\t2001:0db8:1111:2222:3333:4444:5555:6666/128]\n"
                         "off = yes\n");
    assert_int_equal(settings_parse(&settings, 1, ARGV(NULL), &error), 0);
    assert_int_equal(settings.n_overrides, 2);
    assert_int_equal(settings.overrides[0].cwnd_max, 40);
    assert_int_equal(settings.overrides[0].cwnd_min, 20);
    assert_false(settings.overrides[0].off);
    assert_int_equal(settings.overrides[1].dst.len, 128);
    assert_int_equal(settings.overrides[1].dst.addr[15], 0x66);
    assert_true(settings.overrides[1].off);
}

TEST(socket_is_a_path)
{
    assert_refused("[apply]\ncontrol = blue\n",
                   "a.conf:2: control blue: not a path with a slash, nor none");
}

TEST(unknown_names)
{
    assert_refused("[compute]\n\ncwnd-mx = 3\n", "a.conf:3: cwnd-mx: unknown key (riptided.conf(5) lists them)");
    assert_refused("[prefix ::/0]\nscal = 1\n", "a.conf:2: scal: unknown key (riptided.conf(5) lists them)");
    assert_refused("[compue]\n", "a.conf:1: [compue]: unknown section");
    assert_refused("[prefixes 10.0.0.0/8]", "a.conf:1: [prefixes 10.0.0.0/8]: unknown section");
    assert_refused("[compute]\npolicy = papr\n",
                   "a.conf:2: policy papr: not a policy (careful, paper, bdp)");
    assert_refused("ttl = 1s", "a.conf:1: ttl: belongs to [compute]");
    assert_refused("[log]\nttl = 1s", "a.conf:2: ttl: belongs to [compute]");
    assert_refused("[prefix ::/0]\nttl = 1s", "a.conf:2: ttl: belongs to [compute]");
    assert_refused("[log]\nonce = yes", "a.conf:2: once: is only a command-line option");
}

/* Later mistakes may follow from it; correct values count for commands that continue. */
TEST(first_mistake_is_named_and_the_rest_read)
{
    static const char text[] = "[nothing]\nttl = 3s\n[compute]\ntll = 1\ncwnd-max = 50\n";
    SETTINGS settings;

    assert_int_equal(read_bytes(&settings, text, strlen(text)), -EINVAL);
    assert_string_equal(settings.mistake.text, "a.conf:1: [nothing]: unknown section");
    assert_int_equal(settings.estimator.cwnd_max, 50);
    assert_int_equal(settings.estimator.ttl_ns, 90000000000);
}

/* Behind a blank only: names may hold these characters. */
TEST(comments_behind_values)
{
    SETTINGS settings;

    read_text(&settings, "[compute] # all\nstate = /a#b;c # why\nttl = 5s\t; because\n"
                         "cwnd-max = 50 # = 60\n");
    assert_string_equal(settings.state, "/a#b;c");
    assert_int_equal(settings.estimator.ttl_ns, 5000000000);
    assert_int_equal(settings.estimator.cwnd_max, 50);
}

TEST(wrong_values_and_lines)
{
    assert_refused("[compute]\nttl = 5x",
                   "a.conf:2: ttl 5x: not a duration (write 500ms, 1s, 10min, 1d)");
    assert_refused("[compute]\nttl =",
                   "a.conf:2: ttl: not a duration (write 500ms, 1s, 10min, 1d)");
    assert_refused("[compute]\nttl = 5s\nttl = 6s", "a.conf:3: ttl: was given already");
    assert_refused("[prefix ::/0]\noff = no\n[log]\n[prefix ::/0]\n",
                   "a.conf:4: [prefix ::/0]: was given already");
    assert_refused("[prefix ::/0]\noff = yes\n[prefix ::/1]\noff = yes\noff = yes\n",
                   "a.conf:5: off: was given already");
    assert_refused("[prefix ::/0]\ncwnd-max = 0", "a.conf:2: cwnd-max 0: must be above 0");
    assert_refused("[prefix 10.0.0.1/8]\n",
                   "a.conf:1: [prefix 10.0.0.1/8]: not a prefix (write 203.0.113.0/24 or "
                   "2001:db8::1, host bits zero)");
    assert_refused("[prefix]\n", "a.conf:1: [prefix]: not a prefix (write 203.0.113.0/24 or "
                                 "2001:db8::1, host bits zero)");
    assert_refused("[compute]\nstate =#",
                   "a.conf:2: state #: not a file name (at most 160 bytes, no control character, "
                   "no ; or # at the start or after a blank)");
    assert_refused("[compute]\nttl\nzebra = 5", "a.conf:2: neither a [section] nor KEY = VALUE");
    assert_refused("[compute]\nzebra = 5\nttl\n", "a.conf:2: zebra: unknown key (riptided.conf(5) lists them)");
    assert_refused("[compute]\nttl", "a.conf:2: neither a [section] nor KEY = VALUE");
    assert_refused("[compute\n", "a.conf:1: a section is [NAME], with nothing after it");
    assert_refused("[compute] ttl = 5s\n", "a.conf:1: a section is [NAME], with nothing after it");
    assert_refused("[compute]\n= 5s\n", "a.conf:2: : unknown key (riptided.conf(5) lists them)");
    assert_refused("[compute]\nttl = 5s\x01\n", "a.conf:2: contains a control character (0x01)");
}

TEST(bytes_that_are_no_text)
{
    assert_refused_bytes("\0", 1, "a.conf:1: contains a control character (0x00)");
}

/* However long. */
TEST(no_line_is_cut)
{
    for (size_t n = 1; n < 400; n++) {
        SETTINGS settings;
        char text[600];

        snprintf(text, sizeof(text), "[compute]\nttl = %0*ds\n", (int)n, 7);
        read_text(&settings, text);
        assert_int_equal(settings.estimator.ttl_ns, 7000000000);
    }
}

/* However many there are, the refusal takes no time. */
TEST(too_many_sections)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    for (int i = 0; i < 60000; i++)
        fprintf(out, "[prefix 10.0.%d.%d]\n", i >> 8, i & 255);
    fclose(out);
    assert_refused(text, "a.conf:2049: more than 2048 sections for prefixes");
    free(text);
}

TEST(refusals_of_the_library_name_the_key)
{
    static const struct {
        const char *field;
        int64_t index;
        const char *refusal, *expected;
    } cases[] = {
        { "estimator.cwnd_min", -1, "0; must be", "cwnd-min: 0; must be" },
        { "router.cwnd_max", -1, "5; below 10", "cwnd-max: 5; below 10" },
        { "interval_ns", -1, "must be shorter", "interval: must be shorter" },
        { "router.table", -1, "0 is", "table: 0 is" },
        { "observer.scope.exclude[]", 1, "no: why", "exclude: no: why" },
        { "observer.scope.local_ports", -1, "300; at most 256", "local-port: 300; at most 256" },
        { "hint.cwnd_max", 1, "5; must", "[prefix 10.0.0.0/8] cwnd-max: 5; must" },
        { NULL, -1, "out of patience", "out of patience" },
        { "observer.other", -1, "0", "observer.other: 0" },
    };
    SETTINGS settings;

    read_text(&settings, "[prefix ::/0]\n[prefix 10.0.0.0/8]\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct riptide_error error = { .field = cases[i].field, .index = cases[i].index };

        snprintf(error.text, sizeof(error.text), "%s%s%s", error.field ? error.field : "",
                 error.field ? ": " : "", cases[i].refusal);
        settings_explain_refusal(&settings, &error);
        assert_string_equal(error.text, cases[i].expected);
    }
}
