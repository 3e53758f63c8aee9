/*
 * riptided.conf: what is read, which place wins, what is refused with which line, and that what is
 * printed reads back as the same settings.
 */
#include "config.h"
#include "nearest.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#define ARGV(...)                                                                                  \
    (char *[])                                                                                     \
    {                                                                                              \
        "riptided", __VA_ARGS__, NULL                                                              \
    }

static int read_bytes(struct settings *settings, const char *bytes, size_t n)
{
    /* Behind its end is nothing: valgrind sees who reads on. */
    char *copy = malloc(n ? n : 1);
    int r;

    assert_non_null(copy);
    memcpy(copy, bytes, n);
    settings_init(settings);
    r = config_parse(settings, "a.conf", copy, n);
    free(copy);
    return r;
}

static void read_text(struct settings *settings, const char *text)
{
    if (read_bytes(settings, text, strlen(text)) != 0)
        fail_msg("%s", settings->mistakes[0].text);
}

static void assert_refused_bytes(const char *bytes, size_t n, const char *expected)
{
    struct settings settings;

    assert_int_equal(read_bytes(&settings, bytes, n), -EINVAL);
    assert_string_equal(settings.mistakes[0].text, expected);
    settings_deinit(&settings);
}

static void assert_refused(const char *text, const char *expected)
{
    assert_refused_bytes(text, strlen(text), expected);
}

static void sections_and_values(void **state)
{
    struct settings settings;

    (void)state;
    read_text(&settings, "# a comment\n; another\n\n"
                         "[observe]\ninterval = 2s\n"
                         "[compute] # all of it\npolicy=careful\ncwnd-max = 80 ; and no more\n"
                         "history-weight = 80%\nttl = 10min\npaced = yes\nstate = /var/lib/a b\n"
                         "[apply]\nstep-percent = 20%\n"
                         "[log]\nlog-level = debug\n");
    assert_int_equal(settings.agent.interval_ns, 2000000000);
    assert_ptr_equal(settings.estimator.policy, riptide_policy_find("careful"));
    assert_int_equal(settings.estimator.cwnd_max, 80);
    assert_true(settings.estimator.history_weight == 0.8);
    assert_int_equal(settings.estimator.ttl_ns, 600000000000);
    assert_true(settings.estimator.paced);
    assert_string_equal(settings.state, "/var/lib/a b");
    assert_int_equal(settings.router.step_percent, 20);
    assert_int_equal(settings.log_level, LOG_LEVEL_DEBUG);
    settings_deinit(&settings);
}

/* Each of these inih alone would take for something else, or read in part, in silence. */
static void lines_as_editors_leave_them(void **state)
{
    struct settings settings;

    (void)state;
    read_text(&settings, "\xef\xbb\xbf[compute]\r\n  state = /a\r\n  ttl = 30s\r\n\tcwnd-max = 50");
    assert_string_equal(settings.state, "/a");
    assert_int_equal(settings.estimator.ttl_ns, 30000000000);
    assert_int_equal(settings.estimator.cwnd_max, 50);
    settings_deinit(&settings);
    read_text(&settings, "");
    settings_deinit(&settings);
    read_text(&settings, "[log]");
    settings_deinit(&settings);
}

static void lists_in_one_line_and_in_many(void **state)
{
    struct settings settings;
    struct riptide_error error;

    (void)state;
    read_text(&settings, "[observe]\nscope = 10.0.0.0/8, 192.0.2.0/24  2001:db8::/32\n"
                         "exclude = 10.1.0.0/16\nscope = ,203.0.113.7,\n");
    assert_int_equal(settings.scope.learn.n, 4);
    assert_int_equal(settings.scope.learn.items[3].len, 32);
    assert_int_equal(settings.scope.exclude.n, 1);
    /* The command line's takes its place. */
    assert_int_equal(
        settings_parse(&settings, 5, ARGV("--scope", "::/0", "--scope", "0.0.0.0/0"), &error), 0);
    assert_int_equal(settings.observer.scope.n_learn, 2);
    assert_int_equal(settings.observer.scope.learn[0].family, AF_INET6);
    assert_int_equal(settings.observer.scope.n_exclude, 1);
    settings_deinit(&settings);
}

