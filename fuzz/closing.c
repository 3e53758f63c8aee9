/* SPDX-License-Identifier: MIT */
/* See closing.h. */
#include "closing.h"

#include "kernel.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <riptide/observe.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel's COOKIE_LOCAL_BATCH, and how many blocks riptide keeps apart. */
enum { PER_BLOCK = 4096, BLOCKS = 1024 };

/* As many as fit into a queue besides the end of the dump. */
enum { MAX_SHOWN = 32 * 64, MAX_AT_ONCE = 32 };

struct closing {
    struct riptide_observer *observer;
    uint64_t shown[MAX_SHOWN]; /* by complete dumps */
    size_t n_shown;
    size_t n_shown_before; /* of these, before the last dump began */
    size_t n_missed;       /* closed ones that were not reported, although no dump had shown them */
};

struct about_socket {
    struct nlmsghdr header;
    struct inet_diag_msg socket;
    struct nlattr attribute;
    struct tcp_info info;
} __attribute__((packed));

static void say_done(enum kernel_socket index)
{
    static const struct {
        struct nlmsghdr header;
        int32_t error;
    } done = { .header = { .nlmsg_len = sizeof(done), .nlmsg_type = NLMSG_DONE } };

    kernel_say(index, 0, (const uint8_t *)&done, sizeof(done));
}

static void say_socket(enum kernel_socket index, uint64_t cookie, uint32_t data_segs_out)
{
    struct about_socket message = {
        .header = { .nlmsg_len = sizeof(message),
                    .nlmsg_type =
                        index == KERNEL_EVENTS ? SOCK_DIAG_BY_FAMILY : TCPDIAG_GETSOCK },
        .socket = { .idiag_family = AF_INET,
                    .id.idiag_cookie = { (uint32_t)cookie, (uint32_t)(cookie >> 32) } },
        .attribute = { sizeof(message.attribute) + sizeof(message.info), INET_DIAG_INFO },
        .info = { .tcpi_snd_cwnd = 10, .tcpi_data_segs_out = data_segs_out },
    };

    memcpy(message.socket.id.idiag_dst, (const uint8_t[]){ 198, 51, 100, 1 }, 4);
    kernel_say(index, 0, (const uint8_t *)&message, sizeof(message));
}

/* Cookies close to each other, in few blocks, two of which share a slot; 0: the kernel has none. */
static uint64_t draw_cookie(struct case_bytes *bytes)
{
    static const uint64_t blocks[] = { 0, 1, BLOCKS - 1, BLOCKS };
    uint8_t how = case_u8(bytes);

    return how >= 0xf8 ? 0 : blocks[how % 4] * PER_BLOCK + 1 + case_u8(bytes) * (how & 4 ? 16u : 1u);
}

static bool was_shown(const struct closing *closing, uint64_t cookie)
{
    for (size_t i = 0; i < closing->n_shown; i++) {
        if (closing->shown[i] == cookie)
            return cookie != 0;
    }
    return false;
}

/* A cookie below the highest of its block before the last dump may be taken for a shown one. */
static bool may_be_taken_for_shown(const struct closing *closing, uint64_t cookie)
{
    for (size_t i = 0; i < closing->n_shown_before; i++) {
        uint64_t shown = closing->shown[i];

        if (cookie != 0 && shown >= cookie &&
            (shown - 1) / PER_BLOCK % BLOCKS == (cookie - 1) / PER_BLOCK % BLOCKS)
            return true;
    }
    return false;
}

/* Pops all samples: their cookies; returns how many. */
static size_t take(struct closing *closing, bool are_closed, uint64_t *cookies)
{
    const struct riptide_sample *sample;
    size_t n = 0;

    for (int i = 0; i < 3 * MAX_AT_ONCE; i++) {
        int r = riptide_observer_dispatch(closing->observer);

        CASE_CHECK(r == 0 || r == RIPTIDE_E_MORE || r == -EPERM);
        while ((r = riptide_observer_pop(closing->observer, &sample)) != RIPTIDE_E_AGAIN) {
            if (r == RIPTIDE_E_DONE)
                continue;
            CASE_CHECK(r == 0 && n < MAX_AT_ONCE && sample->closed == are_closed);
            cookies[n++] = sample->cookie;
        }
    }
    return n;
}

