/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Runs in the kernel as each TCP connection of a cgroup opens, and gives it the window of the
 * longest prefix that contains its peer. It never writes `reply`, which all programs of the cgroup
 * share. Its byte code is in the tree (program_code.h), so that a build needs no BPF compiler; see
 * meson.build.
 */
#include <linux/bpf.h>

/* Only one function is loaded, so all others are inlined into it: embed.py refuses calls. */
#define INLINE static inline __attribute__((always_inline))
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#include "apply/program/window.h"
#include "window_rules.h"
#pragma clang attribute pop

/* Copied from system headers, which do not compile for this target. */
enum { AF_INET = 2, AF_INET6 = 10, SOL_SOCKET = 1, SOL_TCP = 6 };
enum { SO_RCVLOWAT = 18, SO_MAX_PACING_RATE = 47, TCP_WINDOW_CLAMP = 10, TCP_SAVE_SYN = 27 };

#define NO_LIMIT 0xffffffffu

/*
 * Callback flags belong to the socket: every program on the cgroup can replace them. WRITE_HDR_OPT
 * costs a call for each segment, so we clear it again, unless other flags show that another program
 * has set its own since: RTO or RETRANS is missing, or PARSE is set, as by all that write options.
 */
#define OURS                                                                                       \
    (BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG)
#define OURS_OR_THEIRS                                                                             \
    (OURS | BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)

/*
 * Our mark on a connection: who set its WRITE_HDR_OPT first. It is in TCP_SAVE_SYN, which affects
 * only listeners; accepted connections inherit their listener's value.
 */
enum { NO_NOTE, CALLED_BY_OTHERS, CALLED_BY_US };

