/*
 * The subcommands of riptide, one file each. riptide.c reads their options into one struct, of
 * which each command offers a part.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"
#include "scope.h"

#include <jansson.h>
#include <riptide/apply.h>

struct command_options {
    struct riptide_router_config router;
    struct scope_options scope;
    bool json;
    bool policy;
    bool watch;
    const char *control; /* path of the socket, or "none" */
    uint32_t hint_cwnd_max;
    double hint_scale;
    uint64_t hint_for_ns;
    bool help;
    const char *root;      /* where configuration files are; NULL: here */
    const char *source;    /* address; NULL: any */
    const char *interface; /* name of a link; NULL: any */
    uint32_t probe_mark;   /* 0: none */
    uint64_t timeout_ns;   /* 0: the default */
    const char *sizes; /* files of model; NULL: what connections have */
    const char *rtts;
    uint32_t mss_bytes;
    uint32_t setup_rounds;
    char **operands;
    int n_operands;
};

#define COMMAND_ROW(name, kind, field, help)                                                       \
    {                                                                                              \
        name, &value_##kind, offsetof(struct command_options, field), help, NULL, false            \
    }

/* One subcommand. */
struct command {
    const char *name;
    const char *operands; /* NULL: takes none */
    const struct option_row *rows;
    int (*run)(const struct command_options *options);
    const char *help;
};

/* The n-th one, or NULL behind the last. */
const struct command *command_get(size_t n);

/* What the options are where they are not given. */
struct command_options command_defaults(void);

/* All of riptide but for the process. Returns the exit status. */
int command_main(int argc, char **argv);

/* Prints a document and frees it. Errors: -ENOMEM where it could not be made (NULL). */
int command_print_json(json_t *document);

/* Each returns the exit status. */
int observe_run(const struct command_options *options);
int show_run(const struct command_options *options);
int flush_run(const struct command_options *options);
int explain_run(const struct command_options *options);
int status_run(const struct command_options *options);
int hint_run(const struct command_options *options);
int model_run(const struct command_options *options);
int metrics_run(const struct command_options *options);
int pause_run(const struct command_options *options);
int resume_run(const struct command_options *options);
int save_run(const struct command_options *options);
int load_run(const struct command_options *options);
int merge_run(const struct command_options *options);
int doctor_run(const struct command_options *options);
int verify_run(const struct command_options *options);

extern const struct option_row observe_rows[];
extern const struct option_row show_rows[];
extern const struct option_row flush_rows[];
extern const struct option_row explain_rows[];
extern const struct option_row status_rows[];
extern const struct option_row hint_rows[];
extern const struct option_row metrics_rows[];
extern const struct option_row model_rows[];
extern const struct option_row pause_rows[];
extern const struct option_row keep_rows[];
extern const struct option_row doctor_rows[];
extern const struct option_row verify_rows[];

#endif
