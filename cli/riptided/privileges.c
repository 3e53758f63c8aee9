/* SPDX-License-Identifier: MIT */
#include "privileges.h"

#include "text.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NET_ADMIN (UINT64_C(1) << CAP_NET_ADMIN)

/* Kernels before 5.19 require it for each window. */
#define BPF (UINT64_C(1) << CAP_BPF)

/*
 * Two system calls suffice, without libcap. `data` must be 0, for valgrind, which does not see that
 * the kernel fills it.
 */
static int read_capabilities(struct __user_cap_header_struct *header,
                             struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3])
{
    *header = (struct __user_cap_header_struct){ .version = _LINUX_CAPABILITY_VERSION_3 };
    return (int)syscall(SYS_capget, header, data);
}

bool privileges_has_net_admin(void)
{
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

    return read_capabilities(&header, data) == 0 && (data[0].effective & NET_ADMIN);
}

int privileges_drop(bool is_dry, enum riptide_backend backend, struct riptide_error *error)
{
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
    const uint64_t kept =
        riptide_backend_traits(backend) & RIPTIDE_NEEDS_BPF ? NET_ADMIN | BPF : NET_ADMIN;
    bool has_more = false;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || read_capabilities(&header, data) < 0)
        return refuse(error, -errno, "cannot drop privileges: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        const uint32_t half = is_dry ? 0 : data[i].permitted & (uint32_t)(kept >> 32 * i);

        has_more |= data[i].permitted != half;
        data[i] = (struct __user_cap_data_struct){ .permitted = half, .effective = half };
    }
    /* A service manager that granted no more may also forbid capset(2). */
    if (has_more && syscall(SYS_capset, &header, data) < 0)
        return refuse(error, -errno, "cannot drop capabilities: %s", strerror(errno));
    return 0;
}
