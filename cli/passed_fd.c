/* SPDX-License-Identifier: MIT */
/*
 * One fd, never more. See passed_fd.h.
 */
#include "passed_fd.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union ancillary {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

ssize_t passed_fd_send(int socket, const void *bytes, size_t n, int fd, int flags)
{
    union ancillary ancillary = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
                                              .cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS } };
    struct iovec rest = { (void *)bytes, n };
    struct msghdr message = { .msg_iov = &rest, .msg_iovlen = 1 };

    if (fd >= 0) {
        memcpy(CMSG_DATA(&ancillary.header), &fd, sizeof(fd));
        message.msg_control = &ancillary;
        message.msg_controllen = sizeof(ancillary);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | flags);
}

ssize_t passed_fd_receive(int socket, void *bytes, size_t size, int *fdp, int flags)
{
    union ancillary ancillary;
    struct iovec room = { bytes, size };
    struct msghdr message = { .msg_iov = &room, .msg_iovlen = 1 };
    const struct cmsghdr *header;
    ssize_t n;

    /* Room for one fd, without the padding, where another would fit: what has none is closed. */
    if (fdp) {
        message.msg_control = &ancillary;
        message.msg_controllen = CMSG_LEN(sizeof(int));
    }
    n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    header = n < 0 || !fdp ? NULL : CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        if (*fdp >= 0)
            close(*fdp);
        memcpy(fdp, CMSG_DATA(header), sizeof(*fdp));
    }
    return n;
}
