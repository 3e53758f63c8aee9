/* SPDX-License-Identifier: MIT */
/*
 * The program's life: its maps, the verifier, and being attached; by bpf(2), see
 * include/uapi/linux/bpf.h. Not libbpf: with libelf and zlib it would add 500 kB
 * (docs/decisions.md).
 */
#include "apply/program/program.h"

#include "apply/program/program_code.h"
#include "apply/program/window.h"
#include "internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROGRAM_INSTRUCTIONS (sizeof(program_code) / sizeof(program_code[0]))

enum { LOG_BYTES = 4096 };

/*
 * To the kernel all after the member `last` is 0, whatever the compiler leaves in a union behind the
 * member that is named.
 */
#define BPF(command, last, ...)                                                                    \
    call(command, &(union bpf_attr){ __VA_ARGS__ }, STRUCT_END(union bpf_attr, last))

/*
 * Returns -errno on failure; new fds have close-on-exec. The kernel's EINVAL means that it lacks
 * something; the library's, an invalid configuration.
 */
static int call(enum bpf_cmd command, union bpf_attr *attr, size_t size)
{
    long r = syscall(SYS_bpf, command, attr, size);

    if (r < 0)
        return errno == EINVAL ? -EOPNOTSUPP : -errno;
    return (int)r;
}

static uint64_t address_of(const void *pointer)
{
    return (uintptr_t)pointer;
}

int map_element(enum bpf_cmd command, int map_fd, const void *key, const void *value)
{
    return BPF(command, value, .map_fd = (uint32_t)map_fd, .key = address_of(key),
               .value = address_of(value));
}

int map_set_elements(int map_fd, const void *keys, const void *values, uint32_t *np)
{
    union bpf_attr attr = { .batch = { .map_fd = (uint32_t)map_fd,
                                       .keys = address_of(keys),
                                       .values = address_of(values),
                                       .count = *np } };
    int r = call(BPF_MAP_UPDATE_BATCH, &attr, STRUCT_END(union bpf_attr, batch));

    /* After an error before the first element the kernel leaves the count unchanged. */
    if (r < 0)
        *np = attr.batch.count < *np ? attr.batch.count : 0;
    return r;
}

static int load_sockops(const char *name, const struct bpf_insn *code, size_t n, char *log,
                        size_t log_bytes)
{
    enum { LOG_STATS = 4 }; /* BPF_LOG_STATS of the kernel's bpf_verifier.h */
    union bpf_attr attr = {
        .prog_type = BPF_PROG_TYPE_SOCK_OPS,
        .expected_attach_type = BPF_CGROUP_SOCK_OPS,
        .insns = address_of(code),
        .insn_cnt = (uint32_t)n,
        .license = address_of("Dual MIT/GPL"),
    };
    size_t size = STRUCT_END(union bpf_attr, expected_attach_type);
    int fd;

    strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
    fd = call(BPF_PROG_LOAD, &attr, size);
    if (fd >= 0 || fd == -EPERM || !log)
        return fd;
    /* Tries again with a log, for the message; without a trace, which before 6.4 would fill it. */
    attr.log_level = LOG_STATS;
    attr.log_buf = address_of(log);
    attr.log_size = (uint32_t)log_bytes;
    return call(BPF_PROG_LOAD, &attr, size);
}

static int get_info(int fd, void *info, size_t size)
{
    return BPF(BPF_OBJ_GET_INFO_BY_FD, info,
               .info = { .bpf_fd = (uint32_t)fd,
                         .info_len = (uint32_t)size,
                         .info = address_of(info) });
}

/* Whether it is attached to an existing cgroup, as our link. */
static bool is_attached(const struct program *program)
{
    struct bpf_link_info link = { 0 };
    struct bpf_prog_info info = { 0 };

    return get_info(program->link_fd, &link, sizeof(link)) == 0 && link.cgroup.cgroup_id != 0 &&
           get_info(program->program_fd, &info, sizeof(info)) == 0 && link.prog_id == info.id;
}

