/* SPDX-License-Identifier: MIT */
/*
 * The program's life: its maps, the verifier, and being attached; by bpf(2), see linux/bpf.h. Not
 * libbpf: with libelf and zlib it would add 500 kB (docs/design.md). windows.c has its windows.
 */
#include "apply/program/program.h"

#include "apply/opened.h"
#include "apply/program/bpf.h"
#include "apply/program/program_code.h"
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Debian 11's headers do not have it. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum { LOG_BYTES = 4096 };

/* With a log for the message; without a trace, which before Linux 6.4 would fill it. */
static int load_code(const struct bpf_insn *code, size_t n, char log[LOG_BYTES])
{
    enum { LOG_STATS = 4 }; /* BPF_LOG_STATS of the kernel's bpf_verifier.h */

    return BPF(BPF_PROG_LOAD, expected_attach_type, .prog_type = BPF_PROG_TYPE_SOCK_OPS,
               .expected_attach_type = BPF_CGROUP_SOCK_OPS, .prog_name = "riptide",
               .license = (uintptr_t)"Dual MIT/GPL", .insns = (uintptr_t)code,
               .insn_cnt = (uint32_t)n, .log_level = LOG_STATS, .log_buf = (uintptr_t)log,
               .log_size = LOG_BYTES);
}

static int get_info(int fd, void *info, size_t size)
{
    return BPF(
        BPF_OBJ_GET_INFO_BY_FD, info,
        .info = { .bpf_fd = (uint32_t)fd, .info_len = (uint32_t)size, .info = (uintptr_t)info });
}

/*
 * Whether it is attached, as our link, to a cgroup that exists. A removed one keeps its programs
 * while it has sockets, but not its files. The path is not looked up: a host that has entered a
 * chroot or another mount namespace does not see the cgroup there.
 */
static bool is_attached(const struct program *program)
{
    struct bpf_link_info link = { 0 };
    struct bpf_prog_info info = { 0 };
    struct stat found;

    if (get_info(program->fds[FD_LINK], &link, sizeof(link)) < 0 ||
        get_info(program->fds[FD_PROGRAM], &info, sizeof(info)) < 0 || link.prog_id != info.id)
        return false;
    /* A link that was detached is of no cgroup. */
    if (link.cgroup.cgroup_id == 0)
        return false;
    /* Without the permission to look, assumes that it is still there. */
    return fstatat(program->fds[FD_CGROUP], "cgroup.procs", &found, 0) == 0 || errno != ENOENT;
}

/* Even if a child of fork(2) has a copy of the fd. Since Linux 5.9. */
static int detach(const struct program *program)
{
    return BPF(BPF_LINK_DETACH, link_detach,
               .link_detach = { .link_fd = (uint32_t)program->fds[FD_LINK] });
}

static int create_maps(struct program *program)
{
    struct window_common *common;
    int *fds = program->fds;

    /* Its memory is that of windows in use, which the caller bounds. */
    fds[FD_WINDOWS] = BPF(BPF_MAP_CREATE, map_name, .map_type = BPF_MAP_TYPE_LPM_TRIE,
                          .map_name = "riptide_windows", .key_size = sizeof(struct window_key),
                          .value_size = sizeof(struct window), .max_entries = UINT32_MAX,
                          .map_flags = BPF_F_NO_PREALLOC);
    if (fds[FD_WINDOWS] < 0)
        return fds[FD_WINDOWS];
    fds[FD_COMMON] =
        BPF(BPF_MAP_CREATE, map_name, .map_type = BPF_MAP_TYPE_ARRAY, .map_name = "riptide_common",
            .key_size = sizeof(uint32_t), .value_size = sizeof(*common), .max_entries = 1,
            .map_flags = BPF_F_MMAPABLE);
    if (fds[FD_COMMON] < 0)
        return fds[FD_COMMON];
    common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED, fds[FD_COMMON], 0);
    if (common == MAP_FAILED)
        return -errno;
    common->netns_cookie = program->netns_cookie;
    common->alive_ns = read_clock(CLOCK_MONOTONIC);
    common->is_paused = program->backend.paused != RIPTIDE_REASON_NONE;
    common->holdout = ARM_SHARE(program->config->holdout_percent);
    common->seed = program->config->holdout_seed;
    program->common = common;
    return 0;
}

/*
 * Since Linux 6.1 programs can read SO_MAX_PACING_RATE, but loading one does not show whether it
 * can. A helper of the same release shows it, also in older kernels with the BPF of a later one.
 */
