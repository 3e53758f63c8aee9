/* SPDX-License-Identifier: MIT */
/*
 * The program's life: its maps, the verifier, and being attached.
 */
#include "apply/program/program.h"

#include "apply/program/bpf.h"
#include "apply/program/program_code.h"
#include "apply/program/window.h"
#include "internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define PROGRAM_INSTRUCTIONS (sizeof(program_code) / sizeof(program_code[0]))

enum { LOG_BYTES = 4096 };

static int create_maps(struct program *program, uint64_t netns_cookie, uint32_t max_windows)
{
    const struct {
        enum bpf_map_type type;
        const char *name;
        uint32_t value_bytes;
    } rows[MAPS] = {
        [MAP_WINDOWS] = { BPF_MAP_TYPE_HASH_OF_MAPS, "riptide_netns", sizeof(uint32_t) },
        [MAP_SETTINGS] = { BPF_MAP_TYPE_HASH, "riptide_set", sizeof(struct window_settings) },
        [MAP_COUNTS] = { BPF_MAP_TYPE_HASH, "riptide_counts", sizeof(struct window_counts) },
    };
    const struct window_counts counts = { 0 };
    int *fds = program->maps, r;

    /* One element more, as the trie adds a window before it frees the one that this replaces. */
    program->windows_fd =
        bpf_create_map(BPF_MAP_TYPE_LPM_TRIE, "riptide_windows", sizeof(struct window_key),
                       sizeof(struct window), max_windows + 1, -1);
    r = program->windows_fd;
    for (int map = 0; map < MAPS && r >= 0; map++)
        r = fds[map] = bpf_create_map(rows[map].type, rows[map].name, sizeof(netns_cookie),
                                      rows[map].value_bytes, 1, program->windows_fd);
    if (r >= 0)
        r = bpf_element(BPF_MAP_UPDATE_ELEM, fds[MAP_COUNTS], &netns_cookie, &counts);
    if (r >= 0)
        r = bpf_element(BPF_MAP_UPDATE_ELEM, fds[MAP_WINDOWS], &netns_cookie,
                        &program->windows_fd);
    return r;
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

/* A user namespace other than the host's: inode PROC_USER_INIT_INO of the kernel's proc_ns.h. */
static bool is_in_user_namespace(void)
{
    struct stat found;

    return stat("/proc/self/ns/user", &found) == 0 && found.st_ino != 0xeffffffd;
}

int program_load(struct program *program, uint64_t netns_cookie, uint32_t max_windows,
                 struct riptide_error *error)
{
    struct bpf_insn code[PROGRAM_INSTRUCTIONS];
    char log[LOG_BYTES] = "";
    int r;

    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
        error_set(error, "the program is made for little-endian processors");
        return -EOPNOTSUPP;
    }
    r = create_maps(program, netns_cookie, max_windows);
    if (r >= 0) {
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
    if (r == -EPERM && is_in_user_namespace())
        error_set(error, "the program needs CAP_BPF and CAP_NET_ADMIN of the host, and this is a "
                         "user namespace: start it outside, or give windows by routes");
    else if (r == -EPERM)
        error_set(error, "the program needs CAP_BPF and CAP_NET_ADMIN");
    else if (log[0] && strncmp(log, "verification time ", 18) != 0)
        error_set(error, "the kernel refuses the program: %s", log);
    else
        error_set(error, "bpf(2): %s", strerror(-r));
    program_unload(program);
    return r;
}

static void close_all(struct program *program)
{
    closep(&program->link_fd);
    closep(&program->program_fd);
    closep(&program->windows_fd);
    for (int map = 0; map < MAPS; map++)
        closep(&program->maps[map]);
}

int program_init(struct program *program, const char *cgroup, struct riptide_error *error)
{
    *program = (struct program){
        .maps = { -1, -1, -1 }, .windows_fd = -1, .program_fd = -1, .link_fd = -1
    };
    return cgroup_open(&program->cgroup, cgroup, error);
}

void program_deinit(struct program *program)
{
    close_all(program);
    cgroup_close(&program->cgroup);
}

int program_unload(struct program *program)
{
    int r = 0;

    if (program->link_fd >= 0 && bpf_link_has(program->link_fd, program->program_fd))
        r = bpf_detach_link(program->link_fd);
    close_all(program);
    return r;
}

int program_attach(struct program *program, struct riptide_error *error)
{
    const char *path = program->cgroup.path;
    int fd = bpf_link_sockops(program->program_fd, program->cgroup.fd);

    if (fd == -EPERM)
        error_set_field(error, "cgroup",
                        "%s: another program is attached to it, or above it, and allows no other; "
                        "detach that program, or name another cgroup",
                        path);
    else if (fd == -E2BIG)
        error_set_field(error, "cgroup",
                        "%s: 64 programs are on it, the most that the kernel takes", path);
    else if (fd < 0)
        error_set_field(error, "cgroup", "%s: %s", path, strerror(-fd));
    if (fd < 0)
        return fd;
    closep(&program->link_fd);
    program->link_fd = fd;
    return 0;
}

int program_check(struct program *program, struct riptide_error *why)
{
    int r;

    if (program->link_fd < 0 || (bpf_link_has(program->link_fd, program->program_fd) &&
                                 !cgroup_is_removed(&program->cgroup)))
        return 0;
    bpf_detach_link(program->link_fd);
    r = cgroup_open_again(&program->cgroup, why);
    if (r == 0)
        r = program_attach(program, why);
    if (r < 0)
        return r;
    error_set(why, "the program was detached from %s, or replaced there; it is attached again",
              program->cgroup.path);
    return 1;
}
