/* SPDX-License-Identifier: MIT */
/*
 * The settings of riptided: those of the library's three stages, and its own. They come from its
 * options and from its file, which has keys for the host, then sections of prefixes with theirs.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "options.h"

#include <riptide/agent.h>

/* The file that is read where no other is named. */
#define SETTINGS_PATH "/etc/riptide/riptided.conf"

/* A number of the applier's configuration that nothing has set yet. */
#define SETTINGS_NOT_GIVEN UINT32_MAX

struct settings {
    struct riptide_agent_config agent; /* points to the three below */
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_applier_config applier;
    struct riptide_hint overrides[RIPTIDE_MAX_HINTS]; /* one for each [prefix ...] section */
    size_t n_overrides;
    const char *state;         /* file; NULL or "none": none */
    const char *control;       /* path of the socket, or "none" */
    const char *control_group; /* name or number; NULL: only root */
    const char *metrics;       /* file; NULL: none */
    int log_level;
    const char *config; /* the file, as given; NULL: the default one */
    bool check;
    bool once;
    bool flush;
    bool help;
    bool version;

    uint64_t given;          /* options of the command line, a bit for each row */
    uint64_t of_file;        /* keys of the file, likewise */
    const char *file;        /* the file that was read; NULL: none */
    char *text;              /* of it, to which values point */
    char state_of_unit[256]; /* the default of `state` with a service manager */
};

/* The keys, followed by options that are none, into struct settings. */
extern const struct option_row settings_rows[];

/* The keys of a [prefix ...] section, into struct riptide_hint. */
extern const struct option_row override_rows[];

/*
 * Fills `settings`, which must not move then; free it with settings_deinit in any case. With
 * --help, --version or --flush no file is read. Errors, each with a line: -EINVAL (a mistake in
 * options or file), those of open(2) and read(2).
 */
int load_settings(struct settings *settings, int argc, char **argv, struct riptide_error *error);

void settings_deinit(struct settings *settings);

/* Puts file and key in place of the library's field: "FILE: cwnd-min" for "estimator.cwnd_min". */
void settings_explain_refusal(const struct settings *settings, struct riptide_error *error);

/* The parts of load_settings that are pure. Sets the library's defaults. */
void settings_init(struct settings *settings);

/* Reads options over the present values. Errors: -EINVAL, with a line. */
int settings_parse(struct settings *settings, int argc, char **argv, struct riptide_error *error);

/*
 * Reads the lines of the file `name` over the present values, which point into them.
 * Errors: -EINVAL, with a line that names the first mistake.
 */
int config_parse(struct settings *settings, const char *name, char *lines,
                 struct riptide_error *error);

#endif
