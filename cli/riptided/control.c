/* SPDX-License-Identifier: MIT */
#include "control.h"

#include "clock.h"
#include "log.h"
#include "socket.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    MAX_CLIENTS = CONTROL_MAX_FDS - 1,
    RESERVED = 8,           /* of these for those who may make changes */
    MAX_OF_USER = 8,        /* but for root */
    MAX_ACCEPTED = 16,      /* in one dispatch */
    ANSWER_BYTES = 1 << 18, /* more than any has */
};

#define NOBODY ((gid_t)-1)

/* Connections that wait to be accepted; supplementary groups of a client that are looked at. */
enum { BACKLOG = 64, MAX_GROUPS = 1024 };

/* For a request to arrive. */
#define PATIENCE_NS (10 * NS_PER_S)

/*
 * Processor time for clients that may change nothing: a thirtieth of a core, as poll(2) and the
 * kernel's part of a connection come on top; and as much as a list of all destinations takes.
 */
enum { BUDGET_PART = 30 };
#define BUDGET_MAX_NS (INT64_C(50) * 1000 * 1000)

/* While it is spent, nobody is accepted; then this is how often it is looked at. */
enum { REST_MS = 20 };

struct client {
    int fd;
    uid_t uid;
    bool may_change;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
};

struct control {
    const struct verb *verbs;
    struct daemon *daemon;
    const char *path;
    int fd;
    gid_t group;
    int64_t budget_ns;  /* left for those who may change nothing; below 0: spent */
    uint64_t filled_ns; /* when it was last filled */
    unsigned int n_clients;
    struct client clients[MAX_CLIENTS]; /* oldest first */
};

/*
 * Only from the file: a static program has no other sources, and a daemon must not wait for one.
 * Groups in LDAP can be given by number.
 */
int control_find_group(const char *name, gid_t *gidp, struct riptide_error *error)
{
    FILE *file = name ? fopen("/etc/group", "re") : NULL;
    struct group *group;

    *gidp = NOBODY;
    while (file && (group = fgetgrent(file))) {
        if (!strcmp(group->gr_name, name))
            *gidp = group->gr_gid;
    }
    if (file)
        fclose(file);
    if (!name || *gidp != NOBODY || (value_u32.parse(gidp, name) == 0 && *gidp != NOBODY))
        return 0;
    error->field = "control_group";
    return refuse(error, -EINVAL, "control-group: %.64s: no group in /etc/group", name);
}

/* A dry run leaves the default socket alone. */
static bool has_socket(const struct settings *settings)
{
    return strcmp(settings->control, "none") != 0 &&
           !(settings->applier.dry_run && !strcmp(settings->control, CONTROL_PATH));
}

int control_check(const struct settings *settings, struct riptide_error *error)
{
    const bool keeps_state = settings->agent.state && !settings->applier.dry_run;
    char name[PROCESS_TEXT_BYTES];
    struct stat stat;
    int pid, fd;

    /* A single round uses no socket, and shares nothing but a state. */
    if (!has_socket(settings) || (settings->once && !keeps_state))
        return 0;
    fd = socket_connect(settings->control, 1, &pid);
    /* The file of a socket outlives its process. Any other file refuses a connection as well. */
    if (fd == -ECONNREFUSED && lstat(settings->control, &stat) == 0 && S_ISSOCK(stat.st_mode))
        unlink(settings->control);
    /* One that hangs lets no more clients wait, and is there all the same. */
    if (fd < 0 && fd != -EAGAIN)
        return 0;
    if (fd >= 0)
        close(fd);
    return refuse(error, -EBUSY,
                  "%s answers at %s: another riptided needs a network namespace, --control, "
                  "--state and --metrics of its own",
                  process_describe(name, pid > 0 ? pid : INT_MAX), settings->control);
}

/* Makes the directory of a path, if that is missing and its own is there. */
static void make_directory(const char *path)
{
    const mode_t mask = umask(0022);
    char copy[sizeof(((struct sockaddr_un *)0)->sun_path)];

    snprintf(copy, sizeof(copy), "%s", path);
    /* If this fails, bind reports why. */
    mkdir(dirname(copy), 0755);
    umask(mask);
}

/* The fd of a socket that listens at `path`, to which any user may connect. */
static int open_listener(const char *path, struct riptide_error *error)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *hint = "";
    mode_t mask;
    int fd, r = 0;

    if (strlen(path) >= sizeof(address.sun_path))
        return refuse(error, -ENAMETOOLONG, "%.160s: %s", path, strerror(ENAMETOOLONG));
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return refuse(error, -errno, "%.160s: %s", path, strerror(errno));
    make_directory(path);
    /* Any user may connect; permission for changes is checked for each connection. */
    mask = umask(0111);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
        r = -errno;
    umask(mask);
    if (r == 0)
        return fd;
    close(fd);
    if (r == -EADDRINUSE)
        hint = ": it is not a socket, or that of another riptided";
    return refuse(error, r, "%.160s: %s%s", path, strerror(-r), hint);
}

/* Whether the peer of a connection is root, this process's user, or in the group; and its user. */
static bool may_change(int fd, gid_t group, uid_t *uidp)
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

