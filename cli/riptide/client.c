/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "members.h"
#include "socket.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long a daemon that does not answer is waited for. */
enum { TIMEOUT_S = 5 };

struct stream {
    int fd;
    int error; /* errno of the read that failed; 0: none did */
};

static size_t receive(void *bytes, size_t n, void *userdata)
{
    struct stream *stream = userdata;
    const ssize_t n_read = recv(stream->fd, bytes, n, 0);

    if (n_read < 0)
        stream->error = errno;
    return (size_t)n_read;
}

/* Sends the line, and reads the answer. */
static int exchange(int fd, const char *line, json_t **answerp, struct riptide_error *error)
{
    struct stream stream = { .fd = fd };
    const char *reason;
    json_t *answer;

    /* A daemon that turns us away has said why before it closed. */
    if (dprintf(fd, "%s\n", line) < 0 && errno != EPIPE)
        return -errno;
    answer = json_load_callback(receive, &stream, JSON_DISABLE_EOF_CHECK, NULL);
    if (json_is_true(get(answer, "ok"))) {
        json_object_del(answer, "ok");
        *answerp = answer;
        return 0;
    }
    if (stream.error != 0 && stream.error != ECONNRESET)
        return -stream.error;
    reason = text_of(answer, "error");
    refuse(error, -EREMOTEIO, "%s",
           *reason ? reason : "the answer of riptided is malformed, or has no end");
    json_decref(answer);
    return -EREMOTEIO;
}

int client_ask(const char *control, json_t *request, json_t **answerp, int *pidp,
               struct riptide_error *error)
{
    char *line = json_dumps(request, JSON_COMPACT);
    int fd, r = -ENOMEM;

    *answerp = NULL;
    *pidp = 0;
    error->text[0] = '\0';
    json_decref(request);
    if (line) {
        fd = socket_connect(control, TIMEOUT_S, pidp);
        r = fd;
        if (fd >= 0) {
            r = exchange(fd, line, answerp, error);
            close(fd);
        }
    }
    free(line);
    if (r == -ENOENT || r == -ECONNREFUSED)
        return refuse(error, -ENOENT, "no riptided at %s", control);
    if (r == -EAGAIN)
        return refuse(error, -ETIMEDOUT, "no answer within %d s at %s", TIMEOUT_S, control);
    if (r < 0 && !error->text[0])
        refuse(error, r, "%s: %s", control, strerror(-r));
    return r;
}

json_t *client_get(const struct command_options *options, json_t *request)
{
    struct riptide_error error;
    json_t *answer;
    int pid, r = client_ask(options->control, request, &answer, &pid, &error);

    if (r < 0)
        command_fail(r == -ENOENT ? EXIT_NOT_RUNNING : EXIT_FAILURE, "%s", error.text);
    return answer;
}

int client_print(const struct command_options *options, json_t *request,
                 void (*print)(const json_t *answer))
{
    json_t *answer = client_get(options, request);

    if (options->json) {
        command_print_json(answer);
    } else {
        print(answer);
        json_decref(answer);
    }
    return EXIT_SUCCESS;
}
