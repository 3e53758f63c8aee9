/* SPDX-License-Identifier: MIT */
/* The rights of the process. */
#ifndef CLI_PRIVILEGES_H
#define CLI_PRIVILEGES_H

#include <riptide/apply.h>

/*
 * Keeps the capabilities that windows by this backend need, where they are present; for a dry run
 * none. None can be gained again. Before that, open all files that need root. Errors, each with a
 * line: those of prctl(2), capget(2) and capset(2).
 */
int privileges_drop(bool is_dry, enum riptide_backend backend, struct riptide_error *error);

/* Whether the process has CAP_NET_ADMIN, without which it cannot change any route or rule. */
bool privileges_has_net_admin(void);

#endif