static void command_line_goes_before_file_before_default(void **state)
{
    struct settings settings;
    struct riptide_error error;
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");

    (void)state;
    read_text(&settings, "[compute]\nttl = 30s\ncwnd-max = 50\npaced = yes\n");
    assert_int_equal(settings_parse(&settings, 3, ARGV("--ttl=40s", "--paced=no"), &error), 0);
    assert_int_equal(settings.estimator.ttl_ns, 40000000000);
    assert_int_equal(settings.estimator.cwnd_max, 50);
    assert_int_equal(settings.estimator.cwnd_min, 10);
    assert_false(settings.estimator.paced);
    for (const struct option_row *row = settings_rows; row->name; row++) {
        if (strcmp(row->name, "ttl") && strcmp(row->name, "cwnd-max") &&
            strcmp(row->name, "cwnd-min"))
            continue;
        settings_describe_origin(&settings, row, out);
        fputc(' ', out);
    }
    fclose(out);
    assert_string_equal(text, "default a.conf:3 command line ");
    settings_deinit(&settings);
}

static void prefix_sections(void **state)
{
    struct riptide_error error;
    struct settings settings;

    (void)state;
    read_text(&settings, "[prefix 203.0.113.0/24]\ncwnd-max = 40\n"
                         "[prefix\t2001:0db8:1111:2222:3333:4444:5555:6666/128]\n"
                         "policy = max\nscale = 50%\n"
                         "[prefix 203.0.113.0/24]\ncwnd-min = 20\n");
    assert_int_equal(settings_parse(&settings, 1, ARGV(NULL), &error), 0);
    assert_int_equal(settings.estimator.n_overrides, 2);
    assert_int_equal(settings.estimator.overrides[0].cwnd_max, 40);
    assert_int_equal(settings.estimator.overrides[0].cwnd_min, 20);
    assert_null(settings.estimator.overrides[0].policy);
    assert_int_equal(settings.estimator.overrides[1].dst.len, 128);
    assert_int_equal(settings.estimator.overrides[1].dst.addr[15], 0x66);
    assert_ptr_equal(settings.estimator.overrides[1].policy, riptide_policy_find("max"));
    assert_true(settings.estimator.overrides[1].scale == 0.5);
    settings_deinit(&settings);
}

static void unknown_names_and_the_nearest(void **state)
{
    (void)state;
    assert_refused("[compute]\n\ncwnd-mx = 3\n",
                   "a.conf:3: cwnd-mx: unknown key; is cwnd-max meant?");
    assert_refused("[compute]\nzebra = 3\n", "a.conf:2: zebra: unknown key");
    assert_refused("[compue]\n", "a.conf:1: [compue]: unknown section; is compute meant?");
    assert_refused("[zebra]\n", "a.conf:1: [zebra]: unknown section; there are observe, compute, "
                                "apply, metrics, log, prefix PREFIX");
    assert_refused("[compute]\npolicy = papr\n",
                   "a.conf:2: policy papr: not a policy (`riptide explain --policy` lists them); "
                   "is paper meant?");
    assert_refused("[compute]\npaced = maybe\n", "a.conf:2: paced maybe: not yes or no");
    assert_refused("[prefix ::/0]\nscal = 1\n", "a.conf:2: scal: unknown key; is scale meant?");
    assert_refused("ttl = 1s", "a.conf:1: ttl: stands before any section; it belongs to [compute]");
    assert_refused("zebra = 1s", "a.conf:1: zebra: stands before any section");
    assert_refused("[log]\nttl = 1s", "a.conf:2: ttl: belongs to [compute], not to [log]");
    assert_refused("[prefix ::/0]\nttl = 1s",
                   "a.conf:2: ttl: belongs to [compute], not to [prefix ::/0]");
    assert_refused("[log]\nonce = yes", "a.conf:2: once: is an option of the command line alone");
}

