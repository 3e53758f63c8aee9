/* SPDX-License-Identifier: MIT */
/* Each client is either sending a request or reading its answer, and has a deadline for that. */
#include "control.h"

#include "clock.h"
#include "listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MAX_CLIENTS = CONTROL_MAX_FDS - 1,
    RESERVED_CLIENTS = 16,       /* of these, for clients that may make changes */
    MAX_SERVED = 8,              /* in one dispatch */
    TIMEOUT_S = 30,              /* for a request to arrive, and for an answer to be read */
    SEND_BUFFER_BYTES = 1 << 16, /* kept by the kernel for a client that does not read */
};

struct client {
    int fd;
    bool may_change;
    bool is_last;    /* close it after its answer, */
    bool is_over;    /* close it now */
    time_t deadline; /* CLOCK_MONOTONIC, s */
    char line[REQUEST_MAX_BYTES]; /* received part of the next request */
    size_t n_line;
    char *answer; /* being sent; NULL: a request is expected */
    size_t n_answer;
    size_t n_sent;
};

struct control {
    struct listener listener;
    struct daemon *daemon;
    time_t accept_again;  /* no fd was free for another client until then */
    unsigned int turn;    /* of the client that is served first */
    unsigned int n_clients;
    struct client *clients[MAX_CLIENTS];
};

static time_t now(void)
{
    return (time_t)(clock_read_ns(CLOCK_MONOTONIC) / NS_PER_S);
}

static void remove_client(struct control *control, unsigned int i)
{
    struct client *client = control->clients[i];

    control->clients[i] = control->clients[--control->n_clients];
    free(client->answer);
    close(client->fd);
    free(client);
}

/* Whether a client no longer waits for an answer; if it only closed its sending side it waits. */
static bool has_gone(const struct client *client)
{
    struct pollfd fd = { .fd = client->fd };

    return poll(&fd, 1, 0) > 0;
}

/*
 * Processes the received line, if complete. False: close the client; if it gave up while the daemon
 * was stopped, it has reported its request as failed.
 */
static bool take_line(struct control *control, struct client *client, size_t n_seen)
{
    const char *end = memchr(client->line + n_seen, '\n', client->n_line - n_seen);
    char reason[64];
    size_t n;

    if (!end && client->n_line < sizeof(client->line))
        return true;
    if (has_gone(client))
        return false;
    if (end) {
        n = (size_t)(end - client->line) + 1;
        client->answer = request_answer(control->daemon, client->line, n - 1, client->may_change,
                                        &client->n_answer);
        client->n_line -= n;
        memmove(client->line, end + 1, client->n_line);
    } else {
        snprintf(reason, sizeof(reason), "the line is too long: at most %d bytes",
                 REQUEST_MAX_BYTES);
        client->answer = request_refuse(reason, &client->n_answer);
        client->is_last = true;
    }
    client->n_sent = 0;
    client->deadline = now() + TIMEOUT_S;
    /* A shortage of memory costs this client its answer. */
    return client->answer;
}

/* One read. False: the client has ended or must be closed. */
static bool receive(struct control *control, struct client *client)
{
    size_t n_before = client->n_line;
    ssize_t n;

    n = recv(client->fd, client->line + n_before, sizeof(client->line) - n_before, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    client->n_line += (size_t)n;
    return take_line(control, client, n_before);
}

/* One write. False: the client has ended or must be closed. */
static bool answer(struct control *control, struct client *client)
{
    ssize_t n = send(client->fd, client->answer + client->n_sent, client->n_answer - client->n_sent,
                     MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    client->n_sent += (size_t)n;
    if (client->n_sent < client->n_answer)
        return true;
    free(client->answer);
    client->answer = NULL;
    if (client->is_last)
        return false;
    client->deadline = now() + TIMEOUT_S;
    return take_line(control, client, 0); /* the next one may have arrived already */
}

/* A client beyond the limit gets an error, if that can be written at once. */
static void turn_away(int fd)
{
    static const char line[] = "{\"ok\":false,\"error\":\"too many clients; try again\"}\n";
    ssize_t n = send(fd, line, sizeof(line) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)n;
    close(fd);
}

static struct client *client_new(int fd, bool may_change)
{
    const int bytes = SEND_BUFFER_BYTES;
    struct client *client = calloc(1, sizeof(*client));

    if (!client)
        return NULL;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    client->fd = fd;
    client->may_change = may_change;
    client->deadline = now() + TIMEOUT_S;
    return client;
}

static void accept_client(struct control *control)
{
    int fd = accept4(control->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct client *client;
    bool may_change;

    if (fd < 0) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
            return;
        control->accept_again = now() + 1;
        return;
    }
    may_change = listener_may_change(&control->listener, fd);
    if (control->n_clients >= (may_change ? MAX_CLIENTS : MAX_CLIENTS - RESERVED_CLIENTS)) {
        turn_away(fd);
        return;
    }
    client = client_new(fd, may_change);
    if (client)
        control->clients[control->n_clients++] = client;
    else
        close(fd);
}

unsigned int control_prepare(const struct control *control, struct pollfd fds[CONTROL_MAX_FDS])
{
    if (!control)
        return 0;
    fds[0] = (struct pollfd){
        .fd = control->listener.fd,
        .events = now() < control->accept_again ? 0 : POLLIN,
    };
    for (unsigned int i = 0; i < control->n_clients; i++)
        fds[1 + i] = (struct pollfd){
            .fd = control->clients[i]->fd,
            .events = control->clients[i]->answer ? POLLOUT : POLLIN,
        };
    return 1 + control->n_clients;
}

int control_get_timeout(const struct control *control)
{
    return control && (control->n_clients > 0 || now() < control->accept_again) ? 1000 : -1;
}

void control_dispatch(struct control *control, const struct pollfd *fds, unsigned int n)
{
    const unsigned int first = n > 1 ? control->turn % (n - 1) : 0;
    const time_t time = now();
    unsigned int n_served = 0;

    for (unsigned int i = 0; i + 1 < n; i++) {
        unsigned int place = (first + i) % (n - 1);
        struct client *client = control->clients[place];

        if (client->deadline <= time) {
            client->is_over = true;
        } else if (fds[1 + place].revents && n_served < MAX_SERVED) {
            client->is_over =
                !(client->answer ? answer(control, client) : receive(control, client));
            control->turn = place + 1;
            n_served++;
        }
    }
    for (unsigned int i = control->n_clients; i-- > 0;) {
        if (control->clients[i]->is_over)
            remove_client(control, i);
    }
    if (fds[0].revents)
        accept_client(control);
}

int control_open(struct control **controlp, const char *path, const char *group, uid_t owner,
                 struct daemon *daemon, struct riptide_error *error)
{
    struct control *control = calloc(1, sizeof(*control));
    int r;

    if (!control)
        return -ENOMEM;
    r = listener_open(&control->listener, path, group, owner, error);
    if (r < 0) {
        free(control);
        return r;
    }
    control->daemon = daemon;
    *controlp = control;
    return 0;
}

struct control *control_close(struct control *control)
{
    if (!control)
        return NULL;
    while (control->n_clients > 0)
        remove_client(control, 0);
    listener_close(&control->listener);
    free(control);
    return NULL;
}

unsigned int control_count_clients(const struct control *control)
{
    return control->n_clients;
}
