/* SPDX-License-Identifier: MIT */
/* Each client is either sending its request or reading its answer, and has a deadline for that. */
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
    MAX_OF_USER = 8,             /* of these, but for root and the control group */
    MAX_ACCEPTED = 16,           /* in one dispatch */
    TIMEOUT_S = 10,              /* for a request to arrive, and for an answer to be read */
    SEND_BUFFER_BYTES = 1 << 16, /* kept by the kernel for a client that does not read */
};

/*
 * Processor time for clients that may change nothing: a thirtieth of a core, as poll(2) and the
 * kernel's part of a connection come on top; and as much as a list of all destinations takes.
 */
enum { BUDGET_PART = 30 };
#define BUDGET_MAX_NS (INT64_C(50) * 1000 * 1000)

/* While it is spent, clients are accepted this often: some may be root's. */
#define REST_NS UINT64_C(20000000)

struct client {
    int fd;
    uid_t uid;
    bool may_change;
    bool is_over;         /* close it */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
    char line[REQUEST_MAX_BYTES]; /* received part of the request */
    size_t n_line;
    char *answer; /* being sent; NULL: the request is expected */
    size_t n_answer;
    size_t n_sent;
};

struct control {
    struct listener listener;
    struct daemon *daemon;
    int64_t budget_ns;        /* left for those who may change nothing; below 0: spent */
    uint64_t filled_ns;       /* when it was last filled */
    uint64_t accept_again_ns; /* no client is accepted before */
    unsigned int turn;        /* of the client that is served first */
    unsigned int n_clients;
    struct client *clients[MAX_CLIENTS];
};