static void parts_of_names_and_sections(void **state)
{
    (void)state;
    assert_refused("[log]\nlevel = info", "a.conf:2: level: unknown key; is log-level meant?");
    assert_refused(
        "[log]\nlog-level = warn",
        "a.conf:2: log-level warn: not a level (error, warning, info, debug); is warning "
        "meant?");
    assert_refused("[prefix ::/0]\nmax = 5", "a.conf:2: max: unknown key; is cwnd-max meant?");
    assert_refused("[compute]\ncwnd_max = 5",
                   "a.conf:2: cwnd_max: unknown key; is cwnd-max meant?");
    assert_refused("[prefixes 10.0.0.0/8]",
                   "a.conf:1: [prefixes 10.0.0.0/8]: unknown section; is prefix meant?");
    assert_refused("[10.0.0.0/8]",
                   "a.conf:1: [10.0.0.0/8]: unknown section; is [prefix 10.0.0.0/8] meant?");
}

/* Each in the order of the file; keys of a section that is none say nothing. */
static void all_mistakes(void **state)
{
    static const char text[] = "[compute]\nttl\ntll = 1\npaced = yes\n[nothing]\nttl = 3s\n"
                               "[observe]\nslices = x";
    struct settings settings;
    char many[40 * 16] = "";

    (void)state;
    assert_int_equal(read_bytes(&settings, text, strlen(text)), -EINVAL);
    assert_int_equal(settings.n_mistakes, 4);
    assert_string_equal(settings.mistakes[0].text, "a.conf:2: neither a [section] nor KEY = VALUE");
    assert_string_equal(settings.mistakes[1].text, "a.conf:3: tll: unknown key; is ttl meant?");
    assert_memory_equal(settings.mistakes[2].text, "a.conf:5: [nothing]", 19);
    assert_memory_equal(settings.mistakes[3].text, "a.conf:8: slices x: not a number", 32);
    assert_true(settings.estimator.paced); /* what is right counts for those who go on */
    assert_int_equal(settings.estimator.ttl_ns, 90000000000);
    settings_deinit(&settings);
    for (int i = 0; i < 40; i++)
        strcat(many, "[nothing]\n");
    assert_int_equal(read_bytes(&settings, many, strlen(many)), -EINVAL);
    assert_int_equal(settings.n_mistakes, SETTINGS_MAX_MISTAKES);
    assert_string_equal(settings.mistakes[SETTINGS_MAX_MISTAKES - 1].text,
                        "a.conf: and 21 mistakes more");
    settings_deinit(&settings);
}

/* Behind a blank only: names may hold these characters. */
static void comments_behind_values(void **state)
{
    struct settings settings;

    (void)state;
    read_text(&settings, "[compute] # all\nstate = /a#b;c # why\nttl = 5s\t; because\n"
                         "paced = yes # = no\n");
    assert_string_equal(settings.state, "/a#b;c");
    assert_int_equal(settings.estimator.ttl_ns, 5000000000);
    assert_true(settings.estimator.paced);
    settings_deinit(&settings);
}

static void wrong_values_and_lines(void **state)
{
    (void)state;
    assert_refused("[compute]\nttl = 5x",
                   "a.conf:2: ttl 5x: not a duration (write 500ms, 1s, 10min)");
    assert_refused("[compute]\nttl =", "a.conf:2: ttl: not a duration (write 500ms, 1s, 10min)");
    assert_refused("[compute]\nttl = 5s\nttl = 6s", "a.conf:3: ttl: was given in line 2 already");
    assert_refused("[prefix ::/0]\nscale = 0%", "a.conf:2: scale 0: must be above 0");
    assert_refused("[prefix 10.0.0.1/8]\n",
                   "a.conf:1: [prefix 10.0.0.1/8]: not a prefix (write 203.0.113.0/24 or "
                   "2001:db8::1, host bits zero)");
    assert_refused("[prefix]\n", "a.conf:1: [prefix]: not a prefix (write 203.0.113.0/24 or "
                                 "2001:db8::1, host bits zero)");
    assert_refused("[compute]\nttl\nzebra = 5", "a.conf:2: neither a [section] nor KEY = VALUE");
    assert_refused("[compute]\nzebra = 5\nttl\n", "a.conf:2: zebra: unknown key");
    assert_refused("[compute]\nttl", "a.conf:2: neither a [section] nor KEY = VALUE");
    assert_refused("[compute\n", "a.conf:1: a section needs its ]");
    assert_refused("[compute] ttl = 5s\n", "a.conf:1: nothing may stand behind the ] of a section");
    assert_refused("[compute]\n= 5s\n", "a.conf:2: : unknown key");
    assert_refused("[compute]\nttl = 5s\x01\n", "a.conf:2: holds a control character (0x01)");
}

