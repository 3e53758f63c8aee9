/* SPDX-License-Identifier: MIT */
/*
 * An applier alone, from C++ with an edge-triggered epoll: gives new connections to ADDRESS a window
 * of CWND segments until standard input ends.
 *
 *     applier ADDRESS CWND
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <riptide/apply.h>
#include <sys/epoll.h>

struct Free {
    void operator()(riptide_applier *applier) const
    {
        riptide_applier_stop(applier);
        riptide_applier_free(applier);
    }
};

/* Until no work remains: an edge comes once. */
static int serve(riptide_applier *applier)
{
    const riptide_route *route;
    int r;

    do {
        r = riptide_applier_dispatch(applier);
        while (riptide_applier_pop(applier, &route) == 0)
            std::printf("%s by %s: %u %s\n", riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state),
                        riptide_name(RIPTIDE_NAMES_BACKEND, route->backend), route->initcwnd,
                        route->reason);
        std::fflush(stdout);
    } while (r == RIPTIDE_E_MORE);
    return r;
}

int main(int argc, char **argv)
{
    riptide_applier *made = nullptr;
    riptide_wanted wanted = {};
    riptide_error error = {};

    if (argc != 3 || riptide_prefix_parse(&wanted.dst, argv[1]) < 0 ||
        riptide_applier_new(&made, nullptr, &error) < 0)
        return std::fprintf(stderr, "applier ADDRESS CWND %s\n", error.text), 2;
    const std::unique_ptr<riptide_applier, Free> applier(made);
    wanted.initcwnd = static_cast<uint32_t>(std::atoi(argv[2]));
    if (riptide_applier_start(made, &error) < 0)
        return std::fprintf(stderr, "%s\n", error.text), 1;
    riptide_applier_set(made, &wanted);

    const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    const int applier_fd = riptide_applier_get_fd(made);
    epoll_event ours = {}, input = {}, event = {};
    ours.events = EPOLLIN | EPOLLET;
    ours.data.fd = applier_fd;
    input.events = EPOLLIN;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, applier_fd, &ours);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &input);
    while (epoll_wait(epoll_fd, &event, 1, -1) == 1 && event.data.fd == applier_fd) {
        if (serve(made) < 0)
            return 1;
    }
}
