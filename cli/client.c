/* SPDX-License-Identifier: MIT */
/*
 * The other end of the control socket. Waits a few seconds at most: a daemon that does not answer
 * is news, too.
 */
#include "client.h"

#include "listener.h"
#include "log.h"
#include "render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define MS_PER_S 1e3

/* An answer that is being read. */
struct reading {
    int fd;
    int code; /* errno, or -1 where the daemon has ended */
};

bool client_is_absence(int error)
{
    return error == -ENOENT || error == -ECONNREFUSED;
}

static int fail(struct riptide_error *error, const char *path, unsigned int timeout_ms, int code)
{
    if (client_is_absence(-code))
        snprintf(error->text, sizeof(error->text),
                 "riptided is not running, or not with --control %s", path);
    else if (code == EAGAIN)
        snprintf(error->text, sizeof(error->text), "%s: no answer within %g s", path,
                 timeout_ms / MS_PER_S);
    else
        snprintf(error->text, sizeof(error->text), "%s: %s", path, strerror(code));
    return code == EAGAIN ? -ETIMEDOUT : -code;
}

static int open_socket(const char *path, unsigned int timeout_ms, int *fdp,
                       struct riptide_error *error)
{
    const struct timeval timeout = { .tv_sec = timeout_ms / 1000,
                                     .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000 };
    struct sockaddr_un address;
    int fd, r = listener_address(&address, path, error);

    if (r < 0)
        return r;
    if (!strcmp(path, "none")) {
        snprintf(error->text, sizeof(error->text), "--control none: no riptided is asked");
        return -ENOENT;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(error, path, timeout_ms, errno);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        r = fail(error, path, timeout_ms, errno);
        close(fd);
        return r;
    }
    *fdp = fd;
    return 0;
}

static int find_peer(int fd)
{
    struct ucred peer;
    socklen_t n_bytes = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) == 0 ? peer.pid : 0;
}

static int send_line(int fd, const char *line, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, line, n, MSG_NOSIGNAL);

        /* A daemon that turns us away has said why before it closed. */
        if (sent < 0)
            return errno == EPIPE ? 0 : -errno;
        line += sent;
        n -= (size_t)sent;
    }
    return 0;
}

static size_t on_room(void *buffer, size_t size, void *userdata)
{
    struct reading *reading = userdata;
    ssize_t n;

    do
        n = recv(reading->fd, buffer, size, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        reading->code = n < 0 && errno != ECONNRESET ? errno : -1;
    return n < 0 ? (size_t)-1 : (size_t)n;
}

static int read_answer(int fd, const char *path, unsigned int timeout_ms, json_t **answerp,
                       struct riptide_error *error)
{
    struct reading reading = { .fd = fd };
    json_t *answer = json_load_callback(on_room, &reading, JSON_DISABLE_EOF_CHECK, NULL);
    const char *reason = json_string_value(json_object_get(answer, "error"));

    if (json_is_true(json_object_get(answer, "ok"))) {
        json_object_del(answer, "ok");
        *answerp = answer;
        return 0;
    }
    if (!answer && reading.code > 0)
        return fail(error, path, timeout_ms, reading.code);
    if (!answer && reading.code < 0)
        reason = "riptided ended before its answer did";
    snprintf(error->text, sizeof(error->text), "%s",
             reason ? reason : "riptided gave an answer that is none");
    json_decref(answer);
    return -EREMOTEIO;
}

int client_ask_within(const char *path, unsigned int timeout_ms, json_t *request, json_t **answerp,
                      int *pidp, struct riptide_error *error)
{
    char *line = request ? json_dumps(request, JSON_COMPACT) : NULL;
    int fd = -1, r = line ? open_socket(path, timeout_ms, &fd, error) : -ENOMEM;

    json_decref(request);
    if (pidp)
        *pidp = r == 0 ? find_peer(fd) : 0;
    if (r == 0) {
        size_t n = strlen(line);

        line[n] = '\n'; /* for the zero: the length is known */
        r = send_line(fd, line, n + 1);
        r = r < 0 ? fail(error, path, timeout_ms, -r)
                  : read_answer(fd, path, timeout_ms, answerp, error);
        close(fd);
    }
    free(line);
    return r;
}

int client_ask(const char *path, json_t *request, json_t **answerp, int *pidp,
               struct riptide_error *error)
{
    return client_ask_within(path, CLIENT_TIMEOUT_MS, request, answerp, pidp, error);
}

int client_ask_or_say(const struct command_options *options, json_t *request, const char *file,
                      json_t **answerp)
{
    struct riptide_error error = { .text = "" };
    int r = client_ask(options->settings.control, request, answerp, NULL, &error);

    if (r == 0)
        return EXIT_SUCCESS;
    if (r != -EREMOTEIO)
        file = NULL;
    log_answer("%s: %s%s%s", options->command, file ? file : "", file ? ": " : "",
               log_error_text(&error, r));
    return client_is_absence(r) ? EXIT_NOT_RUNNING : EXIT_FAILURE;
}

int client_run(const struct command_options *options, json_t *request, const char *template)
{
    json_t *answer;
    int status = client_ask_or_say(options, json_incref(request), NULL, &answer);

    if (status == EXIT_SUCCESS)
        command_print(options, answer, request, template);
    json_decref(request);
    return status;
}
