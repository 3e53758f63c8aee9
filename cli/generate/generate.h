/* SPDX-License-Identifier: MIT */
/*
 * What is made of the tables of options and commands when riptide is built.
 */
#ifndef CLI_GENERATE_H
#define CLI_GENERATE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Copies a page of mdoc(7), in which a line "@NAME@" stands for one of the lists that are made of
 * the tables. Returns false at a name that there is none of.
 */
bool generate_manual(FILE *out, FILE *page);

/* Completion of `program` (riptide, riptided) in that shell. */
void generate_bash(FILE *out, const char *program);
void generate_zsh(FILE *out, const char *program);
void generate_fish(FILE *out, const char *program);

#endif
