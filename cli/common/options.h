/* SPDX-License-Identifier: MIT */
/*
 * One table of options for the parser, the errors and the help of a program, and the kinds of their
 * values. Pure. A value is accepted whole or refused; the library checks ranges.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <riptide/observe.h>
#include <stdio.h>
#include <syslog.h>

/* For options that may be repeated: an array, to be freed, and its length, as in the library. */
struct value_list {
    void *items;
    size_t n;
};

struct value_kind {
    const char *argument; /* its name in --help; NULL: the option has no value, and is "yes" */
    const char *expected; /* end of "--option text: ..."; NULL: "must be" and the row's help */
    int (*parse)(void *target, const char *text); /* 0; -EINVAL, -ENOMEM: *target as before, */
    bool is_list; /* but for lists: words, separated by blanks or commas, which are added */
};

extern const struct value_kind value_flag;     /* bool */
extern const struct value_kind value_switch;   /* bool, with a value also as an option */
extern const struct value_kind value_duration; /* uint64_t, ns */
extern const struct value_kind value_share;    /* double */
extern const struct value_kind value_u8;       /* uint8_t */
extern const struct value_kind value_u32;      /* uint32_t */
extern const struct value_kind value_policy;   /* const struct riptide_policy * */
extern const struct value_kind value_backend;  /* enum riptide_backend */
extern const struct value_kind value_level;    /* int, LOG_ERR to LOG_DEBUG */
extern const struct value_kind value_path;     /* const char *, the argument itself */
extern const struct value_kind value_group;    /* const char *, the argument itself */
extern const struct value_kind value_prefixes; /* struct value_list of struct riptide_prefix */
extern const struct value_kind value_ports;    /* likewise, of struct riptide_port_range */

/* Of syslog(3): "warning" for LOG_WARNING; NULL: log-level does not have that one. */
const char *log_level_name(int level);

/* One option; with a field, a key of the configuration, too. A table ends with a nameless row. */
struct option_row {
    const char *name;
    const struct value_kind *kind;
    size_t offset;     /* of the value in the target struct */
    const char *help;  /* its default is at the end, in brackets */
    const char *field; /* as errors of the library name it */
};

/* The row of that name, or NULL. */
const struct option_row *options_find(const struct option_row *rows, const char *name);

/* Reads a value; -EINVAL, with a line that names it and the option, after `dashes`. */
int options_set(const struct option_row *row, const char *dashes, void *target, const char *value,
                struct riptide_error *error);

/*
 * Reads arguments into `target`, which has the defaults; sets in `given` a bit for each row that
 * was given. Moves operands to the end of argv, from optind on. -EINVAL, with a line that names
 * option and value.
 */
int options_parse(const struct option_row *rows, void *target, uint64_t *given, int argc,
                  char **argv, struct riptide_error *error);

#endif