/* Even if a child of fork(2) has a copy of the fd. Since Linux 5.9. */
static int detach(const struct program *program)
{
    return BPF(BPF_LINK_DETACH, link_detach,
               .link_detach = { .link_fd = (uint32_t)program->link_fd });
}

static int create_maps(struct program *program, uint32_t max_windows)
{
    /* One window more, as the trie adds a window before it frees the one that this replaces. */
    union bpf_attr attrs[MAPS] = {
        [MAP_WINDOWS] = { .map_type = BPF_MAP_TYPE_LPM_TRIE,
                          .map_name = "riptide_windows",
                          .key_size = sizeof(struct window_key),
                          .value_size = sizeof(struct window),
                          .max_entries = max_windows + 1,
                          .map_flags = BPF_F_NO_PREALLOC },
        [MAP_SETTINGS] = { .map_type = BPF_MAP_TYPE_ARRAY,
                           .map_name = "riptide_set",
                           .key_size = sizeof(uint32_t),
                           .value_size = sizeof(struct window_settings),
                           .max_entries = 1 },
        [MAP_COUNTS] = { .map_type = BPF_MAP_TYPE_ARRAY,
                         .map_name = "riptide_counts",
                         .key_size = sizeof(uint32_t),
                         .value_size = sizeof(struct window_counts),
                         .max_entries = 1 },
    };

    for (int map = 0; map < MAPS; map++) {
        int fd = call(BPF_MAP_CREATE, &attrs[map], STRUCT_END(union bpf_attr, map_name));

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
    int fd = load_sockops("riptide_probe", code, sizeof(code) / sizeof(code[0]), NULL, 0);

    return fd == -EOPNOTSUPP;
}

/* A user namespace other than the host's: inode PROC_USER_INIT_INO of the kernel's proc_ns.h. */
static bool is_in_user_namespace(void)
{
    struct stat found;

    return stat("/proc/self/ns/user", &found) == 0 && found.st_ino != 0xeffffffd;
}

int program_load(struct program *program, uint32_t max_windows, struct riptide_error *error)
{
    struct bpf_insn code[PROGRAM_INSTRUCTIONS];
    char log[LOG_BYTES] = "";
    int r;

    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
        error_set(error, "the program is made for little-endian processors");
        return -EOPNOTSUPP;
    }
    r = create_maps(program, max_windows);
    if (r == 0) {
        memcpy(code, program_code, sizeof(code));
        for (size_t i = 0; i < sizeof(program_maps) / sizeof(program_maps[0]); i++) {
            code[program_maps[i].at].src_reg = BPF_PSEUDO_MAP_FD;
            code[program_maps[i].at].imm = program->maps[program_maps[i].map];
        }
        r = load_sockops("riptide", code, PROGRAM_INSTRUCTIONS, log, sizeof(log));
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
    for (int map = 0; map < MAPS; map++)
        closep(&program->maps[map]);
}

int program_init(struct program *program, const char *cgroup, struct riptide_error *error)
{
    *program = (struct program){ .maps = { -1, -1, -1 }, .program_fd = -1, .link_fd = -1 };
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

    if (program->link_fd >= 0 && is_attached(program))
        r = detach(program);
    close_all(program);
    return r;
}

int program_attach(struct program *program, struct riptide_error *error)
{
    const char *path = program->cgroup.path;
    int fd = BPF(BPF_LINK_CREATE, link_create.attach_type,
                 .link_create = { .prog_fd = (uint32_t)program->program_fd,
                                  .target_fd = (uint32_t)program->cgroup.fd,
                                  .attach_type = BPF_CGROUP_SOCK_OPS });

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

    if (program->link_fd < 0 || (is_attached(program) && !cgroup_is_removed(&program->cgroup)))
        return 0;
    detach(program);
    r = cgroup_open_again(&program->cgroup, why);
    if (r == 0)
        r = program_attach(program, why);
    if (r < 0)
        return r;
    error_set(why, "the program was detached from %s, or replaced there; it is attached again",
              program->cgroup.path);
    return 1;
}
