/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "log.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Errors begin with it. */
static char prefix[32] = "riptide: ";

void command_print_json(json_t *document)
{
    /* In one piece: jansson would write each token. log_finish detects a failure. */
    char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;

    json_decref(document);
    if (!text)
        command_fail(EXIT_FAILURE, "%s", strerror(ENOMEM));
    puts(text);
    free(text);
}

void command_begin(const char *name)
{
    snprintf(prefix, sizeof(prefix), "riptide: %s: ", name);
}

void command_fail(int status, const char *format, ...)
{
    const unsigned int indent = (unsigned int)strlen(prefix);
    char text[TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fputs(prefix, stderr);
    text_wrap(stderr, TEXT_COLUMNS, indent, indent, text);
    exit(log_finish(status));
}
