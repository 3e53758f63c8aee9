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
enum { SO_RCVLOWAT = 18, SO_MAX_PACING_RATE = 47, TCP_WINDOW_CLAMP = 10, TCP_SAVE_SYN = 27 };

/* Each into the one function that is loaded: embed.py refuses calls. */
#define INLINE static inline __attribute__((always_inline))

#define NO_LIMIT 0xffffffffu

/*
 * Callbacks are the socket's, not a program's. That for header options costs a call for each
 * segment, and is taken back; two more show whether a program behind ours has set others since, and
 * stay, as they may be wanted by now. Whoever writes header options parses them too.
 */
#define OURS                                                                                       \
    (BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG)
#define OURS_OR_THEIRS                                                                             \
    (OURS | BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)

/*
 * A note of ours on a connection, whose callback for header options is ours or others' before us. It
 * is in TCP_SAVE_SYN, which has an effect on listeners alone; theirs is inherited.
 */
enum { NO_NOTE, CALLED_BY_OTHERS, CALLED_BY_US };

/* Which the kernel sends at once, whatever the pace (tcp_update_skb_after_send): no flight is less. */
enum { UNPACED_SEGS = 10 };

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
INLINE __u32 get_option(struct bpf_sock_ops *ctx, int level, int name, __u32 otherwise)
{
    __u32 value = 0;

    return get_sockopt(ctx, level, name, &value, sizeof(value)) ? otherwise : value;
}

INLINE struct window_counts *find_counts(struct bpf_sock_ops *ctx)
{
    __u64 cookie = get_netns_cookie(ctx);

    return map_lookup(&counts, &cookie);
}

