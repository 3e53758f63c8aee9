/* SPDX-License-Identifier: MIT */
/* Unix socket files outlive their process: one without a listener is replaced. */
#include "listener.h"

#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY ((gid_t)-1)

/* Connections that wait to be accepted. */
enum { BACKLOG = 64 };

/* `reason` is more precise than the kernel's text; NULL: use that. */
static int fail(struct riptide_error *error, const char *path, const char *reason, int code)
{
    snprintf(error->text, sizeof(error->text), "%.160s: %s", path,
             reason ? reason : strerror(code));
    return -code;
}

/*
 * Only from the file: a static program has no other sources, and a daemon must not wait for one.
 * Groups in LDAP can be given by number.
 */
int listener_find_group(const char *name, gid_t *gidp, struct riptide_error *error)
{
    unsigned long number;
    struct group *group;
    char *end;
    FILE *file;

    *gidp = NOBODY;
    if (!name)
        return 0;
    errno = 0;
    number = strtoul(name, &end, 10);
    if (*name >= '0' && *name <= '9' && !*end && !errno && number < NOBODY) {
        *gidp = (gid_t)number;
        return 0;
    }
    file = fopen("/etc/group", "re");
    while (file && *gidp == NOBODY && (group = fgetgrent(file))) {
        if (!strcmp(group->gr_name, name))
            *gidp = group->gr_gid;
    }
    if (file)
        fclose(file);
    if (*gidp != NOBODY)
        return 0;
    error->field = "control_group";
    snprintf(error->text, sizeof(error->text), "control-group: %.64s: no group in /etc/group",
             name);
    return -EINVAL;
}

/* The address of that path. Errors: -ENAMETOOLONG, with a line. */
static int address_of(struct sockaddr_un *address, const char *path, struct riptide_error *error)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address->sun_path))
        return fail(error, path, NULL, ENAMETOOLONG);
    memcpy(address->sun_path, path, strlen(path));
    return 0;
}

/* Removes a socket file without a listener. */
static int clear_place(const struct sockaddr_un *address, struct riptide_error *error)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int code;

    if (fd < 0)
        return fail(error, address->sun_path, NULL, errno);
    code = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? errno : 0;
    close(fd);
    if (code == ENOENT)
        return 0;
    if (code == ECONNREFUSED) {
        struct stat stat;

        /* connect returns this error for any other file, too. */
        if (lstat(address->sun_path, &stat) == 0 && !S_ISSOCK(stat.st_mode))
            return fail(error, address->sun_path, "exists and is not a socket", EEXIST);
        unlink(address->sun_path);
        return 0;
    }
    if (code == 0 || code == EAGAIN)
        return fail(error, address->sun_path, "another riptided answers there", EBUSY);
    return fail(error, address->sun_path, NULL, code);
}

/* If this fails, bind reports why; without the owner, the file stays at the end. */
static int make_directory(const char *path, uid_t owner)
{
    int r = mkdir(path, 0755);

    return r == 0 && owner != geteuid() ? lchown(path, owner, (gid_t)-1) : r;
}

static int open_file(const struct listener *listener, uid_t owner, struct riptide_error *error)
{
    const struct sockaddr_un *address = &listener->address;
    char directory[sizeof(address->sun_path)];
    mode_t mask;
    int r = 0;

    memcpy(directory, address->sun_path, sizeof(directory));
    mask = umask(0022);
    make_directory(dirname(directory), owner);
    /* Any user may connect; permission for changes is checked per connection. */
    umask(0111);
    if (bind(listener->fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
        listen(listener->fd, BACKLOG) < 0)
        r = fail(error, address->sun_path, NULL, errno);
    umask(mask);
    return r;
}

int listener_open(struct listener *listener, const char *path, const char *group, uid_t owner,
                  struct riptide_error *error)
{
    int r;

    *listener = (struct listener){ .fd = -1, .pid = getpid() };
    r = listener_find_group(group, &listener->group, error);
    if (r == 0)
        r = address_of(&listener->address, path, error);
    if (r == 0)
        r = clear_place(&listener->address, error);
    if (r < 0)
        return r;
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return fail(error, path, NULL, errno);
    r = open_file(listener, owner, error);
    if (r < 0) {
        close(listener->fd);
        listener->fd = -1;
    }
    return r;
}

void listener_close(struct listener *listener)
{
    if (listener->fd < 0)
        return;
    if (listener->pid == getpid())
        unlink(listener->address.sun_path);
    close(listener->fd);
    listener->fd = -1;
}

/* The supplementary groups, as of the time of connecting. */
static bool is_member(int fd, gid_t group)
{
    socklen_t bytes = 0;
    bool is_found = false;
    gid_t *groups, none;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &none, &bytes) == 0 || errno != ERANGE)
        return false;
    groups = malloc(bytes);
    if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) == 0) {
        for (size_t i = 0; i < bytes / sizeof(*groups) && !is_found; i++)
            is_found = groups[i] == group;
    }
    free(groups);
    return is_found;
}

bool listener_may_change(const struct listener *listener, int fd, uid_t *uidp)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    *uidp = (uid_t)-1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
        return false;
    *uidp = peer.uid;
    if (peer.uid == 0 || peer.uid == geteuid())
        return true;
    return listener->group != NOBODY &&
           (peer.gid == listener->group || is_member(fd, listener->group));
}