/* Sends all at once, or what the client gets is cut. */
static void send_answer(int fd, char *text)
{
    const int bytes = ANSWER_BYTES;
    size_t n;

    /* A shortage of memory costs this client its answer. */
    if (!text)
        return;
    n = strlen(text);
    text[n] = '\n';
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    (void)!send(fd, text, n + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    free(text);
}

static void answer(struct control *control, const struct client *client)
{
    const uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    char line[REQUEST_MAX_BYTES];
    ssize_t n_read = recv(client->fd, line, sizeof(line), MSG_DONTWAIT);
    const char *end = n_read > 0 ? memchr(line, '\n', (size_t)n_read) : NULL;
    char *text;

    if (end)
        text = request_answer(control->verbs, control->daemon, line, (size_t)(end - line),
                              client->may_change);
    else
        text = request_refuse("a request is one line of at most 4096 bytes, sent at once");
    send_answer(client->fd, text);
    /* The budget is for the others, and pays for all work of a turn. */
    if (client->may_change)
        control->budget_ns += (int64_t)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
}

static void remove_client(struct control *control, unsigned int i)
{
    struct client *client = &control->clients[i];

    close(client->fd);
    control->n_clients--;
    memmove(client, client + 1, (control->n_clients - i) * sizeof(*client));
}

static bool has_room(const struct control *control, const struct client *client)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < control->n_clients; i++)
        n += control->clients[i].uid == client->uid;
    if (client->uid != 0 && n >= MAX_OF_USER)
        return false;
    return control->n_clients + (client->may_change ? 0 : RESERVED) < MAX_CLIENTS;
}

static void accept_clients(struct control *control)
{
    for (int i = 0; i < MAX_ACCEPTED; i++) {
        struct client client = { .deadline_ns = clock_read_ns(CLOCK_MONOTONIC) + PATIENCE_NS };

        client.fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        /* Where no fd is free, the budget bounds how often that is tried. */
        if (client.fd < 0)
            return;
        client.may_change = may_change(client.fd, control->group, &client.uid);
        if (has_room(control, &client)) {
            control->clients[control->n_clients++] = client;
        } else {
            send_answer(client.fd, request_refuse("too many clients; try again"));
            close(client.fd);
        }
    }
}

unsigned int control_prepare(struct control *control, struct pollfd fds[CONTROL_MAX_FDS],
                             int *timeout_ms)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC);
    bool is_spent;

    if (!control)
        return 0;
    control->budget_ns += (int64_t)((now_ns - control->filled_ns) / BUDGET_PART);
    control->filled_ns = now_ns;
    if (control->budget_ns > BUDGET_MAX_NS)
        control->budget_ns = BUDGET_MAX_NS;
    is_spent = control->budget_ns < 0;
    *timeout_ms = is_spent ? REST_MS : 1000;
    fds[0] = (struct pollfd){ .fd = is_spent ? -1 : control->fd, .events = POLLIN };
    for (unsigned int i = 0; i < control->n_clients; i++) {
        const struct client *client = &control->clients[i];

        fds[1 + i] = (struct pollfd){
            .fd = is_spent && !client->may_change ? -1 : client->fd,
            .events = POLLIN,
        };
    }
    return 1 + control->n_clients;
}

/* Answers the first one that asks, and removes it. */
static void serve(struct control *control, const struct pollfd *fds, unsigned int n)
{
    unsigned int i = 0;

    /* One that has gone meanwhile has reported its request as failed. */
    while (i < n && (fds[i].revents & (POLLIN | POLLHUP | POLLERR)) != POLLIN)
        i++;
    if (i < n)
        answer(control, &control->clients[i]);
    for (unsigned int j = n; j-- > 0;) {
        if (j == i || fds[j].revents & (POLLHUP | POLLERR) ||
            control->clients[j].deadline_ns <= clock_read_ns(CLOCK_MONOTONIC))
            remove_client(control, j);
    }
}

void control_dispatch(struct control *control, const struct pollfd *fds, unsigned int n)
{
    const uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

    serve(control, fds + 1, n - 1);
    if (fds[0].revents)
        accept_clients(control);
    control->budget_ns -= (int64_t)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
}

struct control *control_open(const struct settings *settings, const struct verb *verbs,
                             struct daemon *daemon)
{
    struct riptide_error error = { .text = "" };
    struct control *control;
    int r;

    if (settings->once || !has_socket(settings))
        return NULL;
    control = calloc(1, sizeof(*control));
    if (!control) {
        log_line(LOG_WARNING, "no control socket: %s", strerror(ENOMEM));
        return NULL;
    }
    control->verbs = verbs;
    control->daemon = daemon;
    control->path = settings->control;
    control->budget_ns = BUDGET_MAX_NS;
    control->filled_ns = clock_read_ns(CLOCK_MONOTONIC);
    r = control_find_group(settings->control_group, &control->group, &error);
    control->fd = r < 0 ? r : open_listener(settings->control, &error);
    if (control->fd < 0) {
        log_line(LOG_WARNING, "no control socket: %s", error.text);
        free(control);
        return NULL;
    }
    return control;
}

void control_close(struct control *control)
{
    if (!control)
        return;
    while (control->n_clients > 0)
        remove_client(control, 0);
    unlink(control->path);
    close(control->fd);
    free(control);
}

void control_touch(const struct control *control)
{
    if (control)
        utimensat(AT_FDCWD, control->path, NULL, AT_SYMLINK_NOFOLLOW);
}
