/* SPDX-License-Identifier: MIT */
/*
 * Hands the kernel the filter of system calls. What is in it stands in seccomp/allowed.c.
 */
#include "privileges.h"

#ifdef HAVE_SECCOMP_FILTER

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int seccomp_limit(struct riptide_error *error)
{
    const uint32_t own_pid = (uint32_t)getpid();
    struct sock_filter rows[] = {
#include "seccomp_filter.h"
    };
    const struct sock_fprog filter = { sizeof(rows) / sizeof(rows[0]), rows };
    int r;

    /* Kernels before 4.14 log nothing, and systemd's own filters may know prctl(2) alone. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG, &filter) == 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
        return 0;
    r = -errno;
    snprintf(error->text, sizeof(error->text), "system calls are not filtered: %s", strerror(-r));
    return r;
}

#else

int seccomp_limit(struct riptide_error *error)
{
    (void)error;
    return 0;
}

#endif