/* The kernel never paces a connection's first ten segments (tcp_update_skb_after_send). */
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
static __u64 (*const ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;

/* Names of the maps; the loader puts their fds in place of the names. */
extern char windows, common;

/* Without CAP_PERFMON nothing smaller than 64 bits is written to the stack: see embed.py. */
INLINE long set_option(struct bpf_sock_ops *ctx, int level, int name, __u64 value)
{
    return set_sockopt(ctx, level, name, &value, sizeof(__u32));
}

/* Before Linux 6.1 programs cannot read these options, and get 0. */
INLINE __u32 get_option(struct bpf_sock_ops *ctx, int level, int name)
{
    __u64 value = 0;

    return get_sockopt(ctx, level, name, &value, sizeof(__u32)) ? 0 : (__u32)value;
}

INLINE void add(__u64 *count, __u64 n)
{
    __sync_fetch_and_add(count, n);
}

/*
 * Decides by family, because remote_ip4 is not 0 on IPv6 sockets. Volatile: of the loads of two
 * branches the compiler would make one at a variable offset, which the verifier does not allow.
 */
INLINE struct window *find_window(const volatile struct bpf_sock_ops *ctx)
{
    __u64 key[3]; /* struct window_key */

    key[0] = (32 + 32) | (__u64)AF_INET << 32;
    key[1] = ctx->remote_ip4;
    key[2] = 0;
    if (ctx->family == AF_INET6) {
        key[1] = ctx->remote_ip6[0] | (__u64)ctx->remote_ip6[1] << 32;
        key[2] = ctx->remote_ip6[2] | (__u64)ctx->remote_ip6[3] << 32;
        if (key[1] || (__u32)key[2] != __builtin_bswap32(0xffff)) {
            key[0] = (32 + 128) | (__u64)AF_INET6 << 32;
        } else { /* IPv4-mapped */
            key[1] = key[2] >> 32;
            key[2] = 0;
        }
    }
    return map_lookup(&windows, key);
}

/*
 * SO_RCVLOWAT grows the receive buffer, and with it the first window, without the lock that would
 * end autotuning (tcp_set_rcvlowat). The application's value is then restored; if that cannot be
 * read, or the application has bounded its window, nothing is changed.
 */
INLINE void open_receive_window(struct bpf_sock_ops *ctx, __u32 bytes)
{
    __u32 before = get_option(ctx, SOL_SOCKET, SO_RCVLOWAT);

    if (before && !get_option(ctx, SOL_TCP, TCP_WINDOW_CLAMP) &&
        set_option(ctx, SOL_SOCKET, SO_RCVLOWAT, bytes) == 0)
        set_option(ctx, SOL_SOCKET, SO_RCVLOWAT, before);
}

INLINE __u64 round_trip_us(const struct bpf_sock_ops *ctx, const struct window *window)
{
    return ctx->srtt_us >> 3 ? ctx->srtt_us >> 3 : window->rtt_us;
}

/*
 * Sets a limit and lifts it. TCP paces from then on, also without sch_fq, and its rate stays at the
 * former limit until TCP computes it anew: as the connection opens, and with acknowledgements of
 * data. Nothing changes a limit of the application, or any that cannot be read.
 */
INLINE int take_rate_down(struct bpf_sock_ops *ctx, __u64 limit)
{
    if (get_option(ctx, SOL_SOCKET, SO_MAX_PACING_RATE) != NO_LIMIT)
        return 0;
    set_option(ctx, SOL_SOCKET, SO_MAX_PACING_RATE, limit < NO_LIMIT ? (__u32)limit : NO_LIMIT - 1);
    set_option(ctx, SOL_SOCKET, SO_MAX_PACING_RATE, NO_LIMIT);
    return 1;
}

/*
 * In slow start TCP's own rate is two windows per RTT. A lower rate, or one where TCP has measured
 * no RTT, is set only as the first flight begins (begin_flight), so that nothing remains to be
 * undone if the program ends. The callback for header options shows that. As a greeting or a TLS
 * handshake may precede the data, each flight that begins in the first ten segments is paced.
 */
INLINE int pace(struct bpf_sock_ops *ctx, const struct window *window, struct window_counts *count)
{
    __u32 callbacks = ctx->bpf_sock_ops_cb_flags;
    __u32 is_theirs = callbacks & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;

    if (!take_rate_down(ctx, NO_LIMIT))
        return 0;
    add(&count->paced, 1);
    if (window->pacing_percent == TCP_PACING_PERCENT && ctx->srtt_us)
        return 1;
    set_option(ctx, SOL_TCP, TCP_SAVE_SYN, is_theirs ? CALLED_BY_OTHERS : CALLED_BY_US);
    if (!is_theirs)
        set_callbacks(ctx, (int)(callbacks | OURS));
    return 1;
}

/* Computes the rate from the present congestion window, as idling may have reduced it. */
INLINE void begin_flight(struct bpf_sock_ops *ctx, const struct window *window)
{
    __u64 rtt_us = round_trip_us(ctx, window);

    if (window->pacing_percent && rtt_us)
        take_rate_down(ctx, (__u64)ctx->snd_cwnd * ctx->mss_cache * 100000000 /
                                (rtt_us * window->pacing_percent));
}

/* Whether pace() marked the connection; after its first ten segments removes mark and callback. */
INLINE int is_awaited(struct bpf_sock_ops *ctx)
{
    __u32 callbacks = ctx->bpf_sock_ops_cb_flags;
    __u32 note = get_option(ctx, SOL_TCP, TCP_SAVE_SYN);

    if (note == NO_NOTE || ctx->data_segs_out < UNPACED_SEGS)
        return note != NO_NOTE;
    set_option(ctx, SOL_TCP, TCP_SAVE_SYN, NO_NOTE);
    if (note == CALLED_BY_US && (callbacks & OURS_OR_THEIRS) == OURS)
        set_callbacks(ctx, (int)(callbacks & ~BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG));
    return 1;
}

/*
 * Whether established() gives the window, or would but for the holdout. snd_cwnd is of a route, and
 * may be of ours. After two lost SYNs TCP starts with one segment, as it should. A pace is a part
 * of a round trip, which must be known.
 */
INLINE int is_given(const struct bpf_sock_ops *ctx, const struct window *window)
{
    __u32 base_cwnd = ctx->snd_cwnd <= window->route_cwnd_max ? window->base_cwnd : ctx->snd_cwnd;

    return ctx->total_retrans <= 1 &&
           window_floor(base_cwnd, window->may_lower) <= window->initcwnd &&
           (!window->pacing_percent || round_trip_us(ctx, window));
}

/*
 * How many connections opened to the destination within a round trip up to this one, itself
 * included; 0: no round trip time is known. Of the round trip before the present one a share is
 * that long ago or less. Processors that open connections at once may each miss the other's.
 */
INLINE __u64 count_together(const struct bpf_sock_ops *ctx, struct window *window, __u64 now_ns)
{
    __u64 rtt_ns = round_trip_us(ctx, window) * 1000, elapsed_ns = 0, n;

    if (!rtt_ns)
        return 0;
    if (now_ns > window->round_ns) /* else another processor has begun it since */
        elapsed_ns = now_ns - window->round_ns;
    if (elapsed_ns >= rtt_ns) {
        int is_next = elapsed_ns < 2 * rtt_ns;

        window->opened_before = is_next ? window->opened_now : 0;
        window->round_ns = is_next ? window->round_ns + rtt_ns : now_ns;
        window->opened_now = 0;
        elapsed_ns = is_next ? elapsed_ns - rtt_ns : 0;
    }
    __sync_fetch_and_add(&window->opened_now, 1);
    n = window->opened_now + window->opened_before * (rtt_ns - elapsed_ns) / rtt_ns;
    return n < NOTE_TOGETHER_MAX ? n : NOTE_TOGETHER_MAX;
}

/* Writes it to the first slot that is free, or with `now_ns` other than 0 to one of an old note. */
INLINE int write_note(__u64 *bucket, __u64 note, __u64 now_ns)
{
#pragma unroll
    for (int i = 0; i < OPENED_NOTES; i++) {
        if (now_ns ? note_is_old(bucket[i], now_ns) : !bucket[i]) {
            bucket[i] = note;
            return 1;
        }
    }
    return 0;
}

INLINE void note_opened(struct window_common *all, __u64 hash, __u64 note, __u64 now_ns)
{
    __u64 *first = all->opened[note_bucket(hash, 0)], *second = all->opened[note_bucket(hash, 1)];

    note |= note_tag(hash) | note_time(now_ns) << NOTE_TIME | all->phase << NOTE_PHASE;
    if (!write_note(first, note, 0) && !write_note(second, note, 0) &&
        !write_note(first, note, now_ns) && !write_note(second, note, now_ns))
        add(&all->counts.not_noted, 1);
}

/* Gives the window that the connection would have without a route of ours. */
INLINE __u64 hold_out(struct bpf_sock_ops *ctx, const struct window *window,
                      struct window_counts *count)
{
    add(&count->held_out, 1);
    if (ctx->total_retrans <= 1 && ctx->snd_cwnd <= window->route_cwnd_max)
        set_option(ctx, SOL_TCP, TCP_BPF_IW, window->base_cwnd);
    return ARM_HOLDOUT << NOTE_ARM;
}

/* What is to be noted; 0: it was not given. */
INLINE __u64 give(struct bpf_sock_ops *ctx, const struct window *window,
                  struct window_counts *count)
{
    __u64 note = (__u64)window->initcwnd << NOTE_INITCWND;

    if (set_option(ctx, SOL_TCP, TCP_BPF_IW, window->initcwnd))
        return 0;
    add(&count->given, 1);
    add(&count->segments, window->initcwnd);
    if (window->bucket < WINDOW_BUCKETS)
        add(&count->by_cwnd[window->bucket], 1);
    if (window->pacing_percent && round_trip_us(ctx, window) >= PACING_RTT_MIN_US &&
        pace(ctx, window, count))
        note |= 1 << NOTE_PACED;
    return note;
}

INLINE void established(struct bpf_sock_ops *ctx, struct window *window, struct window_common *all,
                        __u64 hash, __u64 now_ns)
{
    __u64 together = count_together(ctx, window, now_ns), note;
    int is_wanted = is_given(ctx, window);

    if (arm_of(hash, all->holdout) == ARM_HOLDOUT) {
        note = hold_out(ctx, window, &all->counts);
    } else {
        if (ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
            set_option(ctx, SOL_TCP, TCP_SAVE_SYN, NO_NOTE);
        if (ctx->total_retrans <= 1 && window->rto_min_us)
            set_option(ctx, SOL_TCP, TCP_BPF_RTO_MIN, window->rto_min_us);
        if (!is_wanted)
            add(&all->counts.kept, 1);
        note = is_wanted ? give(ctx, window, &all->counts) : 0;
    }
    if (is_wanted && note)
        note_opened(all, hash, note | together << NOTE_TOGETHER, now_ns);
}

/*
 * TCP replaces this window at establishment, but computes its first pacing rate from it, which
 * stays until data is acknowledged. After a lost SYN the window is one segment, and TCP paces 1.2
 * windows per RTT instead of two: so the window is set again, 5/3 as large. RETRANS stays set, as
 * another program may rely on it by then; it costs a call per retransmission.
 */
INLINE void open_connection(struct bpf_sock_ops *ctx, const struct window *window)
{
    int is_again = ctx->op == BPF_SOCK_OPS_RETRANS_CB;

    set_option(ctx, SOL_TCP, TCP_BPF_IW, is_again ? window->initcwnd * 5 / 3 : window->initcwnd);
    if (is_again)
        return;
    set_callbacks(ctx, (int)(ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RETRANS_CB_FLAG));
    if (window->receive_bytes)
        open_receive_window(ctx, window->receive_bytes);
}

__attribute__((section("sockops"))) int riptide(struct bpf_sock_ops *ctx)
{
    struct window_common *all;
    struct window *window;
    __u64 first = 0, now_ns, hash;
    int is_established = ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
                         ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
    int is_data = ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB;

    /* A flight begins with data that leaves while none is in flight. */
    if (is_data) {
        if (!ctx->skb_len || (ctx->packets_out && ctx->data_segs_out < UNPACED_SEGS))
            return 1;
    } else if (!is_established && ctx->op != BPF_SOCK_OPS_TCP_CONNECT_CB &&
               !(ctx->op == BPF_SOCK_OPS_RETRANS_CB && ctx->state == BPF_TCP_SYN_SENT)) {
        return 1;
    }
    all = map_lookup(&common, &first);
    if (!all || all->netns_cookie != get_netns_cookie(ctx))
        return 1;
    /* Only now: the mark may be that of another riptided on the cgroup. */
    if (is_data && !is_awaited(ctx))
        return 1;
    now_ns = ktime_get_ns();
    if (all->is_paused || now_ns > all->alive_ns + LEASE_NS)
        return 1;
    window = find_window(ctx);
    if (!window)
        return 1;
    hash = arm_hash(get_socket_cookie(ctx), all->seed);
    if (is_established)
        established(ctx, window, all, hash, now_ns);
    else if (arm_of(hash, all->holdout) == ARM_HOLDOUT)
        return 1;
    else if (!is_data)
        open_connection(ctx, window);
    else if (!ctx->packets_out)
        begin_flight(ctx, window);
    return 1;
}
