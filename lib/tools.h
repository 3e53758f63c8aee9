/* SPDX-License-Identifier: MIT */
/*
 * Functions of the library for this project's own programs and tests, which link it statically;
 * they are not exported.
 */
#ifndef RIPTIDE_LIB_TOOLS_H
#define RIPTIDE_LIB_TOOLS_H

#include "apply/routes/rule.h"
#include "internal.h"
#include "prefix.h"

#include <riptide/agent.h>
#include <stdio.h>

/*
 * Writes a file whole or not at all: as PATH.tmp, with that mode whatever the umask, then renames
 * it. One process writes it. Replaces regular files only: -EINVAL for others, -EISDIR for a
 * directory. With `is_synced` this holds through a power failure, and the call blocks for as long
 * as the disk takes; without it a power failure may leave neither file. Errors, each with a line
 * that names the file: that of `print`, those of open(2), write(2), fsync(2) and rename(2).
 */
int riptide_file_write(const char *path, unsigned int mode, bool is_synced, file_print *print,
                       const void *from, struct riptide_error *error);

/*
 * Reads a regular file of at most max_bytes: the bytes and a terminating zero, which the caller
 * frees. Errors, each with a line: -EINVAL (not a regular file, or larger), -ENOMEM, those of
 * open(2) and read(2).
 */
int riptide_file_read(const char *path, size_t max_bytes, void **bytesp, size_t *sizep,
                      struct riptide_error *error);

/* Buckets of windows in riptide_program_counts: the largest window of each, 0 for the last. */
extern const uint64_t riptide_window_bounds[RIPTIDE_WINDOW_BUCKETS];

/*
 * The process that holds the thread's namespace (lib/apply/applier.h); 0: not visible from here.
 * Outcomes: RIPTIDE_E_UNKNOWN: none. Errors: of open(2); -EIO.
 */
int riptide_applier_get_holder(int *pidp);

/* For its hints and groups. */
const struct riptide_estimator *riptide_agent_get_estimator(const struct riptide_agent *agent);

struct experiment;

/* Outcomes of connections under an agent's windows, and what they decide. */
const struct experiment *riptide_agent_get_experiment(const struct riptide_agent *agent);

/* The n-th built-in one, or NULL after the last. */
const struct riptide_policy *riptide_policy_get(size_t n);

/* The destination of this peer: a prefix that riptide_estimator_find takes. */
void riptide_estimator_group(const struct riptide_estimator *estimator,
                             const struct riptide_prefix *peer, struct riptide_prefix *dst);

/*
 * riptide_estimator_add for up to RIPTIDE_POPPED_SAMPLES samples; outcomes[i] is the one of
 * samples[i], cwnds[i] the window of its destination; 0: none. Much faster for many destinations:
 * it fetches the memory of several at once. Errors: -ENOMEM, with a part of them added.
 */
int riptide_estimator_add_all(struct riptide_estimator *estimator,
                              const struct riptide_sample *const *samples, size_t n, int *outcomes,
                              uint16_t *cwnds);

/*
 * Walks over the hints in force, as riptide_estimator_next over destinations.
 * Outcomes: RIPTIDE_E_DONE after the last.
 */
int riptide_estimator_next_hint(const struct riptide_estimator *estimator, uint32_t *cursor,
                                struct riptide_hint *hint);

#endif
