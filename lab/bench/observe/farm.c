/* SPDX-License-Identifier: MIT */
/*
 * Makes N established TCP sockets without peers and keeps them until its input ends:
 *
 *     farm SOCKETS DESTINATIONS
 *
 * Socket s goes to destination s modulo DESTINATIONS: 10.64.0.0 + d. Its local port is 443, and the next
 * ones where 60,000 remote ports of a destination (from 1024) are used up. The caller has routed these
 * destinations to a dummy link; the windows are what the initcwnd of these routes says.
 *
 * Prints `ready` once all are there. However it ends, no socket stays, and none lingers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIRST_DESTINATION = 0x0a400000,
    FIRST_LOCAL_PORT = 443,
    FIRST_REMOTE_PORT = 1024,
    REMOTE_PORTS = 60000,
    OTHER_FILES = 16, /* of a process, beside its sockets */
};

struct plan {
    uint32_t sockets;
    uint32_t destinations;
};

static void die(const char *what)
{
    fprintf(stderr, "farm: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct sockaddr_in address_of(uint32_t address, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(address),
    };
}

/* SO_LINGER: closing sends no FIN, and leaves no socket that waits for an answer. */
static void make_socket(const struct plan *plan, uint32_t index)
{
    const int repair_on = TCP_REPAIR_ON, repair_off = TCP_REPAIR_OFF_NO_WP;
    const struct linger abort_at_close = { .l_onoff = 1 };
    uint32_t nth = index / plan->destinations;
    struct sockaddr_in local =
        address_of(INADDR_ANY, (uint16_t)(FIRST_LOCAL_PORT + nth / REMOTE_PORTS));
    struct sockaddr_in remote = address_of(FIRST_DESTINATION + index % plan->destinations,
                                           (uint16_t)(FIRST_REMOTE_PORT + nth % REMOTE_PORTS));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        die("socket");
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort_at_close, sizeof(abort_at_close)) < 0)
        die("SO_LINGER");
    if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &repair_on, sizeof(repair_on)) < 0)
        die("TCP_REPAIR, which needs CAP_NET_ADMIN");
    if (bind(fd, (const struct sockaddr *)&local, sizeof(local)) < 0)
        die("bind");
    if (connect(fd, (const struct sockaddr *)&remote, sizeof(remote)) < 0)
        die("connect");
    if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &repair_off, sizeof(repair_off)) < 0)
        die("TCP_REPAIR_OFF_NO_WP");
}

/* A pipe's two ends. */
struct pipe {
    int out;
    int in;
};

/* A child: makes its sockets, writes a byte, then waits until the parent ends. */
static void keep(const struct plan *plan, uint32_t begin, uint32_t end, struct pipe ready,
                 struct pipe hold)
{
    char byte = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ready.out);
    close(hold.in);
    for (uint32_t i = begin; i < end; i++)
        make_socket(plan, i);
    if (write(ready.in, &byte, 1) != 1)
        die("write");
    close(ready.in);
    if (read(hold.out, &byte, 1) < 0)
        die("read");
    exit(0);
}

static struct pipe make_pipe(void)
{
    int fds[2];

    if (pipe(fds) < 0)
        die("pipe");
    return (struct pipe){ .out = fds[0], .in = fds[1] };
}

/* Even if a child is killed, its pipe closes, so that nobody waits forever. */
static bool all_are_ready(int fd, uint32_t children)
{
    uint32_t n = 0;
    char byte;

    while (read(fd, &byte, 1) == 1)
        n++;
    return n == children;
}

static uint32_t sockets_each(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        die("getrlimit");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        die("setrlimit");
    return (uint32_t)files.rlim_cur - OTHER_FILES;
}

static bool read_plan(struct plan *plan, int argc, char **argv)
{
    if (argc != 3)
        return false;
    plan->sockets = (uint32_t)strtoul(argv[1], NULL, 10);
    plan->destinations = (uint32_t)strtoul(argv[2], NULL, 10);
    return plan->sockets > 0 && plan->destinations > 0;
}

int main(int argc, char **argv)
{
    struct pipe ready = make_pipe(), hold = make_pipe();
    uint32_t each = sockets_each(), children = 0;
    bool is_ready;
    struct plan plan;
    char buffer[64];

    if (!read_plan(&plan, argc, argv)) {
        fputs("farm: farm SOCKETS DESTINATIONS\n", stderr);
        return 2;
    }
    for (uint32_t begin = 0; begin < plan.sockets; begin += each, children++) {
        uint32_t end = plan.sockets - begin < each ? plan.sockets : begin + each;
        pid_t pid = fork();

        if (pid < 0)
            die("fork");
        if (pid == 0)
            keep(&plan, begin, end, ready, hold);
    }
    close(ready.in);
    is_ready = all_are_ready(ready.out, children);
    if (is_ready) {
        puts("ready");
        fflush(stdout);
        while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0)
            ;
    }
    close(hold.in);
    while (wait(NULL) > 0)
        ;
    return is_ready ? 0 : 1;
}