static bool is_among(uint64_t cookie, const uint64_t *cookies, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cookies[i] == cookie)
            return true;
    }
    return false;
}

/* A dump that shows some sockets; a void one ends with an error after them. */
static void dump(struct closing *closing, struct case_bytes *bytes, bool is_void)
{
    uint64_t said[MAX_AT_ONCE], came[MAX_AT_ONCE];
    size_t n = case_u8(bytes) % MAX_AT_ONCE, n_came;

    if (n > MAX_SHOWN - closing->n_shown)
        return;
    CASE_CHECK(riptide_observer_start(closing->observer) == 0);
    closing->n_shown_before = closing->n_shown;
    say_done(KERNEL_ROUTES);
    take(closing, false, came);
    say_done(KERNEL_ROUTES);
    take(closing, false, came);
    for (size_t i = 0; i < n; i++) {
        said[i] = draw_cookie(bytes);
        say_socket(KERNEL_SOCKETS, said[i], 1);
    }
    if (is_void)
        kernel_fail(KERNEL_SOCKETS, EPERM);
    else
        say_done(KERNEL_SOCKETS);
    n_came = take(closing, false, came);
    for (size_t i = 0; i < n; i++)
        CASE_CHECK(is_among(said[i], came, n_came));
    if (is_void)
        return;
    memcpy(closing->shown + closing->n_shown, said, n * sizeof(said[0]));
    closing->n_shown += n;
}

/* Some sockets close, of which some have sent nothing. */
static void close_some(struct closing *closing, struct case_bytes *bytes)
{
    uint64_t said[MAX_AT_ONCE], came[MAX_AT_ONCE];
    bool is_used[MAX_AT_ONCE];
    size_t n = case_u8(bytes) % MAX_AT_ONCE, n_came, next = 0;

    for (size_t i = 0; i < n; i++) {
        is_used[i] = case_u8(bytes) % 8 != 0;
        said[i] = draw_cookie(bytes);
        say_socket(KERNEL_EVENTS, said[i], is_used[i]);
    }
    n_came = take(closing, true, came);
    for (size_t i = 0; i < n; i++) {
        bool has_come = next < n_came && came[next] == said[i] && is_used[i] &&
                        !was_shown(closing, said[i]);

        next += has_come;
        closing->n_missed += !has_come && is_used[i] && !was_shown(closing, said[i]) &&
                             !may_be_taken_for_shown(closing, said[i]);
    }
    CASE_CHECK(next == n_came);
}

void closing_run(struct case_bytes *bytes)
{
    struct closing closing = { .n_shown = 0 };
    struct riptide_observer_stats stats = { .dumps = 0 };
    struct riptide_observer_config config;

    riptide_observer_config_init(&config, sizeof(config));
    config.destroy_events = true;
    kernel_reset(0, 0);
    CASE_CHECK(riptide_observer_new(&closing.observer, &config, NULL) == 0);
    while (bytes->left > 0) {
        uint8_t what = case_u8(bytes);

        if (what % 2 == 0)
            dump(&closing, bytes, what % 8 == 6);
        else if (stats.dumps > 0) /* the observer listens after the first complete dump */
            close_some(&closing, bytes);
        riptide_observer_get_stats(closing.observer, &stats, sizeof(stats));
        CASE_CHECK(stats.closed == kernel_n_closed() && stats.malformed == 0);
    }
    /* Cookies shown by the last dump are in a Bloom filter, which very rarely errs. */
    CASE_CHECK(closing.n_missed <= 1);
    riptide_observer_free(closing.observer);
}
