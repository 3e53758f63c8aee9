/* SPDX-License-Identifier: MIT */
/*
 * riptided's options and keys. Each sets a field of the library's configuration, which has the
 * defaults and checks the values; a test holds the defaults named here against them.
 */
#include "settings.h"

#include "file.h"
#include "prefixes.h"
#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The default; the file need not exist. */
static const char default_path[] = "/etc/riptide/riptided.conf";

/* No configuration will ever be this large. */
enum { MAX_BYTES = 4 << 20 };

#define ROW(section, name, kind, field, help)                                                      \
    {                                                                                              \
        name, &value_##kind, offsetof(struct settings, field), help, section, #field               \
    }

const struct option_row settings_rows[] = {
    ROW("observe", "interval", duration, agent.interval_ns,
        "time between two dumps of the connections (default 1s)"),
    ROW("observe", "scope", prefixes, observer.scope.learn,
        "learn only from connections to these; default: all (may be repeated)"),
    ROW("observe", "exclude", prefixes, observer.scope.exclude,
        "do not learn from connections to these; a wider destination still gives them its window "
        "(may be repeated)"),
    ROW("observe", "local-port", ports, observer.scope.local_ports,
        "learn from connections of this local port (may be repeated)"),
    ROW("observe", "remote-port", ports, observer.scope.remote_ports,
        "learn from connections to this port (may be repeated)"),
    ROW("observe", "max-share", max_share, agent.max_share,
        "share of a core that dumps may take, or off (default 0.05)"),
    ROW("compute", "policy", policy, estimator.policy, "how windows are computed: careful, paper or bdp (default careful)"),
    ROW("compute", "cwnd-min", u32, estimator.cwnd_min, "smallest window, segments (default 10)"),
    ROW("compute", "cwnd-max", u32, estimator.cwnd_max, "largest window, segments (default 100)"),
    ROW("compute", "ttl", duration, estimator.ttl_ns,
        "how long a window is kept without connections (default 90s)"),
    ROW("compute", "history-weight", share, estimator.history_weight,
        "weight of history in paper's moving average, 0 to below 1 (default 0.5)"),
    ROW("compute", "prefix-len4", u8, estimator.prefix_len4,
        "prefix length of an IPv4 destination (default 32)"),
    ROW("compute", "prefix-len6", u8, estimator.prefix_len6,
        "prefix length of an IPv6 destination (default 128)"),
    ROW("compute", "max-destinations", u32, estimator.max_destinations,
        "greatest number of destinations (default 16384)"),
    ROW("compute", "state", path, state,
        "file from which the state is loaded, and to which it is saved; none: no file"),
    ROW("apply", "apply", backend, applier.backend,
          "how to give windows; auto: by program and routes, or by what works of both (default auto)"),
    ROW("apply", "cgroup", directory, applier.cgroup,
          "cgroup whose connections get windows; else /sys/fs/cgroup, the whole host"),
    ROW("apply", "pacing", auto, applier.pacing,
        "whether the program spreads first flights over a part of the round trip (default auto)"),
    ROW("apply", "holdout-percent", percent, applier.holdout_percent,
        "percent of connections that keep the kernel's own window, for `riptide verdict`; needs "
        "the program (default 5)"),
    ROW("apply", "table", u32, applier.table, "routing table for our routes (default 7230)"),
    ROW("apply", "control", socket, control, "socket for `riptide`; none: no socket (default /run/riptide/control)"),
    ROW("apply", "control-group", group, control_group,
          "group whose members may make changes by the socket, as root may"),
    ROW("metrics", "metrics", path, metrics,
        "write Prometheus metrics to this file (textfile collector)"),
    ROW("log", "log-level", level, log_level, "error, warning, info, debug (default info)"),
    ROW(NULL, "config", path, config, "read this file and not /etc/riptide/riptided.conf"),
    ROW(NULL, "check", flag, check, "check file and options, and exit"),
    ROW(NULL, "dry-run", flag, applier.dry_run,
        "print the changes instead of making them; needs no privilege"),
    ROW(NULL, "once", flag, once, "one round, then exit and leave the routes in place"),
    ROW(NULL, "flush", flag, flush,
        "remove rules and routes of a riptided with these numbers, and exit"),
    ROW(NULL, "help", flag, help, "print this help; also -h"),
    ROW(NULL, "version", flag, version, "print the version"),
    { .name = NULL },
};

