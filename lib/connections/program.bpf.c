/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Runs in the kernel as each TCP connection of a cgroup opens, and gives it what the longest prefix
 * that holds its peer says. `reply` is never written: it is shared with other programs of the
 * cgroup. Kept beside this as byte code, program_code.h, so that nothing here needs a compiler; see
 * meson.build.
 */
#include "window.h"

#include <linux/bpf.h>

/* Of system headers that are not made for this target. */
enum { AF_INET = 2, AF_INET6 = 10, SOL_SOCKET = 1, SOL_TCP = 6 };
enum { SO_RCVLOWAT = 18, SO_MAX_PACING_RATE = 47 };

/* Each into the one function that is loaded: embed.py refuses calls. */
#define INLINE static inline __attribute__((always_inline))

#define NO_LIMIT 0xffffffffu

/*
 * Callbacks are the socket's, not a program's, and there is no room beside them: ours are known by
 * two more that never come before the first data. Whoever writes header options parses them too.
 */
#define OURS                                                                                       \
    (BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG)
#define OURS_OR_THEIRS                                                                             \
    (OURS | BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)

static void *(*const map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const set_sockopt)(void *ctx, int level, int name, void *value,
                                 int bytes) = (void *)BPF_FUNC_setsockopt;
static long (*const get_sockopt)(void *ctx, int level, int name, void *value,
                                 int bytes) = (void *)BPF_FUNC_getsockopt;
static long (*const set_callbacks)(struct bpf_sock_ops *ctx,
                                   int flags) = (void *)BPF_FUNC_sock_ops_cb_flags_set;
static __u64 (*const get_netns_cookie)(void *ctx) = (void *)BPF_FUNC_get_netns_cookie;
static __u64 (*const get_socket_cookie)(void *ctx) = (void *)BPF_FUNC_get_socket_cookie;

/* What maps they are is the loader's; here they are names for it to put fds in the place of. */
extern char windows, settings, counts;

INLINE long set_option(struct bpf_sock_ops *ctx, int level, int name, __u32 value)
{
    return set_sockopt(ctx, level, name, &value, sizeof(value));
}

/* Kernels before 6.1 do not tell: there it is `otherwise`. */
INLINE __u32 get_option(struct bpf_sock_ops *ctx, int name, __u32 otherwise)
{
    __u32 value = 0;

    return get_sockopt(ctx, SOL_SOCKET, name, &value, sizeof(value)) ? otherwise : value;
}

#define COUNT(name)                                                                                \
    do {                                                                                           \
        __u64 cookie_ = get_netns_cookie(ctx);                                                     \
        struct window_counts *counts_ = map_lookup(&counts, &cookie_);                             \
                                                                                                   \
        if (counts_)                                                                               \
            __sync_fetch_and_add(&counts_->name, 1);                                               \
    } while (0)

/*
 * A member of the context at its own offset: the compiler would make one load of two, from an
 * address that is the one or the other, and the verifier allows none but of constants.
 */
#define READ(context, member)                                                                      \
    ({                                                                                             \
        __u64 value_;                                                                              \
                                                                                                   \
        __asm__ volatile("%0 = *(u32 *)(%1 + %2)"                                                  \
                         : "=r"(value_)                                                            \
                         : "r"(context), "i"(__builtin_offsetof(struct bpf_sock_ops, member)));    \
        (__u32) value_;                                                                            \
    })

/* By family: remote_ip4 is not 0 for IPv6. */
INLINE struct window *find_window(struct bpf_sock_ops *ctx, const __u64 *cookie)
{
    struct window_key key = { .prefix_bits = 128 };
    void *of_netns = map_lookup(&windows, cookie);
    __u32 words[4] = { 0 };

    if (ctx->family == AF_INET) {
        words[2] = __builtin_bswap32(0xffff);
        words[3] = READ(ctx, remote_ip4);
    } else if (ctx->family == AF_INET6) {
        words[0] = READ(ctx, remote_ip6[0]);
        words[1] = READ(ctx, remote_ip6[1]);
        words[2] = READ(ctx, remote_ip6[2]);
        words[3] = READ(ctx, remote_ip6[3]);
    } else {
        return 0;
    }
    __builtin_memcpy(key.address, words, sizeof(words));
    return of_netns ? map_lookup(of_netns, &key) : 0;
}

/*
 * A low-water mark grows the receive buffer without the lock that would end its autotuning
 * (tcp_set_rcvlowat), and the first window with it. What the application has set comes back; where
 * it cannot be told the mark is left alone.
 */
INLINE void open_receive_window(struct bpf_sock_ops *ctx, __u32 bytes)
{
    __u32 before = get_option(ctx, SO_RCVLOWAT, 0);

    if (before && set_option(ctx, SOL_SOCKET, SO_RCVLOWAT, bytes) == 0)
        set_option(ctx, SOL_SOCKET, SO_RCVLOWAT, before);
}

INLINE __u64 round_trip_us(const struct bpf_sock_ops *ctx, const struct window *window)
{
    return ctx->srtt_us >> 3 ? ctx->srtt_us >> 3 : window->rtt_us;
}

/*
 * Any limit has TCP pace without sch_fq, for good. Once it is lifted the rate stays where the limit
 * took it down to, until TCP computes its own: as the connection opens, and with acknowledgements
 * of what is under way. A limit of the application's stays; so it is before Linux 6.1, where none
 * can be told.
 */
