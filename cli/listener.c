/* SPDX-License-Identifier: MIT */
/* The file of the control socket, and the credentials of its clients. */
#include "control.h"
#include "text.h"

#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define NOBODY ((gid_t)-1)

/* Connections that wait to be accepted; supplementary groups of a client that are looked at. */
enum { BACKLOG = 64, MAX_GROUPS = 1024 };

static int fail(struct riptide_error *error, const char *path, int code)
{
    return refuse(error, -code, "%.160s: %s%s", path, strerror(code),
                  code == EADDRINUSE ? ": another riptided answers there, or it is not a socket"
                                     : "");
}

/*
 * Only from the file: a static program has no other sources, and a daemon must not wait for one.
 * Groups in LDAP can be given by number.
 */
int listener_find_group(const char *name, gid_t *gidp, struct riptide_error *error)
{
    FILE *file = name ? fopen("/etc/group", "re") : NULL;
    struct group *group;
    unsigned long number;
    char *end;

    *gidp = NOBODY;
    while (file && (group = fgetgrent(file))) {
        if (!strcmp(group->gr_name, name))
            *gidp = group->gr_gid;
    }
    if (file)
        fclose(file);
    if (!name || *gidp != NOBODY)
        return 0;
    number = strtoul(name, &end, 10);
    if (*name >= '0' && *name <= '9' && !*end && number < NOBODY) {
        *gidp = (gid_t)number;
        return 0;
    }
    error->field = "control_group";
    return refuse(error, -EINVAL, "control-group: %.64s: no group in /etc/group", name);
}

/* The file of a socket outlives its process. */
static void remove_stale(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat stat;

    if (fd < 0)
        return;
    /* Any other file refuses a connection as well. */
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
        errno == ECONNREFUSED && lstat(address->sun_path, &stat) == 0 && S_ISSOCK(stat.st_mode))
        unlink(address->sun_path);
    close(fd);
}

int listener_open(const char *path, struct riptide_error *error)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char directory[sizeof(address.sun_path)];
    mode_t mask;
    int fd, r = 0;

    if (strlen(path) >= sizeof(address.sun_path))
        return fail(error, path, ENAMETOOLONG);
    memcpy(address.sun_path, path, strlen(path));
    memcpy(directory, address.sun_path, sizeof(directory));
    remove_stale(&address);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail(error, path, errno);
    mask = umask(0022);
    mkdir(dirname(directory), 0755); /* if this fails, bind reports why */
    /* Any user may connect; permission for changes is checked per connection. */
    umask(0111);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
        r = fail(error, path, errno);
    umask(mask);
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

bool listener_may_change(int fd, gid_t group, uid_t *uidp)
{
    gid_t groups[MAX_GROUPS]; /* supplementary ones, as of the time of connecting */
    struct ucred peer;
    socklen_t peer_bytes = sizeof(peer), bytes = sizeof(groups);

    *uidp = (uid_t)-1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) < 0)
        return false;
    *uidp = peer.uid;
    if (peer.uid == 0 || peer.uid == geteuid() || peer.gid == group)
        return true;
    if (group == NOBODY || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
        return false;
    for (size_t i = 0; i < bytes / sizeof(*groups); i++) {
        if (groups[i] == group)
            return true;
    }
    return false;
}