static void bytes_that_are_no_text(void **state)
{
    static const char nul[] = "[compute]\n# a\0b\nttl = 5s\n";
    char line[1000];

    (void)state;
    assert_refused_bytes(nul, sizeof(nul) - 1, "a.conf:2: holds a NUL byte; this is no text file");
    assert_refused_bytes("\0", 1, "a.conf:1: holds a NUL byte; this is no text file");
    memset(line, 'x', sizeof(line) - 1);
    memcpy(line, "[compute]\nttl = 5s", 18);
    line[sizeof(line) - 1] = '\0';
    assert_refused(line, "a.conf:2: 989 characters; the longest line that is read has 197 (a key "
                         "with a list may be given many times)");
    /* A comment may be as long as it likes. */
    line[10] = '#';
    {
        struct settings settings;

        read_text(&settings, line);
        settings_deinit(&settings);
    }
}

/* inih's buffer ends somewhere: nothing is cut, on whichever side of the end it is. */
static void no_line_is_cut(void **state)
{
    (void)state;
    for (size_t n = 1; n < 400; n++) {
        struct settings settings;
        char text[600];
        int r;

        snprintf(text, sizeof(text), "[compute]\nttl = %0*ds\n", (int)n, 7);
        r = read_bytes(&settings, text, strlen(text));
        if (r == 0)
            assert_int_equal(settings.estimator.ttl_ns, 7000000000);
        else
            assert_non_null(strstr(settings.mistakes[0].text, "the longest line that is read has "
                                                              "197"));
        assert_int_equal(r == 0, n <= 190);
        settings_deinit(&settings);
    }
}

/* However many there are, it takes no time to say that they are too many. */
static void too_many_sections(void **state)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    (void)state;
    for (int i = 0; i < 60000; i++)
        fprintf(out, "[prefix 10.0.%d.%d]\n", i >> 8, i & 255);
    fclose(out);
    assert_refused(text, "a.conf:1026: more than 1024 sections for prefixes");
    free(text);
}

static void refusals_of_the_library_get_their_line(void **state)
{
    static const struct {
        const char *text, *refusal, *expected;
    } cases[] = {
        { "[compute]\ncwnd-min = 0\n", "cwnd_min: 0; must be", "a.conf:2: cwnd-min: 0; must be" },
        { "[compute]\n\ncwnd-max = 5\n", "cwnd_min: 10; must be 1 to cwnd_max, which is 5",
          "a.conf:3: cwnd-min: 10; must be 1 to cwnd-max, which is 5" },
        { "[observe]\ninterval = 2h\n", "ttl: must be longer than the interval",
          "a.conf:2: ttl: must be longer than the interval" },
        { "[compute]\npaced = no\n", "ttl: must be longer than the interval",
          "a.conf: ttl: must be longer than the interval" },
        { "[prefix 10.0.0.0/8]\nscale=0.5\ncwnd-max = 5\n",
          "overrides: 10.0.0.0/8: cwnd_max: 5; must",
          "a.conf:3: [prefix 10.0.0.0/8] cwnd-max: 5; must" },
        { "\n[prefix 2001:db8::/32]\n", "overrides: 2001:db8::/32: given twice",
          "a.conf:2: [prefix 2001:db8::/32] given twice" },
        { "", "overrides: 1025; at most 1024",
          "a.conf: sections for prefixes: 1025; at most 1024" },
        { "", "out of patience", "out of patience" },
    };
    struct settings settings;
    char name[300] = "";
    struct riptide_error error;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_text(&settings, cases[i].text);
        snprintf(error.text, sizeof(error.text), "%s", cases[i].refusal);
        settings_explain_refusal(&settings, &error);
        assert_string_equal(error.text, cases[i].expected);
        settings_deinit(&settings);
    }
    read_text(&settings, "[compute]\nttl = 5s\n");
    memset(name, 'x', sizeof(name) - 1);
    settings.file = name;
    snprintf(error.text, sizeof(error.text), "ttl: must");
    settings_explain_refusal(&settings, &error);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    settings_deinit(&settings);
    settings_init(&settings);
    snprintf(error.text, sizeof(error.text), "ttl: must");
    settings_explain_refusal(&settings, &error);
    assert_string_equal(error.text, "--ttl: must");
    settings_deinit(&settings);
}

