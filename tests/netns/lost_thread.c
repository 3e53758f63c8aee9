/* SPDX-License-Identifier: MIT */
/*
 * What netns_call says where the thread cannot return: the work gives up the privilege that it
 * takes. lost_thread PATH
 */
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int drop_privileges(void *userdata, struct riptide_error *error)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

    (void)userdata;
    (void)error;
    return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    struct riptide_error error = { .text = "" };
    int r = netns_call(fd, drop_privileges, NULL, &error);

    printf("%s: %s\n", strerror(-r), error.text);
    return r == -ENOTRECOVERABLE ? EXIT_SUCCESS : EXIT_FAILURE;
}
