/* SPDX-License-Identifier: MIT */
/*
 * The document of riptide explain (docs/schema/explain.json) in words: templates (render.h) for it.
 */
#ifndef CLI_EXPLAIN_WORDS_H
#define CLI_EXPLAIN_WORDS_H

#define EXPLAIN_BYTES 400

/* Who manages the network namespace where no riptided answers that does. */
#define EXPLAIN_MANAGER                                                                            \
    "[{+holder}[{?holder}process {holder}|a process that this user cannot see] manages this "      \
    "network namespace "                                                                           \
    "(an agent that embeds the library, or a riptided out of reach of --control)"                  \
    "|riptided is not running]"

/* One sentence: with what connections start there, and where it is ten, why. */
extern const char explain_sentence[];

/* The steps to it, one a line. For these it has `is_itself`: what is asked about is a destination. */
extern const char explain_steps[];

#endif
