/* SPDX-License-Identifier: MIT */
/*
 * The other end of the control socket. Waits a few seconds at most: a daemon that does not answer
 * is news, too.
 */
#include "client.h"

#include "log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

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
        snprintf(error->text, sizeof(error->text), "%s: no answer within %d s", path, CLIENT_TIMEOUT_S);
    else
        snprintf(error->text, sizeof(error->text), "%s: %s", path, strerror(code));
    return code == EAGAIN ? -ETIMEDOUT : -code;
}

/* A name without a slash is that of an instance of riptided@.service. */
static int connect_to(int fd, const char *path, struct riptide_error *error)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    bool is_path = strchr(path, '/');
    int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s%s%s",
                     is_path ? "" : "/run/riptide-", path, is_path ? "" : "/control");

    if (n >= (int)sizeof(address.sun_path))
        return fail(error, path, ENAMETOOLONG);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return fail(error, path, errno);
    return 0;
}

static int open_socket(const char *path, FILE **filep, struct riptide_error *error)
{
    const struct timeval timeout = { .tv_sec = CLIENT_TIMEOUT_S };
    int fd, r;

    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(error, path, errno);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    r = connect_to(fd, path, error);
    if (r == 0 && !(*filep = fdopen(fd, "r")))
        r = fail(error, path, errno);
    if (r < 0)
        close(fd);
    return r;
}

static int find_peer(int fd)
{
    struct ucred peer;
    socklen_t n_bytes = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) == 0 ? peer.pid : 0;
}

/* A daemon that turns us away has said why before it closed. */
static int send_line(int fd, const char *line)
{
    return dprintf(fd, "%s\n", line) < 0 && errno != EPIPE ? errno : 0;
}

static int read_answer(FILE *file, const char *path, json_t **answerp, struct riptide_error *error)
{
    json_t *answer;
    const char *reason;

    errno = 0;
    answer = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
    reason = json_string_value(json_object_get(answer, "error"));
    if (json_is_true(json_object_get(answer, "ok"))) {
        json_object_del(answer, "ok");
        *answerp = answer;
        return 0;
    }
    if (ferror(file) && errno != ECONNRESET)
        return fail(error, path, errno);
    if (feof(file) || ferror(file))
        reason = "riptided ended before the end of its answer";
    snprintf(error->text, sizeof(error->text), "%s",
             reason ? reason : "the answer of riptided is malformed");
    json_decref(answer);
    return -EREMOTEIO;
}

int client_ask(const char *path, json_t *request, json_t **answerp, int *pidp,
               struct riptide_error *error)
{
    char *line = request ? json_dumps(request, JSON_COMPACT) : NULL;
    FILE *file = NULL;
    int code, r;

    *answerp = NULL;
    r = line ? open_socket(path, &file, error) : -ENOMEM;
    json_decref(request);
    if (pidp)
        *pidp = file ? find_peer(fileno(file)) : 0;
    if (file) {
        code = send_line(fileno(file), line);
        r = code ? fail(error, path, code) : read_answer(file, path, answerp, error);
        fclose(file);
    }
    free(line);
    return r;
}

int client_ask_or_say(const struct command_options *options, json_t *request, json_t **answerp)
{
    struct riptide_error error = { .text = "" };
    int r = client_ask(options->control, request, answerp, NULL, &error);

    if (r == 0)
        return EXIT_SUCCESS;
    log_answer("%s: %s", options->command, log_error_text(&error, r));
    return client_is_absence(r) ? EXIT_NOT_RUNNING : EXIT_FAILURE;
}