static uint64_t now(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
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

/* One write. False: it has all, or cannot be written to. */
static bool send_part(struct client *client)
{
    ssize_t n = send(client->fd, client->answer + client->n_sent, client->n_answer - client->n_sent,
                     MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    client->n_sent += (size_t)n;
    return client->n_sent < client->n_answer;
}

/*
 * Answers the request. False: close the client, which has its answer, or gave up while the daemon
 * was stopped and has reported its request as failed.
 */
static bool answer(struct control *control, struct client *client, const char *end)
{
    if (has_gone(client))
        return false;
    if (end)
        client->answer =
            request_answer(control->daemon, client->line, (size_t)(end - client->line),
                           client->may_change, &client->n_answer);
    else
        client->answer =
            request_refuse("the line is too long: at most 4096 bytes", &client->n_answer);
    client->deadline_ns = now() + TIMEOUT_S * NS_PER_S;
    /* A shortage of memory costs this client its answer. */
    return client->answer && send_part(client);
}

/* One read. False: close the client. *answeredp: whether this was the end of its request. */
static bool receive(struct control *control, struct client *client, bool *answeredp)
{
    const size_t n_before = client->n_line;
    const char *end;
    ssize_t n;

    n = recv(client->fd, client->line + n_before, sizeof(client->line) - n_before, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    client->n_line += (size_t)n;
    end = memchr(client->line + n_before, '\n', (size_t)n);
    if (!end && client->n_line < sizeof(client->line))
        return true;
    *answeredp = true;
    return answer(control, client, end);
}

/* A client beyond the limit gets an error, if that can be written at once. */
static void turn_away(int fd)
{
    static const char line[] = "{\"ok\":false,\"error\":\"too many clients; try again\"}\n";
    ssize_t n = send(fd, line, sizeof(line) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)n;
    close(fd);
}

static unsigned int count_of_user(const struct control *control, uid_t uid)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < control->n_clients; i++)
        n += control->clients[i]->uid == uid;
    return n;
}

/* Whoever may change nothing and has been there for longest gives way. False: there is none. */
static bool make_room(struct control *control)
{
    unsigned int oldest = MAX_CLIENTS;

    if (control->n_clients < MAX_CLIENTS)
        return true;
    for (unsigned int i = 0; i < MAX_CLIENTS; i++) {
        if (!control->clients[i]->may_change &&
            (oldest == MAX_CLIENTS ||
             control->clients[i]->deadline_ns < control->clients[oldest]->deadline_ns))
            oldest = i;
    }
    if (oldest < MAX_CLIENTS)
        remove_client(control, oldest);
    return oldest < MAX_CLIENTS;
}

static void add_client(struct control *control, int fd)
{
    const int bytes = SEND_BUFFER_BYTES;
    struct client *client;
    bool may_change;
    uid_t uid;

    may_change = listener_may_change(&control->listener, fd, &uid);
    if ((uid != 0 && count_of_user(control, uid) >= MAX_OF_USER) || !make_room(control)) {
        turn_away(fd);
        return;
    }
    client = calloc(1, sizeof(*client));
    if (!client) {
        close(fd);
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    client->fd = fd;
    client->uid = uid;
    client->may_change = may_change;
    client->deadline_ns = now() + TIMEOUT_S * NS_PER_S;
    control->clients[control->n_clients++] = client;
}

static void accept_clients(struct control *control)
{
    for (int i = 0; i < MAX_ACCEPTED; i++) {
        int fd = accept4(control->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0) {
            /* No fd is free. */
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                control->accept_again_ns = now() + NS_PER_S;
            return;
        }
        add_client(control, fd);
    }
}

static void fill_budget(struct control *control)
{
    const uint64_t now_ns = now();

    control->budget_ns += (int64_t)((now_ns - control->filled_ns) / BUDGET_PART);
    control->filled_ns = now_ns;
    if (control->budget_ns > BUDGET_MAX_NS)
        control->budget_ns = BUDGET_MAX_NS;
}

unsigned int control_prepare(struct control *control, struct pollfd fds[CONTROL_MAX_FDS])
{
    if (!control)
        return 0;
    fill_budget(control);
    fds[0] = (struct pollfd){
        .fd = control->listener.fd,
        .events = now() < control->accept_again_ns ? 0 : POLLIN,
    };
    /* poll(2) reports what has gone also where nothing is asked, but not of a negative fd. */
    for (unsigned int i = 0; i < control->n_clients; i++) {
        const struct client *client = control->clients[i];
        const bool waits = !client->may_change && control->budget_ns < 0;

        fds[1 + i] = (struct pollfd){
            .fd = waits ? -1 : client->fd,
            .events = client->answer ? POLLOUT : POLLIN,
        };
    }
    return 1 + control->n_clients;
}

int control_get_timeout(const struct control *control)
{
    if (!control)
        return -1;
    if (control->budget_ns < 0)
        return (int)(REST_NS / 1000000);
    return control->n_clients > 0 || now() < control->accept_again_ns ? 1000 : -1;
}

/* Reads and writes for clients whose turn it is, up to the first answer. */
static void serve(struct control *control, const struct pollfd *fds, unsigned int n)
{
    const unsigned int first = n > 1 ? control->turn % (n - 1) : 0;
    bool is_answered = false;

    for (unsigned int i = 0; i + 1 < n && !is_answered; i++) {
        const unsigned int place = (first + i) % (n - 1);
        struct client *client = control->clients[place];
        const uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

        if (!fds[1 + place].revents)
            continue;
        client->is_over = !(client->answer ? send_part(client)
                                           : receive(control, client, &is_answered));
        control->turn = place + 1;
        if (!client->may_change)
            control->budget_ns -=
                (int64_t)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
    }
}

void control_dispatch(struct control *control, const struct pollfd *fds, unsigned int n)
{
    uint64_t began_ns;

    serve(control, fds, n);
    began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned int i = control->n_clients; i-- > 0;) {
        if (control->clients[i]->is_over || control->clients[i]->deadline_ns <= now())
            remove_client(control, i);
    }
    if (fds[0].revents)
        accept_clients(control);
    /* Whose these were is known too late: root's are few. */
    control->budget_ns -= (int64_t)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
    if (control->budget_ns < 0 && control->accept_again_ns <= now())
        control->accept_again_ns = now() + REST_NS;
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
    control->filled_ns = now();
    control->budget_ns = BUDGET_MAX_NS;
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
