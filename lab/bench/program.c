/* SPDX-License-Identifier: MIT */
/*
 * What windows by the program cost: program CGROUP. Prints lines "NAME NUMBER": windows set and
 * changed by the thousand, processor ns each, and for connections over loopback whose both ends the
 * program serves the ns that the kernel says it ran (BPF_ENABLE_STATS), each. "bare" are calls alone,
 * "nothing" is a program that only returns.
 */
#include "apply/program/program.h"
#include "program.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* HANDED: as many as an agent hands over in one dispatch. */
enum { OPENED = 5000, SERIES = 5, HANDED = 256 };

static const uint32_t numbers[] = { 1000, 10000, 100000 };

/* Processor time, as the machine is shared. */
static double cpu_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long call(enum bpf_cmd command, union bpf_attr *attr)
{
    return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* This process's program: others on the machine may have the same name. */
static struct bpf_prog_info read_program(const char *name)
{
    for (uint32_t fd = 0; fd < 64; fd++) {
        struct bpf_prog_info info = { 0 };
        union bpf_attr read = { .info = { fd, sizeof(info), (uintptr_t)&info } };

        if (call(BPF_OBJ_GET_INFO_BY_FD, &read) == 0 && info.type == BPF_PROG_TYPE_SOCK_OPS &&
            strcmp(info.name, name) == 0)
            return info;
    }
    fprintf(stderr, "program: no program %s\n", name);
    exit(EXIT_FAILURE);
}

/* The kernel's time for the calls only, without our own work. */
static void time_updates(uint32_t n)
{
    union bpf_attr attr = { .map_type = BPF_MAP_TYPE_LPM_TRIE,
                            .map_name = "bare",
                            .key_size = sizeof(struct window_key),
                            .value_size = sizeof(struct window),
                            .max_entries = n,
                            .map_flags = BPF_F_NO_PREALLOC };
    int fd = (int)call(BPF_MAP_CREATE, &attr);
    struct window_key key = { .prefix_bits = 32 + 32, .family = AF_INET };
    const struct window window = { .initcwnd = 40 };
    double start_s = 0;

    check(fd, "BPF_MAP_CREATE");
    for (int turn = 0; turn < 2; turn++) { /* the first turn adds them */
        start_s = cpu_s();
        for (uint32_t i = 0; i < n; i++) {
            uint32_t address = htonl(0x0a000000 + i);

            memcpy(key.address, &address, sizeof(address));
            check(map_element(BPF_MAP_UPDATE_ELEM, fd, &key, &window),
                  "map_element");
        }
    }
    printf("bare_%u_ns %.0f\n", n, 1e9 * (cpu_s() - start_s) / n);
    close(fd);
}

static void write_all(struct program *program)
{
    int r;

    do {
        r = windows_dispatch(program);
        check(r, "windows_dispatch");
    } while (r == RIPTIDE_E_MORE);
}

static void set_all(struct program *program, uint32_t n, uint32_t initcwnd)
{
    struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 32 },
                                     .initcwnd = initcwnd };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t address = htonl(0x0a000000 + i);

        memcpy(wanted.dst.addr, &address, sizeof(address));
        check(windows_set(program, &wanted), "windows_set");
        if (i % HANDED == HANDED - 1 || i == n - 1)
            write_all(program);
    }
}

static void time_windows(struct program *program, uint32_t n)
{
    static const char *const names[] = { "set", "changed", "withdrawn" };
    static const uint32_t windows[] = { 40, 50, 0 };

    for (int i = 0; i < 3; i++) {
        double start_s = cpu_s();

        set_all(program, n, windows[i]);
        printf("%s_%u_ns %.0f\n", names[i], n, 1e9 * (cpu_s() - start_s) / n);
    }
}

static void open_and_close(int listener, const struct sockaddr_in *address)
{
    int opened = socket(AF_INET, SOCK_STREAM, 0), accepted;
    const struct linger reset = { .l_onoff = 1 };

    check(connect(opened, (const struct sockaddr *)address, sizeof(*address)), "connect");
    accepted = accept(listener, NULL, NULL);
    check(accepted, "accept");
    setsockopt(opened, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(opened);
    close(accepted);
}

static void time_connections(const char *program, const char *name)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n_bytes = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct bpf_prog_info before, after;

    check(bind(listener, (const struct sockaddr *)&address, sizeof(address)), "bind");
    check(listen(listener, 16), "listen");
    check(getsockname(listener, (struct sockaddr *)&address, &n_bytes), "getsockname");
    for (int series = 0; series < SERIES; series++) {
        before = read_program(program);
        for (int i = 0; i < OPENED; i++)
            open_and_close(listener, &address);
        after = read_program(program);
        /* Signed, as the clock of a virtual machine may step back. */
        printf("%s_ns %.0f\n", name,
               (double)(int64_t)(after.run_time_ns - before.run_time_ns) / OPENED);
    }
    close(listener);
}

static void time_nothing(const char *cgroup)
{
    static const struct bpf_insn code[] = {
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    int cgroup_fd = open(cgroup, O_RDONLY | O_DIRECTORY);
    union bpf_attr program = { .prog_type = BPF_PROG_TYPE_SOCK_OPS,
                               .expected_attach_type = BPF_CGROUP_SOCK_OPS,
                               .prog_name = "nothing",
                               .insns = (uintptr_t)code,
                               .insn_cnt = 2,
                               .license = (uintptr_t) "MIT" };
    int program_fd = (int)call(BPF_PROG_LOAD, &program);
    union bpf_attr link = { .link_create = { .prog_fd = (uint32_t)program_fd,
                                             .target_fd = (uint32_t)cgroup_fd,
                                             .attach_type = BPF_CGROUP_SOCK_OPS } };
    int link_fd = (int)call(BPF_LINK_CREATE, &link);
    check(link_fd, "BPF_LINK_CREATE");
    time_connections("nothing", "nothing");
    close(link_fd);
    close(program_fd);
    close(cgroup_fd);
}

int main(int argc, char **argv)
{
    const struct riptide_applier_config config = { .cgroup = argc > 1 ? argv[1] : NULL };
    struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 8, .addr = { 127 } },
                                     .initcwnd = 40 };
    union bpf_attr stats = { .enable_stats.type = BPF_STATS_RUN_TIME };
    struct program *program;
    struct riptide_error error;

    if (program_new(&program, &config, 200000, &error) < 0 || program_start(program, &error) < 0) {
        fprintf(stderr, "program: %s\n", error.text);
        return EXIT_FAILURE;
    }
    check(call(BPF_ENABLE_STATS, &stats), "BPF_ENABLE_STATS");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        time_windows(program, numbers[i]);
    time_updates(10000);
    time_nothing(argv[1]);
    check(windows_set(program, &wanted), "windows_set");
    write_all(program);
    time_connections("riptide", "window");
    wanted.pacing_percent = 100;
    wanted.rto_min_us = 50000;
    wanted.receive_bytes = 300000;
    check(windows_set(program, &wanted), "windows_set");
    write_all(program);
    time_connections("riptide", "everything");
    set_all(program, 10000, 40);
    time_connections("riptide", "everything_beside_10000");
    program_free(program);
    return EXIT_SUCCESS;
}
