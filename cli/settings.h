/* SPDX-License-Identifier: MIT */
/* The settings of riptided: those of the library's three stages, and its own. Pure. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "options.h"

#include <riptide/agent.h>

/* Sections of the file for one prefix begin with this word. */
#define PREFIX_SECTION "prefix"

struct settings {
    struct riptide_agent_config agent; /* points to the three below */
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_applier_config applier;
    struct riptide_hint *overrides;
    size_t n_overrides;
    const char *state;         /* file, or "none"; NULL: none */
    char *state_of_unit;       /* default of `state`; NULL: none */
    const char *control;       /* path of the socket, or "none" */
    const char *control_group; /* name or number; NULL: only root */
    const char *metrics;       /* file; NULL: none */
    enum log_level log_level;
    const char *config; /* the file, as given; NULL: the default one */
    bool check;
    bool once;
    bool flush;
    bool help;
    bool version;

    const char *file;              /* the file that was read; NULL: none */
    struct riptide_error mistake;  /* the first one in it; empty: none */
    char *text;                    /* the text to which values of the file point */
};

/* The options and keys, into struct settings. */
extern const struct option_row settings_rows[];

/* The keys of a [prefix ...] section, into struct riptide_hint. */
extern const struct option_row override_rows[];

/* Whether the scope contains an address: ports are properties of a connection. */
bool settings_have_peer(const struct settings *settings, const struct riptide_prefix *peer);

/* The destination of a peer; of a wider prefix, that of its first address. */
struct riptide_prefix settings_group(const struct settings *settings,
                                     const struct riptide_prefix *peer);

/* The library's defaults. After moving the struct, call settings_link. */
void settings_init(struct settings *settings);

void settings_deinit(struct settings *settings);

/* Updates the library's pointers after lists have grown or the struct has moved. */
void settings_link(struct settings *settings);

/* Reads options over the present values. Errors: -EINVAL, -ENOMEM, each with a line. */
int settings_parse(struct settings *settings, int argc, char **argv, struct riptide_error *error);

/* Another override. Errors: -EEXIST, -ENOMEM, -E2BIG (RIPTIDE_MAX_HINTS). */
int settings_add_override(struct settings *settings, const struct riptide_prefix *dst);

/* Puts the key in place of the library's field: "estimator.cwnd_min: ..." becomes "cwnd-min: ...". */
void settings_explain_refusal(const struct settings *settings, struct riptide_error *error);

/*
 * Reads all of the file `name` over what is in `settings`. Errors: -EINVAL, -ENOMEM. A wrong line
 * is skipped, and the first mistake is settings->mistake, "FILE:LINE: ...".
 */
int config_parse(struct settings *settings, const char *name, const char *bytes, size_t n);

/*
 * Fills `settings`; free it with settings_deinit in any case. With --help or --version no file is
 * read. With --flush an unreadable file, or one with mistakes, is no error: the readable values
 * count, and settings->mistake has the first. Errors, each with a line: -EINVAL (a mistake in options or file), -ENOMEM, others if the
 * file is unreadable.
 */
int settings_load(struct settings *settings, int argc, char **argv, struct riptide_error *error);

#endif
