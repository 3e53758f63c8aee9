/* SPDX-License-Identifier: MIT */
/*
 * The settings of riptided: those of the library's three stages, and the daemon's own. Pure.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "options.h"

#include <riptide/agent.h>

/* Room for the rows of both tables. */
enum { SETTINGS_MAX_ROWS = 64, OVERRIDE_MAX_ROWS = 8 };

/* The sections of the file that are for one prefix begin with this word. */
#define PREFIX_SECTION "prefix"

/* One [prefix ...] section. */
struct override_lines {
    int section;                 /* line of its first header */
    int keys[OVERRIDE_MAX_ROWS]; /* by row of override_rows; 0: not given */
};

/* What a worker of --all-netns has for its own. */
struct served {
    uint64_t cookie;           /* its namespace's number; 0: this is no worker */
    bool is_home;              /* the namespace is the one that riptided was started in */
    const char *cgroup;        /* of a process in it, seen from --cgroup */
    const uint32_t *n_sharing; /* so many workers share --max-share */
};

struct settings {
    struct riptide_agent_config agent; /* points to the three below */
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_router_config router;
    struct riptide_hint *overrides;
    struct override_lines *override_lines; /* as many */
    size_t n_overrides;
    const char *state;         /* file, or "none"; NULL: none */
    char *state_of_unit;       /* what `state` is until somebody says more; NULL: nothing */
    const char *control;       /* path of the socket, or "none" */
    const char *control_group; /* name or number; NULL: root alone */
    const char *netns;         /* name or path; NULL: where it was started */
    const char *user;          /* to become; NULL: see privileges.h */
    const char *metrics;       /* file; NULL: none */
    bool all_netns;
    enum log_level log_level;
    const char *config; /* the file, as asked for; NULL: the usual one */
    bool check;
    bool print_config;
    bool once;
    bool flush;
    bool help;
    bool version;

    /* Where the values come from. */
    int argc;
    char **argv;
    const char *file;              /* that was read; NULL: none */
    struct riptide_error mistake;  /* the first in it; no text: none */
    char *text;                    /* what values of the file point to */
    int lines[SETTINGS_MAX_ROWS];  /* of the file, by row; 0: not in it */
    bool given[SETTINGS_MAX_ROWS]; /* on the command line, by row */

    struct served served;
    char *served_paths[3]; /* what its paths point to */
};

/* The options and keys, into struct settings. */
extern const struct option_row settings_rows[];

/* The keys of a [prefix ...] section, into struct riptide_hint. */
extern const struct option_row override_rows[];

/* Whether an address is in the scope: ports are those of a connection. */
bool settings_have_peer(const struct settings *settings, const struct riptide_prefix *peer);

/* The library's defaults. Whoever moves the struct afterwards calls settings_link. */
void settings_init(struct settings *settings);

void settings_deinit(struct settings *settings);

/* Where lists have grown or the struct has moved, the library's configuration follows. */
void settings_link(struct settings *settings);

/* Sockets and files get names of their own, but for the state at home. Errors: -ENOMEM. */
int settings_serve(struct settings *settings, const struct served *served);

/* What dumps of this process may take: --max-share, or its part of it. */
double settings_get_share(const struct settings *settings);

/* Puts all of `from`, which is none afterwards, in the place of `to`. */
void settings_move(struct settings *to, struct settings *from);

/* Reads options over what is there. Errors: -EINVAL, -ENOMEM, each with a line. */
int settings_parse(struct settings *settings, int argc, char **argv, struct riptide_error *error);

/* The numbers that say what is ours, and nothing else that a file may have wrong. */
struct riptide_router_config settings_numbers(const struct settings *settings);

/*
 * The override of that prefix, made where there is none; `line` is the section's. Errors: -ENOMEM,
 * -E2BIG (RIPTIDE_MAX_HINTS).
 */
int settings_add_override(struct settings *settings, const struct riptide_prefix *dst, int line,
                          size_t *ip);

/* "FILE:LINE", "command line" or "default". */
void settings_describe_origin(const struct settings *settings, const struct option_row *row,
                              FILE *out);

/*
 * The library names its fields; here they are options and keys: "estimator.cwnd_min: ..." becomes
 * "FILE:LINE: cwnd-min: ..." or "--cwnd-min: ...".
 */
void settings_explain_refusal(const struct settings *settings, struct riptide_error *error);

/*
 * Whether a program that runs with `from` can go on with `to`; prints what differs, in one line:
 * "ttl 90s -> 2min". Errors: -EBUSY, with a line that names what cannot change.
 */
int settings_compare(const struct settings *from, const struct settings *to, FILE *out,
                     struct riptide_error *error);

/*
 * Reads all of the file `name` over what is in `settings`. Errors: -EINVAL, -ENOMEM. A mistake
 * costs its line alone: the settings have the rest, and the first is settings->mistake,
 * "FILE:LINE: ...".
 */
int config_parse(struct settings *settings, const char *name, const char *bytes, size_t n);

/* A file that reads back as these settings; before each key, what it is and where it comes from. */
void config_print(FILE *out, const struct settings *settings);

/*
 * Fills `settings`, which settings_deinit is to free in any case. With --help or --version no file
 * is read. With --flush a file that has mistakes or cannot be read is no error: the settings have
 * what could be read. Errors, each with a line: -EINVAL (a mistake in options or file), -ENOMEM,
 * others where the file cannot be read.
 */
int settings_load(struct settings *settings, int argc, char **argv, struct riptide_error *error);

/*
 * Reads the file over what is in `settings`: the one of that path, or where that is NULL the usual
 * one, if it is there. Errors, each with its line in settings->mistake: as settings_load. The
 * settings have what could be read all the same.
 */
int settings_read_file(struct settings *settings, const char *path);

/*
 * For who goes on with the rest: where nobody can have the file's numbers (settings_numbers), they
 * become those without a file, and that is settings->mistake, unless there is one.
 */
void settings_mend_numbers(struct settings *settings);

#endif