INLINE int take_rate_down(struct bpf_sock_ops *ctx, __u64 limit)
{
    if (get_option(ctx, SO_MAX_PACING_RATE, 0) != NO_LIMIT)
        return 0;
    set_option(ctx, SOL_SOCKET, SO_MAX_PACING_RATE, limit < NO_LIMIT ? (__u32)limit : NO_LIMIT - 1);
    set_option(ctx, SOL_SOCKET, SO_MAX_PACING_RATE, NO_LIMIT);
    return 1;
}

/*
 * TCP's own rate is two windows a round trip in slow start. A slower one is for the first flight
 * alone, and set as that begins: nothing is to be undone, whatever becomes of the program. What
 * says so is the callback for options of a segment's header; where others use that it stays at
 * TCP's own.
 */
INLINE void pace(struct bpf_sock_ops *ctx, const struct window *window, __u32 percent)
{
    __u32 callbacks = ctx->bpf_sock_ops_cb_flags;

    if (!take_rate_down(ctx, NO_LIMIT))
        return;
    COUNT(paced);
    if ((percent > 50 || window->pacing_rate) && !(callbacks & OURS_OR_THEIRS))
        set_callbacks(ctx, (int)(callbacks | OURS));
}

/* Of as many segments as it may have by now: idling takes the congestion window down. */
INLINE void begin_flight(struct bpf_sock_ops *ctx, const struct window *window,
                                const struct window_settings *set)
{
    __u32 percent = window_pacing_percent(window, set->pacing_percent);
    __u64 rtt_us = round_trip_us(ctx, window);

    if (window->pacing_rate)
        take_rate_down(ctx, window->pacing_rate);
    else if (percent > 50 && rtt_us)
        take_rate_down(ctx, (__u64)ctx->snd_cwnd * ctx->mss_cache * 100000000 / (rtt_us * percent));
}

/*
 * `cwnd` is the window's, or of its arm. snd_cwnd is what the kernel starts it with by itself: a
 * route's initcwnd, or 10.
 */
INLINE void established(struct bpf_sock_ops *ctx, const struct window *window, __u32 cwnd,
                               const struct window_settings *set)
{
    __u32 percent = window_pacing_percent(window, set->pacing_percent);
    __u32 is_paced = percent || window->pacing_rate;
    __u64 rtt_us = round_trip_us(ctx, window);

    if (ctx->total_retrans > 1) {
        COUNT(syn_lost);
        return;
    }
    if (window->rto_min_us)
        set_option(ctx, SOL_TCP, TCP_BPF_RTO_MIN, window->rto_min_us);
    if (!cwnd)
        return;
    if (ctx->snd_cwnd > cwnd + window->route_step && !window->may_lower) {
        COUNT(kept);
        return;
    }
    /* Our own route's, which is left as it was within a step. */
    if (ctx->snd_cwnd > cwnd && !window->may_lower)
        cwnd = ctx->snd_cwnd;
    if (is_paced && !rtt_us) {
        COUNT(refused);
        return;
    }
    set_option(ctx, SOL_TCP, TCP_BPF_IW, cwnd);
    COUNT(given);
    if (is_paced && rtt_us >= set->pacing_rtt_min_us)
        pace(ctx, window, percent);
}

INLINE enum arm draw(struct bpf_sock_ops *ctx, const struct window_settings *set)
{
    if (!set->shares.holdout && !set->shares.smaller)
        return ARM_WINDOW;
    return arm_of(get_socket_cookie(ctx), set->seed, &set->shares);
}

__attribute__((section("sockops"))) int riptide(struct bpf_sock_ops *ctx)
{
    const struct window_settings *set;
    const struct window *window;
    int is_established = ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
                         ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
    __u32 callbacks = ctx->bpf_sock_ops_cb_flags;
    __u64 cookie;
    enum arm arm;
    __u32 cwnd;

    /* The first segment that carries data. */
    if (ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB) {
        if (!ctx->skb_len || (callbacks & OURS_OR_THEIRS) != OURS)
            return 1;
    } else if (ctx->op != BPF_SOCK_OPS_TCP_CONNECT_CB && !is_established) {
        return 1;
    }
    cookie = get_netns_cookie(ctx);
    set = map_lookup(&settings, &cookie);
    if (!set)
        return 1;
    /* Not before: the namespace may be that of another riptided on the cgroup. */
    if (ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB)
        set_callbacks(ctx, (int)(callbacks & ~OURS));
    if (set->is_paused)
        return 1;
    window = find_window(ctx, &cookie);
    if (!window)
        return 1;
    arm = draw(ctx, set);
    if (arm == ARM_HOLDOUT) {
        if (is_established)
            COUNT(held_out);
        return 1;
    }
    if (ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB) {
        begin_flight(ctx, window, set);
        return 1;
    }
    cwnd = arm_cwnd(arm, window->initcwnd, window->cwnd_max);
    if (is_established) {
        established(ctx, window, cwnd, set);
        return 1;
    }
    /* Forgotten as the connection opens, but its first pacing rate is computed of it. */
    if (cwnd)
        set_option(ctx, SOL_TCP, TCP_BPF_IW, cwnd);
    if (window->receive_bytes)
        open_receive_window(ctx, window->receive_bytes);
    return 1;
}
