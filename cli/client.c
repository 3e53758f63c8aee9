/* SPDX-License-Identifier: MIT */
/*
 * The other end of the control socket. Waits a few seconds at most: a daemon that does not answer
 * is news, too.
 */
#include "client.h"

#include "listener.h"
#include "passed_fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    TIMEOUT_S = 5,
    MAX_ANSWER_BYTES = 256 << 20, /* of a daemon with a million destinations */
};

struct buffer {
    char *bytes;
    size_t n;
    size_t capacity;
};

bool client_is_absence(int error)
{
    return error == -ENOENT || error == -ECONNREFUSED;
}

static int fail(struct riptide_error *error, const char *path, int code)
{
    if (client_is_absence(-code))
        snprintf(error->text, sizeof(error->text),
                 "riptided is not running, or not with --control %s", path);
    else if (code == EAGAIN)
        snprintf(error->text, sizeof(error->text), "%s: no answer within %d s", path, TIMEOUT_S);
    else
        snprintf(error->text, sizeof(error->text), "%s: %s", path, strerror(code));
    return code == EAGAIN ? -ETIMEDOUT : -code;
}

static int open_socket(const char *path, int *fdp, struct riptide_error *error)
{
    const struct timeval timeout = { .tv_sec = TIMEOUT_S };
    struct sockaddr_un address;
    int fd, r = listener_address(&address, path, error);

    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(error, path, errno);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        r = fail(error, path, errno);
        close(fd);
        return r;
    }
    *fdp = fd;
    return 0;
}

/* Known of a daemon that does not answer, too. */
static int find_peer(int fd)
{
    struct ucred peer;
    socklen_t n_bytes = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) == 0 ? peer.pid : 0;
}

/* The fd goes with the first byte. */
static int send_line(int fd, const char *line, size_t n, int fd_sent)
{
    while (n > 0) {
        ssize_t sent = passed_fd_send(fd, line, n, fd_sent, 0);

        if (sent < 0)
            return -errno;
        line += sent;
        n -= (size_t)sent;
        fd_sent = -1;
    }
    return 0;
}

static int reserve(struct buffer *buffer)
{
    size_t capacity = buffer->capacity ? buffer->capacity * 2 : 1 << 16;
    char *bytes;

    if (buffer->n < buffer->capacity)
        return 0;
    bytes = capacity <= MAX_ANSWER_BYTES ? realloc(buffer->bytes, capacity) : NULL;
    if (!bytes)
        return -ENOMEM;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

/* A line, or what there is of it where the daemon ends. */
static int receive_line(int fd, struct buffer *buffer, int *fd_receivedp)
{
    ssize_t n;

    do {
        if (reserve(buffer) < 0)
            return -ENOMEM;
        n = passed_fd_receive(fd, buffer->bytes + buffer->n, buffer->capacity - buffer->n,
                              fd_receivedp, 0);
        if (n < 0 && errno != EINTR && errno != ECONNRESET)
            return -errno;
        if (n > 0)
            buffer->n += (size_t)n;
    } while (n < 0 ? errno == EINTR : n > 0 && buffer->bytes[buffer->n - 1] != '\n');
    return 0;
}

static int read_answer(const struct buffer *buffer, json_t **answerp, struct riptide_error *error)
{
    json_t *answer = json_loadb(buffer->bytes, buffer->n, JSON_DISABLE_EOF_CHECK, NULL);
    const char *reason = json_string_value(json_object_get(answer, "error"));

    if (json_is_true(json_object_get(answer, "ok"))) {
        json_object_del(answer, "ok");
        *answerp = answer;
        return 0;
    }
    if (buffer->n == 0 || buffer->bytes[buffer->n - 1] != '\n')
        reason = "riptided ended before its answer did";
    snprintf(error->text, sizeof(error->text), "%s",
             reason ? reason : "riptided gave an answer that is none");
    json_decref(answer);
    return -EREMOTEIO;
}

static int exchange_lines(struct client_exchange *exchange, const char *line, struct buffer *buffer,
                          struct riptide_error *error)
{
    int fd = -1, r = open_socket(exchange->path, &fd, error);

    if (r < 0)
        return r;
    exchange->pid = find_peer(fd);
    r = send_line(fd, line, strlen(line), exchange->fd_sent);
    if (r == 0)
        r = send_line(fd, "\n", 1, -1);
    /* A daemon that turns us away has said why before it closed. */
    if (r == 0 || r == -EPIPE)
        r = receive_line(fd, buffer, &exchange->fd_received);
    close(fd);
    return r < 0 ? fail(error, exchange->path, -r) : 0;
}

int client_ask(struct client_exchange *exchange, json_t *request, json_t **answerp,
               struct riptide_error *error)
{
    char *line = request ? json_dumps(request, JSON_COMPACT) : NULL;
    struct buffer buffer = { .bytes = NULL };
    int r = -ENOMEM;

    json_decref(request);
    exchange->fd_received = -1;
    exchange->pid = 0;
    if (line)
        r = exchange_lines(exchange, line, &buffer, error);
    if (r == 0)
        r = read_answer(&buffer, answerp, error);
    if (r < 0 && exchange->fd_received >= 0) {
        close(exchange->fd_received);
        exchange->fd_received = -1;
    }
    free(buffer.bytes);
    free(line);
    return r;
}
