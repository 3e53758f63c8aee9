/* SPDX-License-Identifier: MIT */
/*
 * The program's life: its cgroup, its maps, the verifier, and being attached.
 */
#include "apply/program/program.h"

#include "apply/program/bpf.h"
#include "apply/program/program_code.h"
#include "apply/program/window.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PROGRAM_INSTRUCTIONS (sizeof(program_code) / sizeof(program_code[0]))

enum { LOG_BYTES = 4096 };

/* Where service managers mount cgroup2: alone, or beside cgroup v1. */
static const char *const usual_cgroups[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

/* Opens `cgroup` if it is a directory of cgroup2; otherwise sets errno. */
static bool open_one(struct program *program, const char *cgroup)
{
    struct statfs found;

    program->cgroup_fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (program->cgroup_fd < 0)
        return false;
    if (fstatfs(program->cgroup_fd, &found) == 0 && found.f_type == CGROUP2_SUPER_MAGIC)
        return true;
    closep(&program->cgroup_fd);
    errno = EINVAL;
    return false;
}

static int program_init(struct program *program, const char *cgroup, struct riptide_error *error)
{
    const char *opened = NULL;

    *program = (struct program){ .cgroup_fd = -1,
                                 .maps = { -1, -1, -1 },
                                 .program_fd = -1,
                                 .link_fd = -1 };
    if (cgroup)
        opened = open_one(program, cgroup) ? cgroup : NULL;
    for (size_t i = 0; !cgroup && !opened && i < 2; i++)
        opened = open_one(program, usual_cgroups[i]) ? usual_cgroups[i] : NULL;
    /* -ENOENT is not final: a service manager may make the cgroup later. */
    if (!opened && cgroup && errno == ENOENT) {
        error_set_field(error, "cgroup", "%s is not there: make it first", cgroup);
        return -ENOENT;
    }
    if (!opened && cgroup)
        return error_set_field(error, "cgroup", "%s is no directory of cgroup2", cgroup);
    if (!opened)
        return error_set_field(error, "cgroup", "neither %s nor %s is a directory of cgroup2",
                               usual_cgroups[0], usual_cgroups[1]);
    program->cgroup = strdup(opened);
    return program->cgroup ? 0 : -ENOMEM;
}

int program_new(struct program **programp, const char *cgroup, struct riptide_error *error)
{
    struct program *program = malloc(sizeof(*program));
    int r = program ? program_init(program, cgroup, error) : -ENOMEM;

    if (r == 0)
        *programp = program;
    else
        program_free(program);
    return r;
}

/* One element more, because the trie adds a window before it frees the one that this replaces. */
static int create_windows(uint32_t max_windows)
{
    return bpf_create_map(BPF_MAP_TYPE_LPM_TRIE, "riptide_windows", sizeof(struct window_key),
                          sizeof(struct window), max_windows + 1, -1);
}

static int create_maps(struct program *program)
{
    CLEANUP(closep) int windows_fd = create_windows(1);
    const struct {
        enum bpf_map_type type;
        const char *name;
        uint32_t value_bytes;
    } rows[MAPS] = {
        [MAP_WINDOWS] = { BPF_MAP_TYPE_HASH_OF_MAPS, "riptide_netns", sizeof(uint32_t) },
        [MAP_SETTINGS] = { BPF_MAP_TYPE_HASH, "riptide_set", sizeof(struct window_settings) },
        [MAP_COUNTS] = { BPF_MAP_TYPE_HASH, "riptide_counts", sizeof(struct window_counts) },
    };

    if (windows_fd < 0)
        return windows_fd;
    for (int map = 0; map < MAPS; map++) {
        int fd = bpf_create_map(rows[map].type, rows[map].name, sizeof(uint64_t),
                                rows[map].value_bytes, 1, windows_fd);

        if (fd < 0)
            return fd;
        program->maps[map] = fd;
    }
    return 0;
}

/*
 * Since Linux 6.1 programs can read SO_MAX_PACING_RATE, but loading one does not show whether it
 * can. A helper of the same release shows it, also in older kernels with the BPF of a later one.
 */
static bool is_before_6_1(void)
{
    enum { KTIME_GET_TAI_NS = 208 };
    static const struct bpf_insn code[] = {
        { .code = BPF_JMP | BPF_CALL, .imm = KTIME_GET_TAI_NS },
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    CLEANUP(closep)
    int fd = bpf_load_sockops("riptide_probe", code, sizeof(code) / sizeof(code[0]), NULL, 0);

    return fd == -EOPNOTSUPP;
}

static int load(struct program *program, struct riptide_error *error)
{
    struct bpf_insn code[PROGRAM_INSTRUCTIONS];
    char log[LOG_BYTES] = "";
    int r;

    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
        error_set(error, "the program per connection is made for little-endian processors");
        return -EOPNOTSUPP;
    }
    r = create_maps(program);
    if (r == 0) {
        memcpy(code, program_code, sizeof(code));
        for (size_t i = 0; i < sizeof(program_maps) / sizeof(program_maps[0]); i++) {
            code[program_maps[i].at].src_reg = BPF_PSEUDO_MAP_FD;
            code[program_maps[i].at].imm = program->maps[program_maps[i].map];
        }
        r = bpf_load_sockops("riptide", code, PROGRAM_INSTRUCTIONS, log, sizeof(log));
    }
    if (r >= 0) {
        program->program_fd = r;
        program->cannot_pace = is_before_6_1();
        return 0;
    }
    log[strcspn(log, "\n")] = '\0'; /* the other lines are the place, and statistics */
    if (r == -EPERM)
        error_set(error, "a program per connection needs CAP_BPF and CAP_NET_ADMIN");
    else if (log[0] && strncmp(log, "verification time ", 18) != 0)
        error_set(error, "the kernel refuses the program: %s", log);
    else
        error_set(error, "bpf(2): %s", strerror(-r));
    return r;
}

static void close_all(struct program *program)
{
    closep(&program->link_fd);
    closep(&program->program_fd);
    for (int map = 0; map < MAPS; map++)
        closep(&program->maps[map]);
}

void program_free(struct program *program)
{
    if (!program)
        return;
    close_all(program);
    closep(&program->cgroup_fd);
    free(program->cgroup);
    free(program);
}

int program_load(struct program *program, struct riptide_error *error)
{
    int r = load(program, error);

    if (r < 0)
        close_all(program);
    return r;
}

int program_unload(struct program *program)
{
    int r = 0;

    if (program->link_fd >= 0 && bpf_link_has(program->link_fd, program->program_fd))
        r = bpf_detach_link(program->link_fd);
    close_all(program);
    return r;
}

/* Open sockets can keep a removed cgroup and the program on it alive. */
static bool is_removed(const struct program *program)
{
    struct stat held, found;

    if (fstat(program->cgroup_fd, &held) < 0)
        return true;
    /* Without the permission to look, assumes that it is still there. */
    if (stat(program->cgroup, &found) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return held.st_dev != found.st_dev || held.st_ino != found.st_ino;
}

static bool is_detached(const struct program *program)
{
    return program->link_fd >= 0 &&
           (!bpf_link_has(program->link_fd, program->program_fd) || is_removed(program));
}

int program_attach(struct program *program, struct riptide_error *error)
{
    int fd;

    if (program->link_fd >= 0 && !is_detached(program))
        return 0;
    /* The cgroup may have been removed and made again: opens its path anew. */
    if (program->link_fd >= 0) {
        bpf_detach_link(program->link_fd);
        closep(&program->cgroup_fd);
        if (!open_one(program, program->cgroup) && (errno == ENOENT || errno == EINVAL))
            return error_set_field(error, "cgroup",
                                   "%s is gone; connections get windows again when it is made anew",
                                   program->cgroup);
        if (program->cgroup_fd < 0)
            return error_set_field(error, "cgroup",
                                   "%s: %s; connections get windows again when it can be opened",
                                   program->cgroup, strerror(errno));
    }
    fd = bpf_link_sockops(program->program_fd, program->cgroup_fd);
    if (fd < 0) {
        if (fd == -EPERM)
            error_set_field(error, "cgroup",
                            "%s: another program is attached to it, or above it, and allows no "
                            "other; detach that program, or name another cgroup",
                            program->cgroup);
        else if (fd == -E2BIG)
            error_set_field(error, "cgroup",
                            "%s: 64 programs are on it, the most that the kernel takes",
                            program->cgroup);
        else
            error_set_field(error, "cgroup", "%s: %s", program->cgroup, strerror(-fd));
        return fd;
    }
    closep(&program->link_fd);
    program->link_fd = fd;
    return 0;
}

int program_check(struct program *program, struct riptide_error *why)
{
    int r;

    if (!is_detached(program))
        return 0;
    r = program_attach(program, why);
    if (r < 0)
        return r;
    error_set(why, "the program was detached from %s, or replaced there; it is attached again",
              program->cgroup);
    return 1;
}

int program_add_netns(struct program *program, uint64_t netns_cookie, uint32_t max_windows,
                      int *windows_fdp, struct riptide_error *error)
{
    CLEANUP(closep) int windows_fd = create_windows(max_windows);
    struct window_counts counts = { 0 };
    int r = windows_fd < 0 ? windows_fd : 0;

    if (r == 0)
        r = bpf_set_element(program->maps[MAP_COUNTS], &netns_cookie, &counts);
    if (r == 0)
        r = bpf_set_element(program->maps[MAP_WINDOWS], &netns_cookie, &windows_fd);
    if (r < 0) {
        error_set(error, "a network namespace's windows: %s", bpf_error_text(r));
        return r;
    }
    *windows_fdp = windows_fd;
    windows_fd = -1;
    return 0;
}
