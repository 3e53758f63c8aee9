/* SPDX-License-Identifier: MIT */
/*
 * A host of the program for tests: program CGROUP [MAX_WINDOWS [HOLDOUT_PERCENT]]. Each line of stdin
 * is answered by one: the number that the function returned and, where there is one, its words.
 *
 *     set PREFIX CWND [NAME=NUMBER]...   NAME is a member of struct riptide_wanted
 *     wait PREFIX CWND                   the same without a dispatch
 *     pause, resume, check, stop
 *     counts                             given, paced, kept, held_out
 *     arm COOKIE                         its name, as user space computes it
 *     pop                                PREFIX STATE CWND REASON
 */
#include "apply/program/program.h"
#include "verdict/verdict.h"

#include <inttypes.h>
#include <riptide/riptide.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER(name)                                                                               \
    {                                                                                              \
#name "=", offsetof(struct riptide_wanted, name)                                           \
    }

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    MEMBER(cwnd_max), MEMBER(rto_min_us),    MEMBER(pacing_percent),
    MEMBER(rtt_us),   MEMBER(receive_bytes),
};

static int set(struct program *program, char *words)
{
    struct riptide_wanted wanted = { .initcwnd = 0 };
    char *word = strtok(words, " ");

    if (!word || riptide_prefix_parse(&wanted.dst, word) != 0 || !(word = strtok(NULL, " ")))
        return RIPTIDE_E_INVALID;
    wanted.initcwnd = (uint32_t)atoi(word);
    while ((word = strtok(NULL, " "))) {
        wanted.may_lower |= strcmp(word, "may_lower") == 0;
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
            size_t n = strlen(members[i].name);
            uint32_t value = (uint32_t)strtoul(word + n, NULL, 10);

            if (strncmp(word, members[i].name, n) == 0)
                memcpy((char *)&wanted + members[i].offset, &value, sizeof(value));
        }
    }
    return windows_set(program, &wanted);
}

static const char *pop(struct program *program, int *rp)
{
    static const char *const states[] = { "applied", "withdrawn", "left-alone", "failed" };
    static char words[256];
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_route route;

    *rp = windows_pop(program, &route);
    if (*rp != 0)
        return "";
    riptide_prefix_format(&route.dst, text);
    snprintf(words, sizeof(words), "%s %s %u %s", text, states[route.state], route.initcwnd,
             route.reason);
    return words;
}

static const char *count(const struct program *program)
{
    static const struct window_counts none;
    const struct window_counts *counts = program->common ? &program->common->counts : &none;
    static char words[128];

    snprintf(words, sizeof(words), "%llu %llu %llu %llu", counts->given, counts->paced,
             counts->kept, counts->held_out);
    return words;
}

static const char *name_arm(const struct riptide_applier_config *config, const char *cookie)
{
    return riptide_name(RIPTIDE_NAMES_ARM, arm_of(strtoull(cookie, NULL, 10), config->holdout_seed,
                                                  ARM_SHARE(config->holdout_percent)));
}

static void follow(struct program *program, struct riptide_applier_config *config, char *line)
{
    bool is_written = strncmp(line, "set ", 4) == 0 || strncmp(line, "check", 5) == 0;
    const char *words = "";
    int r = 0;

    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "set ", 4) == 0)
        r = set(program, line + 4);
    else if (strncmp(line, "wait ", 5) == 0)
        r = set(program, line + 5);
    else if (strcmp(line, "pause") == 0 || strcmp(line, "resume") == 0)
        program_set_paused(program, line[0] == 'p' ? "paused" : NULL);
    else if (strcmp(line, "stop") == 0)
        r = program_stop(program);
    else if (strcmp(line, "counts") == 0)
        words = count(program);
    else if (strncmp(line, "arm ", 4) == 0)
        words = name_arm(config, line + 4);
    else if (strcmp(line, "pop") == 0)
        words = pop(program, &r);
    else if (strcmp(line, "check") == 0)
        program_check(program);
    while (is_written && r >= 0 && (r = windows_dispatch(program)) == RIPTIDE_E_MORE)
        ;
    if (strcmp(line, "check") == 0 && program_get_reason(program))
        words = program_get_reason(program);
    printf("%d %s\n", r, words);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct riptide_applier_config config = {
        .cgroup = argc > 1 ? argv[1] : NULL,
        .holdout_percent = argc > 3 ? (uint32_t)atoi(argv[3]) : 0,
        .holdout_seed = 7,
    };
    struct program *program = NULL;
    struct riptide_error error;
    char line[256];
    int r = program_new(&program, &config, argc > 2 ? (uint32_t)atoi(argv[2]) : 1000, &error);

    if (r == 0)
        r = program_start(program, &error);
    printf("%d %s\n", r, r == 0 ? "" : error.text);
    fflush(stdout);
    while (r == 0 && fgets(line, sizeof(line), stdin))
        follow(program, &config, line);
    program_free(program);
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
