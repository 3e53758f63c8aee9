/* SPDX-License-Identifier: MIT */
/* Without libcap: three system calls suffice. Without new privileges execve(2) gains none either. */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NET_ADMIN (UINT64_C(1) << CAP_NET_ADMIN)
/* Kernels before 5.19 require it for each window. Not in headers before 5.8. */
#define BPF (UINT64_C(1) << 39)

static int fail(struct riptide_error *error, const char *action)
{
    int code = errno;

    snprintf(error->text, sizeof(error->text), "cannot drop privileges: %s: %s", action,
             strerror(code));
    return -code;
}

/* Not getpwnam(3): a directory service may be down, and a static program cannot load its module. */
void privileges_find(struct privileges *privileges)
{
    FILE *file = geteuid() == 0 ? fopen("/etc/passwd", "re") : NULL;
    const struct passwd *entry = NULL;

    *privileges = (struct privileges){ .is_other = false };
    if (!file)
        return;
    while ((entry = fgetpwent(file)) && strcmp(entry->pw_name, "riptide"))
        ;
    if (entry)
        *privileges = (struct privileges){ .is_other = entry->pw_uid != 0,
                                           .uid = entry->pw_uid,
                                           .gid = entry->pw_gid };
    fclose(file);
}

/* Kept capabilities survive the change of user. */
static int become(const struct privileges *privileges, struct riptide_error *error)
{
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
        return fail(error, "PR_SET_KEEPCAPS");
    if (setgroups(0, NULL) < 0 ||
        setresgid(privileges->gid, privileges->gid, privileges->gid) < 0 ||
        setresuid(privileges->uid, privileges->uid, privileges->uid) < 0)
        return fail(error, "change of user");
    return 0;
}

/* A service manager that granted no more may also forbid capset(2). */
static int limit_capabilities(uint64_t kept, struct riptide_error *error)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    /* Initialised for valgrind, which does not see that the kernel fills both. */
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
    uint64_t permitted;

    if (syscall(SYS_capget, &header, data) < 0)
        return fail(error, "capget");
    permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    kept &= permitted;
    if (permitted == kept)
        return 0;
    for (int i = 0; i < 2; i++) {
        const uint32_t half = (uint32_t)(kept >> 32 * i);

        data[i] = (struct __user_cap_data_struct){ .permitted = half, .effective = half };
    }
    return syscall(SYS_capset, &header, data) < 0 ? fail(error, "capset") : 0;
}

int privileges_drop(const struct privileges *privileges, bool needs_net_admin, bool needs_bpf,
                    struct riptide_error *error)
{
    uint64_t kept = (needs_net_admin ? NET_ADMIN : 0) | (needs_bpf ? BPF : 0);
    int r = 0;

    if (privileges->is_other)
        r = become(privileges, error);
    if (r == 0)
        r = limit_capabilities(kept, error);
    if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        r = fail(error, "PR_SET_NO_NEW_PRIVS");
    return r;
}
