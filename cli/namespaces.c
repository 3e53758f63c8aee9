/* SPDX-License-Identifier: MIT */
/*
 * riptide netns: the network namespaces that a riptided with --all-netns serves. Each has its own
 * socket; they are queried one after the other.
 */
#include "client.h"
#include "lib/tools.h"
#include "log.h"
#include "netns.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const char table[] =
    "\tNETNS\tNAME\tPROCESS\tHEALTH\tCONNS\tDESTINATIONS\tCGROUP\n"
    "[{*netns}{health}\t{netns}\t[{name}|-]\t{pid}\t{health}\t{connections}\t{destinations}"
    "\t{cgroup}\n]";
static const char sides[] = "rlrlrrl";

/* The name that ip-netns(8) gave to a process's namespace; NULL: none, or not visible. */
static const char *name_of(int pid, const glob_t *names)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
    for (size_t i = 0; i < names->gl_pathc; i++) {
        if (riptide_paths_are_same(names->gl_pathv[i], path))
            return strrchr(names->gl_pathv[i], '/') + 1;
    }
    return NULL;
}

/* Workers that hang are listed as well. NULL: none runs, only a socket file is left. */
static json_t *ask(const char *path, uint64_t cookie, const glob_t *names)
{
    struct riptide_error error;
    json_t *answer = NULL, *row;
    int pid, r = client_ask(path, json_pack("{s:s}", "request", "status"), &answer, &pid, &error);

    if (client_is_absence(r))
        return NULL;
    row = json_pack("{s:I, s:s?, s:s, s:O?, s:O?, s:O?, s:i}", "netns", (json_int_t)cookie, "name",
                    name_of(pid, names), "health", answer ? text_of(answer, "health") : "no answer",
                    "connections", get(answer, "connections"), "destinations",
                    get(answer, "destinations"), "cgroup", get(get(answer, "netns"), "cgroup"),
                    "pid", pid);
    json_decref(answer);
    return row;
}

/* Without any namespace's answer: a riptided that serves none yet says so on its own socket. */
static int list_none(const struct command_options *options)
{
    const char *path = options->settings.control;
    struct riptide_error error;
    json_t *answer = NULL;
    int r = client_ask(path, json_pack("{s:s}", "request", "status"), &answer, NULL, &error);

    json_decref(answer);
    if (r != -ENONET) {
        log_answer("netns: riptided is not running, or not with --all-netns and --control %s",
                   path);
        return EXIT_NOT_RUNNING;
    }
    log_answer("netns: %s", error.text);
    return command_print(options, json_pack("{s:[]}", "netns"), table, sides);
}

int netns_run(const struct command_options *options)
{
    json_t *rows = json_array();
    uint64_t *cookies;
    glob_t names;
    size_t n = netns_find(options->settings.control, &cookies);

    glob("/run/netns/*", GLOB_NOSORT, NULL, &names);
    for (size_t i = 0; i < n; i++) {
        char *path = netns_path(options->settings.control, cookies[i]);

        json_array_append_new(rows, path ? ask(path, cookies[i], &names) : NULL);
        free(path);
    }
    globfree(&names);
    free(cookies);
    if (json_array_size(rows) > 0)
        return command_print(options, json_pack("{s:o}", "netns", rows), table, sides);
    json_decref(rows);
    return list_none(options);
}
