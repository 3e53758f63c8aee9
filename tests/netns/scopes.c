/* SPDX-License-Identifier: MIT */
/*
 * The kernel's verdict on scopes, held against the plain evaluation on the same sockets:
 *
 *     scopes ROUNDS SEED
 *
 * Each round draws a scope around the connections that are there. What an observer with this scope
 * hands out must be what riptide_scope_matches takes of all. Then slices: each connection once, and
 * the windows that they make of a destination, on average that of all. The connections must not
 * change meanwhile. Prints what was compared; ends with 1 and a line where something differs.
 */
#include "tools.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <riptide/compute.h>
#include <riptide/observe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MAX_SAMPLES = 20000, MAX_PREFIXES = 40, MAX_RANGES = 5 };

struct dump {
    struct riptide_sample samples[MAX_SAMPLES];
    size_t n;
};

struct drawn_scope {
    struct riptide_prefix learn[MAX_PREFIXES], exclude[MAX_PREFIXES];
    struct riptide_port_range local[MAX_RANGES], remote[MAX_RANGES];
    struct riptide_scope scope;
};

static struct dump all, some;

static void die(const char *what, const char *reason)
{
    printf("%s: %s\n", what, reason);
    exit(1);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)random() % n;
}

/* NULL where the scope is refused because nothing can match. */
static struct riptide_observer *open_observer(const struct riptide_scope *scope, uint32_t slices)
{
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    struct riptide_error error;

    riptide_observer_config_init(&config, sizeof(config));
    config.scope = *scope;
    config.slices = slices;
    if (riptide_observer_new(&observer, &config, &error) == 0)
        return observer;
    if (!strstr(error.text, "nothing matches"))
        die("observer", error.text);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const struct riptide_sample *first = a, *second = b;

    return first->cookie < second->cookie ? -1 : first->cookie > second->cookie;
}

/* One dump, sorted by cookie. */
static void take(struct riptide_observer *observer, struct dump *dump)
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    const struct riptide_sample *popped[RIPTIDE_POPPED_SAMPLES], *sample;
    int r = riptide_observer_start(observer);

    dump->n = 0;
    while (r == 0 || r == RIPTIDE_E_AGAIN) {
        r = poll(&fd, 1, 5000) == 1 ? riptide_observer_dispatch(observer) : -ETIMEDOUT;
        while (r >= 0 && (r = riptide_observer_pop(observer, &sample)) == 0) {
            if (dump->n == MAX_SAMPLES)
                die("dump", "more connections than there is room for");
            popped[dump->n % RIPTIDE_POPPED_SAMPLES] = sample;
            dump->samples[dump->n++] = *sample;
            for (size_t i = dump->n; i > 0 && i + RIPTIDE_POPPED_SAMPLES > dump->n; i--) {
                if (popped[(i - 1) % RIPTIDE_POPPED_SAMPLES]->cookie != dump->samples[i - 1].cookie)
                    die("pop", "a sample did not stay as it was popped");
            }
        }
    }
    if (r != RIPTIDE_E_DONE)
        die("dump", r < 0 ? strerror(-r) : "interrupted");
    qsort(dump->samples, dump->n, sizeof(dump->samples[0]), compare);
}

/* Around one of the connections, so that something is inside and something outside. */
static const struct riptide_sample *draw_sample(void)
{
    return &all.samples[below((uint32_t)all.n)];
}

static struct riptide_prefix draw_prefix(void)
{
    struct riptide_prefix prefix = draw_sample()->dst;
    uint32_t len = below(3) ? prefix.len - below(12) : below(prefix.len + 1u);

    for (uint32_t bit = len; bit < 128; bit++)
        prefix.addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
    prefix.len = (uint8_t)len;
    return prefix;
}

static size_t draw_ranges(struct riptide_port_range *ranges, bool is_local)
{
    size_t n = below(4) ? 0 : 1 + below(MAX_RANGES);

    for (size_t i = 0; i < n; i++) {
        const struct riptide_sample *sample = draw_sample();
        uint16_t port = is_local ? sample->local_port : sample->remote_port;
        uint32_t last = port + below(200);

        ranges[i] = (struct riptide_port_range){ port, (uint16_t)(last > 65535 ? port : last) };
    }
    return n;
}

static void draw_scope(struct drawn_scope *drawn)
{
    *drawn = (struct drawn_scope){ 0 };
    drawn->scope = (struct riptide_scope){
        .learn = drawn->learn,
        .n_learn = below(3) ? below(MAX_PREFIXES) : 0,
        .exclude = drawn->exclude,
        .n_exclude = below(MAX_PREFIXES),
        .local_ports = drawn->local,
        .n_local_ports = draw_ranges(drawn->local, true),
        .remote_ports = drawn->remote,
        .n_remote_ports = draw_ranges(drawn->remote, false),
        .mark_mask = below(4) ? 0 : 1 + below(7),
        .ifindex = below(5) ? 0 : draw_sample()->ifindex,
    };
    drawn->scope.mark = draw_sample()->mark & drawn->scope.mark_mask;
    for (size_t i = 0; i < drawn->scope.n_learn; i++)
        drawn->learn[i] = draw_prefix();
    for (size_t i = 0; i < drawn->scope.n_exclude; i++)
        drawn->exclude[i] = draw_prefix();
}

