/* SPDX-License-Identifier: MIT */
/* Without libcap: two system calls suffice. */
#include "daemon.h"
#include "text.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NET_ADMIN (UINT64_C(1) << CAP_NET_ADMIN)
/* Kernels before 5.19 require it for each window. Not in headers before 5.8. */
#define BPF (UINT64_C(1) << 39)

int privileges_drop(bool is_dry, enum riptide_backend backend, struct riptide_error *error)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    /* Initialised for valgrind, which does not see that the kernel fills both. */
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
    uint64_t kept = backend == RIPTIDE_ROUTES ? NET_ADMIN : NET_ADMIN | BPF, permitted;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capget, &header, data) < 0)
        return refuse(error, -errno, "cannot drop privileges: %s", strerror(errno));
    permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    kept &= is_dry ? 0 : permitted;
    /* A service manager that granted no more may also forbid capset(2). */
    if (permitted == kept)
        return 0;
    for (int i = 0; i < 2; i++) {
        const uint32_t half = (uint32_t)(kept >> 32 * i);

        data[i] = (struct __user_cap_data_struct){ .permitted = half, .effective = half };
    }
    if (syscall(SYS_capset, &header, data) < 0)
        return refuse(error, -errno, "cannot drop capabilities: %s", strerror(errno));
    return 0;
}