#define OVERRIDE(name, kind, field, help)                                                          \
    {                                                                                              \
        name, &value_##kind, offsetof(struct riptide_hint, field), help, PREFIX_SECTION, #field    \
    }

const struct option_row override_rows[] = {
    OVERRIDE("cwnd-min", u32, cwnd_min, "its smallest window, segments"),
    OVERRIDE("cwnd-max", u32, cwnd_max, "its largest window, segments; may exceed the general one"),
    OVERRIDE("off", flag, off, "give it no window"),
    { .name = NULL },
};

#define N_ROWS(rows) (sizeof(rows) / sizeof((rows)[0]))

_Static_assert(N_ROWS(settings_rows) <= OPTIONS_MAX_ROWS, "see options.h");

/* The length of the longest prefix around a host; -1: there is none. */
static int longest_around(const struct riptide_prefix *prefixes, size_t n,
                          const struct riptide_prefix *host)
{
    int longest = -1;

    for (size_t i = 0; i < n; i++) {
        if (prefix_holds(&prefixes[i], host) && prefixes[i].len > longest)
            longest = prefixes[i].len;
    }
    return longest;
}

bool settings_have_peer(const struct settings *settings, const struct riptide_prefix *peer)
{
    const struct riptide_scope *scope = &settings->observer.scope;
    struct riptide_prefix host = *peer;
    int exclude;

    host.len = prefix_host_len(host.family);
    exclude = longest_around(scope->exclude, scope->n_exclude, &host);
    if (scope->n_learn == 0)
        return exclude < 0;
    return longest_around(scope->learn, scope->n_learn, &host) > exclude;
}

