/* SPDX-License-Identifier: MIT */
/*
 * The document of riptide explain (docs/schema/explain.json) in words. Pure.
 */
#ifndef CLI_VERDICT_H
#define CLI_VERDICT_H

#include <jansson.h>
#include <stdio.h>

#define VERDICT_BYTES 400

/* Room for the name of who manages a network namespace. */
#define VERDICT_MANAGER_BYTES 144

/* One sentence: with what connections start there, and where it is ten, why. */
void verdict_of(const json_t *document, char text[VERDICT_BYTES]);

/* Who manages the network namespace where no riptided answers that does; 0: out of sight. */
void verdict_name_manager(int pid, char text[VERDICT_MANAGER_BYTES]);

/* All steps, one a line, the verdict last. */
void verdict_print(const json_t *document, FILE *out);

#endif
