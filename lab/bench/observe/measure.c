/* SPDX-License-Identifier: MIT */
/*
 * Runs a command with its output thrown away, and prints what it took, children included:
 *
 *     measure COMMAND...    user seconds, system seconds, peak memory in KB, seconds, exit status
 *
 * A program of its own because a process inherits the peak memory of the one that it was forked
 * from: below this one's own, about 1.5 MB, nothing can be told.
 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

extern char **environ;

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    int status, error;
    double begin;
    pid_t pid;

    if (argc < 2) {
        fputs("measure: measure COMMAND...\n", stderr);
        return 2;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    begin = now_s();
    error = posix_spawnp(&pid, argv[1], &actions, NULL, argv + 1, environ);
    if (error == 0 && wait4(pid, &status, 0, &usage) < 0)
        error = errno;
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(error));
        return 1;
    }
    printf("%.6f %.6f %ld %.6f %d\n", seconds(&usage.ru_utime), seconds(&usage.ru_stime),
           usage.ru_maxrss, now_s() - begin,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