static void only_what_can_change_may_change(void **state)
{
    struct riptide_error error = { "" };
    struct settings from, to;
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");

    (void)state;
    read_text(&from, "[compute]\nttl = 30s\n");
    read_text(&to, "[apply]\n\ntable = 99\n[observe]\nscope = ::/0\n[prefix ::/0]\n");
    assert_int_equal(settings_check_change(&from, &to, &error), -EBUSY);
    assert_string_equal(error.text,
                        "a.conf:3: table: 99; it cannot change from 7230 while riptided "
                        "runs, restart it");
    settings_print_changes(&from, &to, out);
    fclose(out);
    assert_string_equal(text, "scope nothing -> ::/0, ttl 30s -> 90s, table 7230 -> 99, "
                              "sections for prefixes: 1");
    assert_int_equal(settings_check_change(&from, &from, &error), 0);
    settings_deinit(&from);
    settings_deinit(&to);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)random() % n;
}

/* One that the kind reads, in one of the ways that people write it. */
static void any_value(const struct option_row *row, char text[256])
{
    size_t n_names = 0;

    while (row->kind->name && row->kind->name(n_names))
        n_names++;
    if (n_names > 0)
        snprintf(text, 256, "%s", row->kind->name(below((uint32_t)n_names)));
    else if (row->kind == &value_duration)
        snprintf(text, 256, "%u%s", below(100000),
                 (const char *[]){ "ms", "s", "min", "h" }[below(4)]);
    else if (row->kind == &value_weight || row->kind == &value_number)
        snprintf(text, 256, "%u.%0*u", below(1000), 1 + (int)below(12), below(100000000));
    else if (row->kind == &value_prefixes)
        snprintf(text, 256, "10.%u.0.0/16%s 2001:db8:%x::/48", below(256), below(2) ? "," : "",
                 below(65536));
    else if (row->kind == &value_ports)
        snprintf(text, 256, "%u, 8000-%u", below(65536), 8000 + below(1000));
    else if (row->kind == &value_masked)
        snprintf(text, 256, below(2) ? "0x%x/0xffff" : "0x%x", below(65536));
    else if (row->kind == &value_name)
        snprintf(text, 256, "eth%u", below(100));
    else if (row->kind == &value_path)
        snprintf(text, 256, "/a#b;c=%u [%u]", below(100), below(100));
    else if (row->kind == &value_u8)
        snprintf(text, 256, "%u", below(256));
    else
        snprintf(text, 256, below(2) ? "%u" : "0x%x", below(UINT32_MAX));
    if (row->kind == &value_percent)
        snprintf(text, 256, "%u%%", below(101));
    else if (row->kind == &value_weight && below(2))
        strcat(text, "%");
}

static char *print(const struct settings *settings, size_t *np)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, np);

    assert_non_null(out);
    config_print(out, settings);
    fclose(out);
    return text;
}

static void print_any(FILE *out, const struct option_row *rows)
{
    const char *section = "";

    for (const struct option_row *row = rows; row->name; row++) {
        char value[256];

        if (!row->section)
            continue;
        if (rows == settings_rows && strcmp(section, row->section))
            fprintf(out, "[%s]\n", section = row->section);
        for (uint32_t n = below(row->kind->clear ? 4 : 2); n > 0; n--) {
            any_value(row, value);
            fprintf(out, "%s = %s\n", row->name, value);
        }
    }
}

