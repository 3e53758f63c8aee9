/* SPDX-License-Identifier: MIT */
/*
 * The kinds of values that options take: how each is read and written, and what it may be.
 * Pure, and of no option in particular: which options there are is for the programs' tables.
 */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <riptide/apply.h>
#include <riptide/compute.h>
#include <riptide/observe.h>
#include <stdio.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* For options that may be given many times: as the library has an array and its number. */
struct prefix_list {
    struct riptide_prefix *items;
    size_t n;
};

struct port_list {
    struct riptide_port_range *items;
    size_t n;
};

struct value_kind {
    const char *argument; /* its place in --help; NULL: the option takes none */
    const char *expected; /* ends the sentence "--option text: ..." */
    /* 0, -EINVAL or -ENOMEM; *target keeps its value unless 0. A flag may be read with text NULL.
     */
    int (*parse)(void *target, const char *text);
    /* As parse would read it; nothing for a value that is not set. */
    void (*print)(FILE *out, const void *target);
    const char *(*name)(size_t n); /* the n-th of the names that it takes; NULL: no such kind */
    void (*clear)(void *target);   /* empties a list, to which parse appends; NULL: no list */
};

/* Each kind with the type of its target. */
extern const struct value_kind value_flag;      /* bool; read with text: yes or no */
extern const struct value_kind value_auto_flag; /* int8_t; -1: auto; else as a flag */
extern const struct value_kind value_duration;  /* uint64_t, ns */
extern const struct value_kind value_us;        /* a short duration: uint32_t, us */
extern const struct value_kind value_weight;    /* double; "0.8" or "80%" */
extern const struct value_kind value_price;     /* double */
extern const struct value_kind value_max_share; /* double; a share, or "on" (the default), "off" */
extern const struct value_kind value_u32;       /* uint32_t */
extern const struct value_kind value_percent;   /* uint32_t */
extern const struct value_kind value_pacing;    /* uint32_t, percent, or RIPTIDE_AT_ONCE */
extern const struct value_kind value_u8;        /* uint8_t */
extern const struct value_kind value_mark;      /* uint32_t, written in hexadecimal */
extern const struct value_kind value_policy;    /* const struct riptide_policy * */
extern const struct value_kind value_prefixes;  /* struct prefix_list, appended to */
extern const struct value_kind value_ports;     /* struct port_list, appended to */
extern const struct value_kind value_name;      /* const char *, the argument itself */
extern const struct value_kind value_path;      /* const char *, the argument itself */
extern const struct value_kind value_directory; /* const char *, the argument itself */
extern const struct value_kind value_address;   /* const char *, the argument itself */
extern const struct value_kind value_group;     /* const char *, the argument itself */
extern const struct value_kind value_user;      /* const char *, the argument itself */
extern const struct value_kind value_backend;   /* uint32_t, enum riptide_backend */
extern const struct value_kind value_receive;   /* uint32_t, enum riptide_receive_window */
extern const struct value_kind value_level;     /* enum log_level */

/*
 * The digits that text begins with, and where they end; no sign or blank is taken for one. Errors:
 * -EINVAL.
 */
int value_parse_digits(const char *text, int base, char **endp, uint64_t *valuep);

const char *backend_text(enum riptide_backend backend);

const char *log_level_name(enum log_level level);

#endif
