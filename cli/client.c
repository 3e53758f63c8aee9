/* SPDX-License-Identifier: MIT */
/*
 * The other end of the control socket. Waits a few seconds at most: a daemon that does not answer
 * is news, too.
 */
#include "client.h"

#include "listener.h"
#include "log.h"
#include "members.h"
#include "request.h"

#include <errno.h>
#include <glob.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

bool client_is_absence(int error)
{
    return error == -ENOENT || error == -ECONNREFUSED;
}

int client_has_program(int pid)
{
    char path[32], line[128];
    unsigned int type, found = 0;
    glob_t files;

    snprintf(path, sizeof(path), "/proc/%d/fdinfo/*", pid);
    if (glob(path, 0, NULL, &files) != 0)
        return -EACCES;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *file = fopen(files.gl_pathv[i], "re");

        while (file && fgets(line, sizeof(line), file))
            found |= sscanf(line, "prog_type: %u", &type) == 1 && type == BPF_PROG_TYPE_SOCK_OPS;
        if (file)
            fclose(file);
    }
    globfree(&files);
    return (int)found;
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
    bool is_path = strchr(path, '/');
    struct sockaddr_un address;
    char socket_path[256];
    int r;

    snprintf(socket_path, sizeof(socket_path), "%s%s%s", is_path ? "" : "/run/riptide-", path,
             is_path ? "" : "/control");
    r = listener_address(&address, socket_path, error);
    if (r == 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        r = fail(error, path, errno);
    return r;
}

static int open_socket(const char *path, FILE **filep, struct riptide_error *error)
{
    const struct timeval timeout = { .tv_sec = CLIENT_TIMEOUT_S };
    int fd, r;

    if (!strcmp(path, "none")) {
        snprintf(error->text, sizeof(error->text), "--control none: there is no socket to ask");
        return -ENOENT;
    }
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

int client_show(const char *path, const char *within,
                int (*on_page)(void *userdata, const json_t *page), void *userdata,
                struct riptide_error *error)
{
    bool is_last = false;
    json_int_t from = 0;
    const json_t *next;
    json_t *page;
    int r = 0;

    while (r == 0 && !is_last) {
        r = client_ask(
            path, json_pack("{s:s, s:s*, s:I}", "request", "show", "prefix", within, "from", from),
            &page, NULL, error);
        if (r < 0)
            return r;
        next = get(page, "next");
        is_last = json_is_null(next);
        from = json_integer_value(next);
        r = next ? on_page(userdata, page) : -EREMOTEIO;
        json_decref(page);
    }
    return r;
}

int client_ask_or_say(const struct command_options *options, json_t *request, json_t **answerp)
{
    struct riptide_error error = { .text = "" };
    int r = client_ask(options->settings.control, request, answerp, NULL, &error);

    if (r == 0)
        return EXIT_SUCCESS;
    log_answer("%s: %s", options->command, log_error_text(&error, r));
    return client_is_absence(r) ? EXIT_NOT_RUNNING : EXIT_FAILURE;
}