static void assert_same(const struct settings *a, const struct settings *b, const char *text)
{
    char changes[4096] = "";
    FILE *out = fmemopen(changes, sizeof(changes), "w");

    settings_print_changes(a, b, out);
    fclose(out);
    if (changes[0])
        fail_msg("%s\n%s", changes, text);
    for (const struct option_row *row = settings_rows; row->name; row++) {
        bool is_double = row->kind == &value_weight || row->kind == &value_number;

        if (is_double)
            assert_memory_equal((const char *)a + row->offset, (const char *)b + row->offset,
                                sizeof(double));
    }
}

static void what_is_printed_reads_back(void **state)
{
    const char *seed = getenv("SEED");
    unsigned int drawn = seed ? (unsigned int)strtoul(seed, NULL, 10) : (unsigned int)time(NULL);

    (void)state;
    print_message("# seed %u\n", drawn);
    srandom(drawn);
    for (int i = 0; i < 300; i++) {
        struct settings written, again;
        char *text = NULL, *printed;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        print_any(out, settings_rows);
        for (uint32_t j = below(4); j > 0; j--) {
            fprintf(out, "[prefix 10.%u.0.0/16]\n", j);
            print_any(out, override_rows);
        }
        fclose(out);
        if (read_bytes(&written, text, n) != 0)
            fail_msg("%s\n%s", written.mistakes[0].text, text);
        printed = print(&written, &n);
        if (read_bytes(&again, printed, n) != 0)
            fail_msg("%s\n%s", again.mistakes[0].text, printed);
        assert_same(&written, &again, printed);
        settings_deinit(&written);
        settings_deinit(&again);
        free(printed);
        free(text);
    }
}

/* A line of the example begins with # and a letter where a key is commented out. */
static void example_is_the_defaults(void **state)
{
    struct settings defaults, read;
    char *text = NULL, *at;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    (void)state;
    settings_init(&defaults);
    config_print_example(out, &defaults);
    fclose(out);
    read_text(&read, text);
    assert_same(&defaults, &read, text);
    assert_null(read.overrides);
    settings_deinit(&read);
    for (at = text; at && *at; at = strchr(at, '\n') + 1) {
        char *end = strchr(at, '\n');

        if (at[0] == '#' && at[1] != ' ' && end[-1] != '=' && at[1] != '[')
            at[0] = ' ';
    }
    read_text(&read, text);
    assert_same(&defaults, &read, text);
    assert_true(read.lines[0] > 0);
    settings_deinit(&read);
    settings_deinit(&defaults);
    free(text);
}

static const char *nearest_of(const char *text)
{
    struct nearest nearest = nearest_to(text, strlen(text));

    for (const struct option_row *row = settings_rows; row->name; row++)
        nearest_offer(&nearest, row->name);
    return nearest.name;
}

static void nearest_name(void **state)
{
    char text[200];

    (void)state;
    assert_string_equal(nearest_of("intervall"), "interval");
    assert_string_equal(nearest_of("cwndmax"), "cwnd-max");
    assert_string_equal(nearest_of("max-destination"), "max-destinations");
    assert_string_equal(nearest_of("tl"), "ttl");
    assert_null(nearest_of("zebra"));
    assert_null(nearest_of(""));
    assert_null(nearest_of("xx"));
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_null(nearest_of(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_and_values),
        cmocka_unit_test(lines_as_editors_leave_them),
        cmocka_unit_test(lists_in_one_line_and_in_many),
        cmocka_unit_test(command_line_goes_before_file_before_default),
        cmocka_unit_test(prefix_sections),
        cmocka_unit_test(unknown_names_and_the_nearest),
        cmocka_unit_test(parts_of_names_and_sections),
        cmocka_unit_test(all_mistakes),
        cmocka_unit_test(comments_behind_values),
        cmocka_unit_test(wrong_values_and_lines),
        cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(no_line_is_cut),
        cmocka_unit_test(too_many_sections),
        cmocka_unit_test(refusals_of_the_library_get_their_line),
        cmocka_unit_test(only_what_can_change_may_change),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(example_is_the_defaults),
        cmocka_unit_test(nearest_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
