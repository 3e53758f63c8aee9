/* SPDX-License-Identifier: MIT */
/*
 * The system calls that riptided may still make once it runs.
 */
#ifndef CLI_SECCOMP_H
#define CLI_SECCOMP_H

#include <riptide/riptide.h>

/*
 * From now on all but those of seccomp/allowed.c fail with EPERM, and the kernel logs them. Needs
 * PR_SET_NO_NEW_PRIVS. Returns 0, also where riptided was built without; errors of the kernel, each
 * with a line.
 */
int seccomp_limit(struct riptide_error *error);

#endif