static bool can_read_pacing(void)
{
    enum { KTIME_GET_TAI_NS = 208 };
    static const struct bpf_insn code[] = {
        { .code = BPF_JMP | BPF_CALL, .imm = KTIME_GET_TAI_NS },
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    char log[LOG_BYTES] = "";
    CLEANUP(closep) int fd = load_code(code, sizeof(code) / sizeof(code[0]), log);

    return fd != -EOPNOTSUPP;
}

static int load(struct program *program, struct riptide_error *error)
{
    struct bpf_insn code[sizeof(program_code) / sizeof(program_code[0])];
    char log[LOG_BYTES] = "";
    int r = create_maps(program);

    memcpy(code, program_code, sizeof(code));
    for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++) {
        if (code[i].src_reg == BPF_PSEUDO_MAP_FD && code[i].code == (BPF_LD | BPF_IMM | BPF_DW))
            code[i].imm = program->fds[code[i].imm];
    }
    if (r == 0)
        r = load_code(code, sizeof(code) / sizeof(code[0]), log);
    if (r >= 0) {
        program->fds[FD_PROGRAM] = r;
        program->can_pace &= can_read_pacing();
        return 0;
    }
    log[strcspn(log, "\n")] = '\0'; /* the other lines are the place, and statistics */
    if (r == -EPERM)
        error_set(error, "the program needs CAP_BPF and CAP_NET_ADMIN of the host; those of a user "
                         "namespace are not enough");
    else if (log[0] && strncmp(log, "verification time ", 18) != 0)
        error_set(error, "the kernel refuses the program: %s", log);
    else
        error_set(error, "bpf(2): %s", strerror(-r));
    return r;
}

static int attach(struct program *program, struct riptide_error *error)
{
    CLEANUP(closep) int cgroup_fd = cgroup_open(&program->cgroup, error);
    const char *why;
    int fd;

    if (cgroup_fd < 0)
        return cgroup_fd;
    fd = BPF(BPF_LINK_CREATE, link_create.attach_type,
             .link_create = { .prog_fd = (uint32_t)program->fds[FD_PROGRAM],
                              .target_fd = (uint32_t)cgroup_fd,
                              .attach_type = BPF_CGROUP_SOCK_OPS });
    if (fd >= 0) {
        closep(&program->fds[FD_LINK]);
        closep(&program->fds[FD_CGROUP]);
        program->fds[FD_LINK] = fd;
        program->fds[FD_CGROUP] = cgroup_fd;
        cgroup_fd = -1;
        return 0;
    }
    why = strerror(-fd);
    if (fd == -EPERM)
        why = "another program is attached to it, or above it, and allows no other; detach that "
              "program, or name another cgroup";
    else if (fd == -E2BIG)
        why = "64 programs are on it, the most that the kernel takes";
    error_set_field(error, "applier.cgroup", "%s: %s", program->cgroup.path, why);
    return fd;
}

/* Of the thread's network namespace, unique until reboot. */
static int read_netns_cookie(uint64_t *cookiep, struct riptide_error *error)
{
    socklen_t n_bytes = sizeof(*cookiep);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookiep, &n_bytes) == 0)
        return 0;
    if (errno != ENOPROTOOPT)
        return -errno;
    error_set(error, "the program needs Linux 5.15");
    return -EOPNOTSUPP;
}

static void close_all(struct program *program)
{
    if (program->common)
        munmap(program->common, sizeof(*program->common));
    program->common = NULL;
    for (int i = 0; i < FDS; i++)
        closep(&program->fds[i]);
}

static void program_free(struct backend *backend)
{
    struct program *program = program_of(backend);

    if (!program)
        return;
    close_all(program);
    closep(&program->cgroup.at_fd);
    free(program->cgroup.path);
    prefix_table_deinit(&program->queue);
    free(program);
}

/* A kernel before 5.15 is -EOPNOTSUPP; the other errors are those of cgroup_find. */
static int program_new(struct backend **backendp, const struct riptide_applier_config *config,
                       struct riptide_error *error)
{
    struct program *program = malloc(sizeof(*program));
    int r;

    if (!program)
        return -ENOMEM;
    *program = (struct program){ .backend = { .row = &program_row, .fd = -1 },
                                 .config = config,
                                 .can_pace = config->pacing,
                                 .fds = { -1, -1, -1, -1, -1 } };
    prefix_table_init(&program->queue, sizeof(struct queued), config->max_windows);
    r = cgroup_find(&program->cgroup, config->cgroup, error);
    if (r == 0)
        r = read_netns_cookie(&program->netns_cookie, error);
    if (r == 0)
        *backendp = &program->backend;
    else
        program_free(&program->backend);
    return r;
}

/* Undoes a start, whoever has copies of its fds; another may follow. */
static int program_stop(struct backend *backend)
{
    struct program *program = program_of(backend);
    int r = program->fds[FD_LINK] >= 0 ? detach(program) : 0;

    close_all(program);
    return r;
}

