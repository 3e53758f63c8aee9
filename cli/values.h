/* SPDX-License-Identifier: MIT */
/*
 * The kinds of option values: how each is read and printed, and its range. Pure, and independent of
 * options, which the programs' tables define.
 */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <riptide/apply.h>
#include <riptide/compute.h>
#include <riptide/observe.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* For options that may be repeated: an array and its length, as in the library. */
struct prefix_list {
    struct riptide_prefix *items;
    size_t n;
};

struct port_list {
    struct riptide_port_range *items;
    size_t n;
};

/* The written form of a value. */
enum value_form {
    VALUE_NAME,   /* one of the names */
    VALUE_POLICY, /* a policy's */
    VALUE_NUMBER, /* or one of the names */
    VALUE_SHARE,  /* likewise; "0.8" or "80%" */
    VALUE_TEXT,   /* the argument itself */
    VALUE_LIST,   /* words, separated by blanks or commas, and given many times */
};

struct value_name {
    const char *name; /* NULL: the end of the list */
    double value;
};

struct value_kind {
    const char *argument; /* its name in --help; NULL: the option has no value */
    const char *expected; /* end of the sentence "--option text: ..." */
    enum value_form form;
    uint8_t bytes; /* of a number, or of a list's item */
    bool is_hexadecimal;
    uint64_t most;                  /* of a number */
    uint64_t unit_ns;               /* of a time; 0: not a time */
    const struct value_name *names; /* NULL: none; if a value has several, the first is printed */
    int (*parse_item)(void *item, const char *word); /* of a list: 0, or -EINVAL */
    void (*print_item)(FILE *out, const void *item);
};

/* 0, -EINVAL or -ENOMEM; *target keeps its value unless 0. A flag may be read with text NULL. */
int value_parse(const struct value_kind *kind, void *target, const char *text);

/* As value_parse would read it; nothing for an unset value. */
void value_print(const struct value_kind *kind, FILE *out, const void *target);

/* Empties a list, to which value_parse appends; no effect on other kinds. */
void value_clear(const struct value_kind *kind, void *target);

/* Each kind with the type of its target. */
extern const struct value_kind value_flag;      /* bool; read with text: yes or no */
extern const struct value_kind value_duration;  /* uint64_t, ns */
extern const struct value_kind value_weight;    /* double; "0.8" or "80%" */
extern const struct value_kind value_max_share; /* double; a share, or "on" (the default), "off" */
extern const struct value_kind value_u32;       /* uint32_t */
extern const struct value_kind value_percent;   /* uint32_t */
extern const struct value_kind value_u8;        /* uint8_t */
extern const struct value_kind value_mark;      /* uint32_t, written in hexadecimal */
extern const struct value_kind value_policy;    /* const struct riptide_policy * */
extern const struct value_kind value_prefixes;  /* struct prefix_list, appended to */
extern const struct value_kind value_ports;     /* struct port_list, appended to */
extern const struct value_kind value_name;      /* const char *, the argument itself */
extern const struct value_kind value_path;      /* const char *, the argument itself */
extern const struct value_kind value_socket;    /* likewise, with a slash, or none */
extern const struct value_kind value_directory; /* const char *, the argument itself */
extern const struct value_kind value_address;   /* const char *, the argument itself */
extern const struct value_kind value_group;     /* const char *, the argument itself */
extern const struct value_kind value_backend;   /* uint32_t, enum riptide_backend */
extern const struct value_kind value_auto;      /* bool, read as auto or off */
extern const struct value_kind value_level;     /* enum log_level */

const char *log_level_name(enum log_level level);

#endif
