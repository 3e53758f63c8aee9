/* SPDX-License-Identifier: MIT */
/* Lines for people, of at most 80 columns. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <riptide/riptide.h>
#include <stdio.h>

/* Of a line, whose words are not broken; of one of the log; and of a text. */
enum { TEXT_COLUMNS = 80, LOG_COLUMNS = 159, TEXT_BYTES = 512 };

/*
 * On standard output a line "  NAME         text", which continues below its text where it does not
 * fit, between words; nothing if the text is empty. Longer text than TEXT_BYTES is cut.
 */
void text_field(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Likewise a sentence from the first column on, continued at the third. */
#define text_line(...) text_field(NULL, __VA_ARGS__)

/* From now on fields that do not fit into so many lines are left out. Returns how many were. */
unsigned int text_limit_fields(unsigned int n_lines);

/*
 * The rest of a line from column `at` on, continued at column `indent`. Returns its lines; `out`
 * NULL: prints nothing.
 */
unsigned int text_wrap(FILE *out, unsigned int columns, unsigned int at, unsigned int indent,
                       const char *text);

/* Adds to a text of at most `bytes` bytes what of these words has room. */
void text_append(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The size of text_span's text. */
#define TEXT_SPAN_BYTES 32

/* A duration in the largest unit of which it has two: "45 s", "12 min", "3 h", "366 d". */
const char *text_span(char text[TEXT_SPAN_BYTES], double s);

/* The size of text_time's text. */
#define TEXT_TIME_BYTES 32

/*
 * Seconds since 1970 in local time, by a format of strftime(3), whose %z is the offset; "?": no
 * year has that time.
 */
const char *text_time(char text[TEXT_TIME_BYTES], long long seconds, const char *format);

/* Writes an error's line, and cuts one that is longer than its text. Returns the code. */
int refuse(struct riptide_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