/* Errors: those of bpf(2), -EOPNOTSUPP for EINVAL. */
static int program_start(struct backend *backend, struct riptide_error *error)
{
    struct program *program = program_of(backend);
    int r = load(program, error);

    /* A user's dry start cannot tell whether the kernel takes it from root. */
    if (program->config->dry_run) {
        close_all(program);
        return r == -EPERM && geteuid() != 0 ? 0 : r;
    }
    if (r == 0)
        r = attach(program, error);
    if (r < 0)
        program_stop(backend);
    return r;
}

static int program_set_paused(struct backend *backend)
{
    struct program *program = program_of(backend);

    if (program->common)
        program->common->is_paused = backend->paused != RIPTIDE_REASON_NONE;
    return 0;
}

static void set_reason(struct program *program, enum riptide_reason reason, const char *text)
{
    program->reason = reason;
    program->reason_text = text;
}

/*
 * Attaches the program again after it was detached, or its cgroup was removed and made again. That
 * is the reason until the next tick.
 */
static void program_tick(struct backend *backend, uint32_t n_seconds)
{
    struct program *program = program_of(backend);
    struct riptide_error *text = &program->texts[program->reason_text == program->texts[0].text];
    struct riptide_error error;
    int r;

    (void)n_seconds;
    windows_tick(program);
    if (program->common)
        program->common->alive_ns = read_clock(CLOCK_MONOTONIC);
    if (program->fds[FD_LINK] < 0 || is_attached(program)) {
        set_reason(program, RIPTIDE_REASON_NONE, NULL);
        return;
    }
    detach(program);
    r = attach(program, &error);
    if (r < 0)
        error_set(text, "%s", error_without_field(&error));
    else
        error_set(text, "the program was detached from %s, or replaced there; it is attached again",
                  program->cgroup.path);
    /* Being attached again is a reason only if there was none for the time without. */
    if (r == 0 && program->is_detached)
        set_reason(program, RIPTIDE_REASON_NONE, NULL);
    else if (!program->reason_text || strcmp(program->reason_text, text->text) != 0)
        set_reason(program, r < 0 ? RIPTIDE_REASON_NOT_ATTACHED : RIPTIDE_REASON_WAS_DETACHED,
                   text->text);
    program->is_detached = r < 0;
}

static bool program_is_in_force(const struct backend *backend)
{
    return !backend->paused && !program_of(backend)->reason;
}

_Static_assert(sizeof(struct riptide_program_counts) == sizeof(struct window_counts), "same");

static void program_give_stats(const struct backend *backend, struct riptide_applier_stats *stats)
{
    const struct program *program = program_of(backend);

    if (!backend_is_in_use(backend))
        return;
    /* One that was detached paces nothing. */
    stats->can_pace = program->can_pace && !program->is_detached;
    stats->is_idle &= windows_are_idle(program);
    stats->program_reason_code = backend->paused ? backend->paused : program->reason;
    stats->program_reason = backend->paused ? backend->paused_text : program->reason_text;
    stats->cgroup = program->cgroup.path;
    if (program->common)
        memcpy(&stats->program, &program->common->counts, sizeof(stats->program));
}

const struct backend_row program_row = {
    .bit = RIPTIDE_PROGRAM,
    .traits = RIPTIDE_REACHES_KERNEL | RIPTIDE_TAKES_PREFIXES | RIPTIDE_TAKES_CGROUP |
              RIPTIDE_PACES | RIPTIDE_HOLDS_OUT | RIPTIDE_COUNTS_OPENED | RIPTIDE_NEEDS_BPF |
              RIPTIDE_ENDS_WITH_PROCESS,
    .new = program_new,
    .free = program_free,
    .start = program_start,
    .stop = program_stop,
    .set_paused = program_set_paused,
    .set = windows_set,
    .tick = program_tick,
    .dispatch = windows_dispatch,
    .pop = windows_pop,
    .find = windows_find,
    .is_in_force = program_is_in_force,
    .give_stats = program_give_stats,
};

void program_set_holdout(struct program *program, double percent, uint32_t phase)
{
    struct window_common *common = program ? program->common : NULL;

    if (!common || (common->phase == phase && common->holdout == ARM_SHARE(percent)))
        return;
    /* No connection is drawn by the share of the other phase: in between by none. */
    __atomic_store_n(&common->holdout, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&common->phase, phase, __ATOMIC_SEQ_CST);
    __atomic_store_n(&common->holdout, ARM_SHARE(percent), __ATOMIC_SEQ_CST);
}

bool program_annotate(struct program *program, struct riptide_sample *sample)
{
    struct window_common *common = program ? program->common : NULL;
    struct note note = { .slot = NULL };

    if (common)
        note = opened_find(common, sample->cookie, program->config->holdout_seed);
    /* The lease's time is of the last second, and costs no look at the clock. */
    if (note.slot)
        opened_by_note(&note, sample, common->alive_ns);
    return note.slot;
}