struct riptide_prefix settings_group(const struct settings *settings,
                                     const struct riptide_prefix *peer)
{
    const struct riptide_estimator_config *config = &settings->estimator;
    struct riptide_prefix host = *peer;

    host.len = prefix_host_len(host.family);
    return prefix_cut(&host, peer->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
}

/* For hosts; a program that embeds the library sets it itself. */
enum { HOLDOUT_PERCENT = 5 };

void settings_init(struct settings *settings)
{
    *settings = (struct settings){
        .log_level = LOG_LEVEL_INFO,
        .control = CONTROL_PATH,
    };
    riptide_agent_config_init(&settings->agent, sizeof(settings->agent));
    riptide_observer_config_init(&settings->observer, sizeof(settings->observer));
    riptide_estimator_config_init(&settings->estimator, sizeof(settings->estimator));
    riptide_applier_config_init(&settings->applier, sizeof(settings->applier));
    settings->applier.holdout_percent = HOLDOUT_PERCENT;
}

void settings_link(struct settings *settings)
{
    settings->agent.observer = &settings->observer;
    settings->agent.estimator = &settings->estimator;
    settings->agent.applier = &settings->applier;
    if (settings->state && strcmp(settings->state, "none"))
        settings->agent.state = settings->state;
    /* The default has no effect by routes alone, where another value is refused. */
    if (settings->applier.backend == RIPTIDE_ROUTES &&
        settings->applier.holdout_percent == HOLDOUT_PERCENT)
        settings->applier.holdout_percent = 0;
    settings->applier.max_windows = settings->estimator.max_destinations;
}

void settings_deinit(struct settings *settings)
{
    for (const struct option_row *row = settings_rows; row->name; row++)
        value_clear(row->kind, (char *)settings + row->offset);
    free(settings->overrides);
    free(settings->text);
    free(settings->state_of_unit);
}

int settings_parse(struct settings *settings, int argc, char **argv, struct riptide_error *error)
{
    int n_operands = options_parse(settings_rows, settings, argc, argv, error);

    if (n_operands < 0)
        return n_operands;
    if (n_operands > 0) {
        options_say(error, "%s: unexpected operand; only options are allowed (--help)", argv[0]);
        return -EINVAL;
    }
    settings_link(settings);
    return 0;
}

int settings_add_override(struct settings *settings, const struct riptide_prefix *dst)
{
    struct riptide_hint *overrides;
    size_t n = settings->n_overrides;

    for (size_t i = 0; i < n; i++) {
        if (prefix_equals(&settings->overrides[i].dst, dst))
            return -EEXIST;
    }
    if (n >= RIPTIDE_MAX_HINTS)
        return -E2BIG;
    overrides = reallocarray(settings->overrides, n + 1, sizeof(*overrides));
    if (!overrides)
        return -ENOMEM;
    settings->overrides = overrides;
    overrides[n] = (struct riptide_hint){ .dst = *dst };
    settings->n_overrides++;
    return 0;
}

/* Without the stage: the library has some fields of settings in another one, or in none. */
static const char *skip_stage(const char *field)
{
    const char *dot = strrchr(field, '.');

    return dot ? dot + 1 : field;
}

/* The row of a field, which may be an element of a list. */
static const struct option_row *find_row(const struct option_row *rows, const char *field)
{
    const char *name = skip_stage(field);
    size_t len = strcspn(name, "[");

    for (; rows->name; rows++) {
        const char *own = skip_stage(rows->field);

        if (rows->section && strlen(own) == len && !strncmp(own, name, len))
            return rows;
    }
    return NULL;
}

void settings_explain_refusal(const struct settings *settings, struct riptide_error *error)
{
    const struct riptide_error given = *error;
    const char *field = given.field ? given.field : "";
    bool is_of_hint = strncmp(field, "hint.", strlen("hint.")) == 0;
    const struct option_row *row = find_row(is_of_hint ? override_rows : settings_rows, field);
    /* The text after the field's name, which contains no blanks or colons. */
    const char *text = given.text + strcspn(given.text, ": ");
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    if (!row)
        return;
    if (is_of_hint && (size_t)given.index < settings->n_overrides) {
        riptide_prefix_format(&settings->overrides[given.index].dst, dst);
        options_say(error, "[" PREFIX_SECTION " %s] %s%s", dst, row->name, text);
    } else {
        options_say(error, "%s%s", row->name, text);
    }
}

/* The defaults, and the paths of a service manager. */
static int begin(struct settings *settings)
{
    const char *directories = getenv("STATE_DIRECTORY");

    settings_init(settings);
    if (!directories || !*directories)
        return 0;
    /* Of several, the first. */
    if (asprintf(&settings->state_of_unit, "%.*s/state", (int)strcspn(directories, ":"),
                 directories) < 0) {
        settings->state_of_unit = NULL;
        return -ENOMEM;
    }
    settings->state = settings->state_of_unit;
    return 0;
}

/* The file of that path, or for NULL the default one, if it exists. */
static int read_file(struct settings *settings, const char *path)
{
    const char *name = path ? path : default_path;
    struct riptide_error error = { .text = "" };
    char *bytes = NULL;
    size_t n;
    int r = file_load(name, MAX_BYTES, &bytes, &n, &error);

    /* A missing file is an empty one, unless an option names it. */
    if ((r == -ENOENT || r == -ENOTDIR) && !path)
        return 0;
    if (r < 0) {
        settings->mistake = error;
        return r;
    }
    r = config_parse(settings, name, bytes, n);
    free(bytes);
    return r;
}

/* For --flush, which needs no other value. Making an applier checks it and changes nothing. */
static void mend_table(struct settings *settings)
{
    struct riptide_applier *applier = NULL;
    struct riptide_applier_config numbers;
    struct riptide_error error;

    riptide_applier_config_init(&numbers, sizeof(numbers));
    numbers.backend = RIPTIDE_ROUTES;
    numbers.table = settings->applier.table;
    if (riptide_applier_new(&applier, &numbers, &error) == -EINVAL) {
        settings_explain_refusal(settings, &error);
        if (!settings->mistake.text[0])
            options_say(&settings->mistake, "%s: %s", settings->file, error.text);
        riptide_applier_config_init(&numbers, sizeof(numbers));
        settings->applier.table = numbers.table;
    }
    riptide_applier_free(applier);
}

int settings_load(struct settings *settings, int argc, char **argv, struct riptide_error *error)
{
    const char *path;
    bool is_flush;
    int r;

    /* Once to find the file, and again over its values. */
    settings_init(settings);
    r = settings_parse(settings, argc, argv, error);
    if (r < 0 || settings->help || settings->version)
        return r;
    path = settings->config;
    is_flush = settings->flush && !settings->check;
    settings_deinit(settings);
    if (begin(settings) < 0) {
        options_say(error, "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    r = read_file(settings, path);
    if (is_flush) {
        mend_table(settings);
    } else if (r < 0) {
        *error = settings->mistake;
        return r;
    }
    return settings_parse(settings, argc, argv, error);
}
