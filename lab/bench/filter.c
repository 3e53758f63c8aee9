/* SPDX-License-Identifier: MIT */
/*
 * What a filter costs before it has left out a single socket: the kernel checks its code at the
 * start of a dump, in a time that grows with the square of its length. Dumps a namespace without
 * connections, with scopes of more and more single hosts, and prints the processor time of a dump,
 * and how many sockets must be left out until the filter has paid for itself.
 *
 *     filter SOCKET_NS    what it costs to describe and read one socket; ./dev bench observe tells
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <riptide/observe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { TURNS = 15, DUMPS = 20, MAX_HOSTS = 4000 };

static const char *const kind_names[] = {
    [RIPTIDE_FILTER_NONE] = "none",
    [RIPTIDE_FILTER_PARTIAL] = "partial",
    [RIPTIDE_FILTER_WHOLE] = "whole",
};

static void die(const char *what, const char *reason)
{
    fprintf(stderr, "filter: %s: %s\n", what, reason);
    exit(1);
}

static double cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return 1e6 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void dump(struct riptide_observer *observer)
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    const struct riptide_sample *sample;
    int r = riptide_observer_start(observer);

    while (r == 0 || r == RIPTIDE_E_AGAIN) {
        r = poll(&fd, 1, -1) < 0 ? -errno : riptide_observer_dispatch(observer);
        while (r == 0 || r == RIPTIDE_E_MORE)
            r = riptide_observer_pop(observer, &sample);
    }
    if (r != RIPTIDE_E_DONE)
        die("dump", r < 0 ? strerror(-r) : "interrupted");
}

static int compare_doubles(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return (first > second) - (first < second);
}

static double time_dumps(struct riptide_observer *observer)
{
    double us = -cpu_us();

    for (int i = 0; i < DUMPS; i++)
        dump(observer);
    return (us + cpu_us()) / DUMPS;
}

/*
 * In turns, and the median: a dump also walks over other namespaces' connections, which come
 * and go.
 */
static double compare_dumps(struct riptide_observer *filtered, struct riptide_observer *plain)
{
    double us[TURNS];

    for (int turn = 0; turn < TURNS; turn++)
        us[turn] = time_dumps(filtered) - time_dumps(plain);
    qsort(us, TURNS, sizeof(us[0]), compare_doubles);
    return us[TURNS / 2];
}

/* The scope: n hosts, scattered over 10.0.0.0/8; 0: everything. */
static struct riptide_observer *open_observer(size_t n)
{
    static struct riptide_prefix hosts[MAX_HOSTS];
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    struct riptide_error error;

    for (size_t i = 0; i < n; i++) {
        uint32_t address = htonl(UINT32_C(10) << 24 | (uint32_t)i * UINT32_C(2654435761) >> 8);

        hosts[i] = (struct riptide_prefix){ .family = AF_INET, .len = 32 };
        memcpy(hosts[i].addr, &address, sizeof(address));
    }
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.learn = hosts;
    config.scope.n_learn = n;
    if (riptide_observer_new(&observer, &config, &error) != 0)
        die("observer", error.text);
    return observer;
}

int main(int argc, char **argv)
{
    static const size_t counts[] = { 1, 10, 100, 300, 1000, 1500, 2000, 4000 };
    double socket_ns = argc == 2 ? strtod(argv[1], NULL) : 0;
    struct riptide_observer *plain;

    if (socket_ns <= 0) {
        fputs("filter: filter SOCKET_NS\n", stderr);
        return 2;
    }
    plain = open_observer(0);
    printf("hosts  filter     a dump costs more by, us  pays when it leaves out\n");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct riptide_observer *filtered = open_observer(counts[i]);
        double us = compare_dumps(filtered, plain);
        struct riptide_observer_stats stats;

        riptide_observer_get_stats(filtered, &stats, sizeof(stats));
        printf("%5zu  %-8s  %24.0f  %15.0f sockets\n", counts[i],
               kind_names[stats.filter], us, us > 0 ? 1e3 * us / socket_ns : 0);
        riptide_observer_free(filtered);
    }
    riptide_observer_free(plain);
    return 0;
}
