/* SPDX-License-Identifier: MIT */
/*
 * riptide save, load and merge: what a daemon knows as a file, to take elsewhere or to go back to.
 * The command opens the file, with its own rights; to and from the daemon goes a memory file.
 */
#include "ask.h"
#include "lib/tools.h"
#include "log.h"
#include "memory_file.h"

#include <riptide/agent.h>
#include <stdlib.h>
#include <unistd.h>

const struct option_row keep_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_CONTROL,
    COMMAND_END,
};

static int check_operand(const struct command_options *options)
{
    if (options->n_operands == 1 && options->operands[0][0])
        return EXIT_SUCCESS;
    return command_refuse(options, "one FILE is needed");
}

static int fail(const struct command_options *options, const struct riptide_error *error, int r)
{
    log_answer("%s: %s", options->command, log_error_text(error, r));
    return EXIT_FAILURE;
}

/* What the daemon has given, into the file. */
static int keep(const struct command_options *options, int fd)
{
    const char *path = options->operands[0];
    struct riptide_error error = { .text = "" };
    void *bytes;
    size_t n;
    int r = memory_file_take(fd, &bytes, &n);

    if (r < 0)
        return fail(options, &error, r);
    r = riptide_file_write(path, bytes, n, RIPTIDE_STATE_MODE, true, &error);
    free(bytes);
    if (r < 0)
        return fail(options, &error, r);
    if (options->json)
        command_print_json(json_pack("{s:s, s:I}", "file", path, "bytes", (json_int_t)n));
    else
        printf("%s: %zu bytes\n", path, n);
    return EXIT_SUCCESS;
}

int save_run(const struct command_options *options)
{
    struct client_exchange exchange = { .fd_sent = -1, .fd_received = -1 };
    int status = check_operand(options);

    if (status == EXIT_SUCCESS)
        status = ask_with(&exchange, options, json_pack("{s:s}", "request", "save"), NULL,
                          NULL);
    if (status == EXIT_SUCCESS)
        status = keep(options, exchange.fd_received);
    if (exchange.fd_received >= 0)
        close(exchange.fd_received);
    return status;
}

static void print_counts(const struct command_options *options, const json_t *counts)
{
    const char *name, *separator = "";
    json_t *value;

    (void)options;
    json_object_foreach((json_t *)counts, name, value)
    {
        printf("%s%s %" JSON_INTEGER_FORMAT, separator, name, json_integer_value(value));
        separator = ", ";
    }
    putchar('\n');
}

static int send_file(const struct command_options *options)
{
    const char *path = options->operands[0];
    struct client_exchange exchange = { .about = path };
    struct riptide_error error = { .text = "" };
    void *bytes;
    int status;
    size_t n;
    int r = riptide_file_read(path, RIPTIDE_STATE_MAX_BYTES, &bytes, &n, &error);

    if (r < 0)
        return fail(options, &error, r);
    r = memory_file_make(&exchange.fd_sent, bytes, n);
    free(bytes);
    if (r < 0)
        return fail(options, &error, r);
    status =
        ask_with(&exchange, options, json_pack("{s:s}", "request", options->command), NULL,
                 print_counts);
    close(exchange.fd_sent);
    return status;
}

int load_run(const struct command_options *options)
{
    int status = check_operand(options);

    return status == EXIT_SUCCESS ? send_file(options) : status;
}
