/* SPDX-License-Identifier: MIT */
/*
 * The kinds of option values, and how each is read. Pure, and independent of options, which the
 * programs' tables define. A value is accepted whole or refused; the library checks ranges.
 */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <riptide/observe.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

const char *log_level_name(enum log_level level);

/* For options that may be repeated: an array, to be freed, and its length, as in the library. */
struct prefix_list {
    struct riptide_prefix *items;
    size_t n;
};

struct port_list {
    struct riptide_port_range *items;
    size_t n;
};

struct value_kind {
    const char *argument; /* its name in --help; NULL: the option has no value, and is "yes" */
    const char *expected; /* end of the sentence "--option text: ..." */
    int (*parse)(void *target, const char *text); /* 0; -EINVAL, -ENOMEM: *target as before */
    bool is_list; /* words, separated by blanks or commas, which are added */
};

extern const struct value_kind value_flag;     /* bool */
extern const struct value_kind value_switch;   /* bool, with a value also as an option */
extern const struct value_kind value_duration; /* uint64_t, ns */
extern const struct value_kind value_share;    /* double */
extern const struct value_kind value_u8;       /* uint8_t */
extern const struct value_kind value_u32;      /* uint32_t */
extern const struct value_kind value_policy;   /* const struct riptide_policy * */
extern const struct value_kind value_backend;  /* enum riptide_backend */
extern const struct value_kind value_level;    /* enum log_level */
extern const struct value_kind value_path;     /* const char *, the argument itself */
extern const struct value_kind value_group;    /* const char *, the argument itself */
extern const struct value_kind value_prefixes; /* struct prefix_list */
extern const struct value_kind value_ports;    /* struct port_list */

#endif