/* Returns how many connections are in the scope. */
static size_t check_scope(const struct riptide_scope *scope)
{
    struct riptide_observer *observer = open_observer(scope, 1);
    struct riptide_observer_stats stats;
    size_t at = 0;

    some.n = 0;
    if (observer)
        take(observer, &some);
    for (size_t i = 0; i < all.n; i++) {
        bool is_there = at < some.n && some.samples[at].cookie == all.samples[i].cookie;

        if (is_there != riptide_scope_matches(scope, &all.samples[i]))
            die("scope", is_there ? "the kernel takes what the evaluation does not"
                                  : "the kernel leaves out what the evaluation takes");
        at += is_there;
    }
    if (!observer)
        return 0;
    riptide_observer_get_stats(observer, &stats, sizeof(stats));
    if (at != some.n || stats.left_out_scope > 0 ||
        stats.filter == RIPTIDE_FILTER_PARTIAL)
        die("scope", "not the kernel's verdict alone");
    riptide_observer_free(observer);
    return some.n;
}

static struct riptide_estimator *open_estimator(void)
{
    struct riptide_estimator_config config;
    struct riptide_estimator *estimator;
    struct riptide_error error;

    riptide_estimator_config_init(&config, sizeof(config));
    config.policy = riptide_policy_find("paper");
    config.prefix_len4 = config.prefix_len6 = 0; /* all are one destination */
    config.history_weight = 0;
    if (riptide_estimator_new(&estimator, &config, &error) != 0)
        die("estimator", error.text);
    return estimator;
}

/* The window that the estimator makes of the IPv4 connections in a dump. */
static double estimate(struct riptide_estimator *estimator, const struct dump *dump,
                       uint64_t now_ns)
{
    const struct riptide_prefix any4 = { .family = AF_INET };
    struct riptide_estimate estimate;
    const struct riptide_estimate *change;

    for (size_t i = 0; i < dump->n; i++)
        riptide_estimator_add(estimator, &dump->samples[i]);
    riptide_estimator_tick(estimator, now_ns);
    while (riptide_estimator_pop(estimator, &change) == 0)
        ;
    if (riptide_estimator_find(estimator, &any4, &estimate) != 0)
        die("estimator", "no window for 0.0.0.0/0");
    return estimate.combined;
}

static void check_slices(uint32_t slices)
{
    static unsigned int seen[MAX_SAMPLES];
    struct riptide_observer *observer = open_observer(&(struct riptide_scope){ 0 }, slices);
    struct riptide_estimator *estimator = open_estimator();
    double whole = estimate(estimator, &all, 1), sum = 0, low = whole, high = whole, window;
    size_t least = all.n, most = 0;

    memset(seen, 0, sizeof(seen));
    for (uint32_t slice = 0; slice < slices; slice++) {
        size_t at = 0;

        take(observer, &some);
        for (size_t i = 0; i < all.n; i++) {
            if (at < some.n && some.samples[at].cookie == all.samples[i].cookie) {
                seen[i]++;
                at++;
            }
        }
        if (at != some.n)
            die("slices", "a connection that is not there");
        least = some.n < least ? some.n : least;
        most = some.n > most ? some.n : most;
        window = estimate(estimator, &some, 2 + slice);
        low = fmin(low, window);
        high = fmax(high, window);
        sum += window;
    }
    for (size_t i = 0; i < all.n; i++) {
        if (seen[i] != 1)
            die("slices", "a connection not seen once");
    }
    printf("slices %u of %zu to %zu connections, windows %.2f to %.2f mean %.2f of all %.2f\n",
           slices, least, most, low, high, sum / slices, whole);
    riptide_estimator_free(estimator);
    riptide_observer_free(observer);
}

int main(int argc, char **argv)
{
    static const uint32_t slices[] = { 2, 3, 4, 8, 16 };
    struct riptide_observer *observer = open_observer(&(struct riptide_scope){ 0 }, 1);
    struct drawn_scope drawn;
    size_t n_inside = 0;

    if (argc != 3)
        die("usage", "scopes ROUNDS SEED");
    srandom((unsigned int)strtoul(argv[2], NULL, 10));
    take(observer, &all);
    riptide_observer_free(observer);
    if (all.n == 0)
        die("dump", "no connections");
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
        draw_scope(&drawn);
        n_inside += check_scope(&drawn.scope);
    }
    printf("scopes %s over %zu connections, %zu inside\n", argv[1], all.n, n_inside);
    for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++)
        check_slices(slices[i]);
    return 0;
}