#define COUNT(name)                                                                                \
    do {                                                                                           \
        struct window_counts *counts_ = find_counts(ctx);                                          \
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

/*
 * Without CAP_PERFMON the verifier refuses an index of which it knows other values on each way that
 * leads here. A difference of two reads is 0, and it does not know that.
 */
INLINE void count_given(struct bpf_sock_ops *ctx, __u32 cwnd)
{
    struct window_counts *found = find_counts(ctx);
    __u32 bucket = window_bucket(cwnd) + READ(ctx, family) - READ(ctx, family);

    if (!found)
        return;
    __sync_fetch_and_add(&found->given, 1);
    if (bucket < WINDOW_BUCKETS)
        __sync_fetch_and_add(&found->by_cwnd[bucket], 1);
    __sync_fetch_and_add(&found->segments, cwnd);
}

/* By family: remote_ip4 is not 0 for IPv6. */
INLINE struct window *find_window(struct bpf_sock_ops *ctx, const __u64 *cookie)
{
    struct window_key key = { .prefix_bits = 128 };
    void *of_netns = map_lookup(&windows, cookie);
    __u32 words[4] = { 0 };
    struct window *window;
    int is_ipv4;

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
    window = of_netns ? map_lookup(of_netns, &key) : 0;
    is_ipv4 = !words[0] && !words[1] && words[2] == __builtin_bswap32(0xffff);
    return window && is_ipv4 && window->is_ipv6_alone ? 0 : window;
}

/*
 * A low-water mark grows the receive buffer without the lock that would end its autotuning
 * (tcp_set_rcvlowat), and the first window with it. What the application has set comes back; where
 * it cannot be told, or has bounded the window, the mark is left alone.
 */
INLINE void open_receive_window(struct bpf_sock_ops *ctx, __u32 bytes)
{
    __u32 before = get_option(ctx, SOL_SOCKET, SO_RCVLOWAT, 0);

    if (before && !get_option(ctx, SOL_TCP, TCP_WINDOW_CLAMP, 0) &&
        set_option(ctx, SOL_SOCKET, SO_RCVLOWAT, bytes) == 0)
        set_option(ctx, SOL_SOCKET, SO_RCVLOWAT, before);
}

INLINE __u64 round_trip_us(const struct bpf_sock_ops *ctx, const struct window *window)
{
    return ctx->srtt_us >> 3 ? ctx->srtt_us >> 3 : window->rtt_us;
}

/* A queue makes more of a handshake on a short path, where pacing costs and spares nothing. */
INLINE int is_short(__u64 rtt_us, const struct window *window, const struct window_settings *set)
{
    return rtt_us < set->pacing_rtt_min_us ||
           (window->rtt_us && window->rtt_us < set->pacing_rtt_min_us);
}

/*
 * Any limit has TCP pace without sch_fq, for good. Once it is lifted the rate stays where the limit
 * took it down to, until TCP computes its own: as the connection opens, and with acknowledgements
 * of what is under way. A limit of the application's stays; so it is before Linux 6.1, where none
 * can be told.
 */
INLINE int take_rate_down(struct bpf_sock_ops *ctx, __u64 limit)
{
    if (get_option(ctx, SOL_SOCKET, SO_MAX_PACING_RATE, 0) != NO_LIMIT)
        return 0;
    set_option(ctx, SOL_SOCKET, SO_MAX_PACING_RATE, limit < NO_LIMIT ? (__u32)limit : NO_LIMIT - 1);
    set_option(ctx, SOL_SOCKET, SO_MAX_PACING_RATE, NO_LIMIT);
    return 1;
}

/*
 * TCP's own rate is two windows a round trip in slow start. A slower one is for the first flight
 * alone, and set as that begins: nothing is to be undone, whatever becomes of the program. So is
 * any where TCP has measured no round trip yet, and has no rate. What says that it begins is the
 * callback for options of a segment's header. A greeting or a handshake above TCP comes before it:
 * each flight counts that begins within the first ten segments.
 */
INLINE void pace(struct bpf_sock_ops *ctx, __u32 percent)
{
    __u32 callbacks = ctx->bpf_sock_ops_cb_flags;
    __u32 is_theirs = callbacks & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;

    if (!take_rate_down(ctx, NO_LIMIT))
        return;
    COUNT(paced);
    if (percent <= 50 && ctx->srtt_us)
        return;
    set_option(ctx, SOL_TCP, TCP_SAVE_SYN, is_theirs ? CALLED_BY_OTHERS : CALLED_BY_US);
    if (!is_theirs)
        set_callbacks(ctx, (int)(callbacks | OURS));
}

/* Of as many segments as it may have by now: idling takes the congestion window down. */
INLINE void begin_flight(struct bpf_sock_ops *ctx, const struct window *window,
                         const struct window_settings *set)
{
    __u32 percent = window_pacing_percent(window, set->pacing_percent);
    __u64 rtt_us = round_trip_us(ctx, window);

    if (percent && rtt_us)
        take_rate_down(ctx, (__u64)ctx->snd_cwnd * ctx->mss_cache * 100000000 /
                                (rtt_us * (percent < 50 ? 50 : percent)));
}

/* Whether pace() waits for it; behind the first ten segments it takes back what that has asked for. */
INLINE int is_awaited(struct bpf_sock_ops *ctx)
{
    __u32 callbacks = ctx->bpf_sock_ops_cb_flags;
    __u32 note = get_option(ctx, SOL_TCP, TCP_SAVE_SYN, NO_NOTE);

    if (note == NO_NOTE || ctx->data_segs_out < UNPACED_SEGS)
        return note != NO_NOTE;
    set_option(ctx, SOL_TCP, TCP_SAVE_SYN, NO_NOTE);
    if (note == CALLED_BY_US && (callbacks & OURS_OR_THEIRS) == OURS)
        set_callbacks(ctx, (int)(callbacks & ~BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG));
    return 1;
}

/*
 * snd_cwnd is a route's initcwnd, or 10. Up to a step above the window the route may be ours, which
 * has none of that where the connection is held out, or has the smaller window of a trial.
 */
INLINE __u32 cwnd_without_us(struct bpf_sock_ops *ctx, const struct window *window)
{
    __u32 cwnd = ctx->snd_cwnd;

    return window->base_cwnd && cwnd <= window->initcwnd + window->route_step ? window->base_cwnd
                                                                              : cwnd;
}

INLINE void hold_out(struct bpf_sock_ops *ctx, const struct window *window)
{
    __u32 cwnd = cwnd_without_us(ctx, window);

    COUNT(held_out);
    /* Two lost SYNs leave one segment. */
    if (ctx->total_retrans <= 1 && cwnd != ctx->snd_cwnd)
        set_option(ctx, SOL_TCP, TCP_BPF_IW, cwnd);
}

/* `cwnd` is the window's, or of its arm. */
INLINE void established(struct bpf_sock_ops *ctx, const struct window *window, __u32 cwnd,
                        const struct window_settings *set)
{
    __u32 percent = window_pacing_percent(window, set->pacing_percent);
    __u64 rtt_us = round_trip_us(ctx, window);

    if (ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
        set_option(ctx, SOL_TCP, TCP_SAVE_SYN, NO_NOTE);
    if (ctx->total_retrans > 1) {
        COUNT(syn_lost);
        return;
    }
    if (window->rto_min_us)
        set_option(ctx, SOL_TCP, TCP_BPF_RTO_MIN, window->rto_min_us);
    if (cwnd_without_us(ctx, window) > cwnd && !window->may_lower) {
        COUNT(kept);
        return;
    }
    /* Our own route's, which is left as it was within a step. */
    if (ctx->snd_cwnd > cwnd && cwnd == window->initcwnd && !window->may_lower)
        cwnd = ctx->snd_cwnd;
    if (percent && !rtt_us) {
        COUNT(refused);
        return;
    }
    if (set_option(ctx, SOL_TCP, TCP_BPF_IW, cwnd))
        return;
    count_given(ctx, cwnd);
    if (percent && !is_short(rtt_us, window, set))
        pace(ctx, percent);
}

INLINE enum arm draw(struct bpf_sock_ops *ctx, const struct window_settings *set)
{
    if (!set->shares.holdout && !set->shares.smaller)
        return ARM_WINDOW;
    return arm_of(get_socket_cookie(ctx), set->seed, &set->shares);
}

/*
 * The window is forgotten as the connection opens, but its first pacing rate is computed of it, and
 * stays until data are acknowledged. A SYN that is lost takes the window down to one segment, and
 * has TCP pace 1.2 windows a round trip in place of two. The callback that says so stays, as others
 * may want it by now: a call for each segment that is sent again.
 */
INLINE void open_connection(struct bpf_sock_ops *ctx, const struct window *window, __u32 cwnd)
{
    int is_again = ctx->op == BPF_SOCK_OPS_RETRANS_CB;

    set_option(ctx, SOL_TCP, TCP_BPF_IW, is_again ? cwnd * 5 / 3 : cwnd);
    if (is_again)
        return;
    set_callbacks(ctx, (int)(ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RETRANS_CB_FLAG));
    if (window->receive_bytes)
        open_receive_window(ctx, window->receive_bytes);
}

__attribute__((section("sockops"))) int riptide(struct bpf_sock_ops *ctx)
{
    const struct window_settings *set;
    const struct window *window;
    int is_established = ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
                         ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
    int is_data = ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB;
    __u64 cookie;
    enum arm arm;
    __u32 cwnd;

    /* Data that leave while none are under way begin a flight. */
    if (is_data) {
        if (!ctx->skb_len || (ctx->packets_out && ctx->data_segs_out < UNPACED_SEGS))
            return 1;
    } else if (!is_established && ctx->op != BPF_SOCK_OPS_TCP_CONNECT_CB &&
               !(ctx->op == BPF_SOCK_OPS_RETRANS_CB && ctx->state == BPF_TCP_SYN_SENT)) {
        return 1;
    }
    cookie = get_netns_cookie(ctx);
    set = map_lookup(&settings, &cookie);
    if (!set)
        return 1;
    /* Not before: the namespace may be that of another riptided on the cgroup. */
    if (is_data && !is_awaited(ctx))
        return 1;
    if (set->is_paused)
        return 1;
    window = find_window(ctx, &cookie);
    if (!window)
        return 1;
    arm = draw(ctx, set);
    if (arm == ARM_HOLDOUT) {
        if (is_established)
            hold_out(ctx, window);
        return 1;
    }
    cwnd = arm_cwnd(arm, window->initcwnd, window->cwnd_max);
    if (is_data && !ctx->packets_out)
        begin_flight(ctx, window, set);
    else if (is_data)
        return 1;
    else if (is_established)
        established(ctx, window, cwnd, set);
    else
        open_connection(ctx, window, cwnd);
    return 1;
}
