/* SPDX-License-Identifier: MIT */
/*
 * The model of one path; see path.h.
 */
#include "path.h"

#include <math.h>
#include <string.h>

/* splitmix64 (Vigna, public domain). */
static uint64_t dice_next(struct dice *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double dice_unit(struct dice *dice)
{
    return (double)(dice_next(dice) >> 11) / 9007199254740992.0;
}

double dice_log(struct dice *dice, double low, double high)
{
    return low * pow(high / low, dice_unit(dice));
}

/* Time until the next random event, with that mean. */
static double wait(struct dice *dice, double mean)
{
    return -mean * log(1 - dice_unit(dice));
}

static struct flow *find_closed(struct path *path)
{
    for (size_t i = 0; i < PATH_FLOWS; i++) {
        if (!path->flows[i].is_open)
            return &path->flows[i];
    }
    return NULL;
}

static void open_flow(struct path *path, bool is_busy, uint32_t host, double segments,
                      struct start start)
{
    struct flow *flow = find_closed(path);

    if (!flow)
        return;
    *flow = (struct flow){
        .is_open = true,
        .is_busy = is_busy,
        .is_slow_start = true,
        .is_first = true,
        .host = host,
        .is_paced = start.is_paced,
        .cwnd = start.cwnd,
        .left = segments,
        .last_sent_s = path->now_s,
    };
    /* Half of the busy ones are limited by their application. */
    if (is_busy && dice_unit(&path->dice) < 0.5)
        flow->limit = fmax(1, path->rate * path->rtt_s * dice_log(&path->dice, 0.04, 0.4));
}

void path_init(struct path *path, uint64_t seed)
{
    uint32_t n_busy;

    memset(path, 0, sizeof(*path));
    path->dice.state = seed;
    path->base_rate = path->rate = dice_log(&path->dice, 5e6, 1e9) / 8 / MSS_BYTES;
    path->rtt_s = dice_log(&path->dice, 0.01, 0.2);
    path->buffer = fmax(20, path->rate * path->rtt_s * dice_log(&path->dice, 0.25, 2));
    path->hosts = 1 + (uint32_t)(dice_unit(&path->dice) * PATH_HOSTS);
    path->next_open_s = wait(&path->dice, 2);
    path->next_change_s = wait(&path->dice, 30);
    n_busy = 1 + (uint32_t)(dice_unit(&path->dice) * 3);
    for (uint32_t i = 0; i < n_busy; i++)
        open_flow(path, true, i % path->hosts, 0, (struct start){ 10, false });
}

/* Capacity moves within a third and three times of its base; one change in ten is another route. */
static void change(struct path *path)
{
    if (dice_unit(&path->dice) < 0.1)
        path->rtt_s = dice_log(&path->dice, 0.01, 0.2);
    else
        path->rate = path->base_rate * dice_log(&path->dice, 1.0 / 3, 3);
    path->next_change_s = path->now_s + wait(&path->dice, 30);
}

/* Objects of 20 to 200 KB; three in ten times several connections open at once. */
static void open_group(struct path *path, const struct start *starts)
{
    uint32_t host = (uint32_t)(dice_unit(&path->dice) * path->hosts), n = 1;
    double segments = ceil(dice_log(&path->dice, 14, 140));

    if (dice_unit(&path->dice) < 0.3)
        n = 2 + (uint32_t)(dice_unit(&path->dice) * 7);
    for (uint32_t i = 0; i < n; i++)
        open_flow(path, false, host, segments, starts[host]);
    path->next_open_s = path->now_s + wait(&path->dice, 2);
}

static double flight_of(const struct flow *flow)
{
    if (flow->is_busy)
        return flow->limit > 0 ? fmin(flow->cwnd, flow->limit) : flow->cwnd;
    return fmin(flow->cwnd, flow->left);
}

/* Computes the window after a round; lost segments are retransmitted in the next one. */
static void end_flight(struct path *path, struct flow *flow, double flight, double lost,
                       double round_s, struct score *score)
{
    flow->rounds++;
    flow->sent += flight;
    flow->resent += lost;
    flow->rate = (flight - lost) / round_s;
    flow->last_sent_s = path->now_s;
    flow->busy_s += round_s;
    if (lost > 0) {
        /* Slow start has added those that arrived before the loss is seen. */
        flow->ssthresh = 0.7 * (flow->cwnd + (flow->is_slow_start ? flight - lost : 0));
        flow->cwnd = fmax(2, 0.7 * flow->cwnd);
        flow->is_slow_start = false;
    } else if (flight >= flow->cwnd) {
        flow->cwnd += flow->is_slow_start ? flow->cwnd : fmax(1, 0.02 * flow->cwnd);
    }
    if (flow->is_busy)
        return;
    score->segments += flight;
    score->resent += lost;
    flow->left -= flight - lost;
    if (flow->left > 0)
        return;
    score->transfers++;
    score->rounds += flow->rounds;
    flow->closes_s = path->now_s + dice_unit(&path->dice) * 5;
}

static bool is_sending(const struct flow *flow)
{
    return flow->is_open && (flow->is_busy || flow->left > 0);
}

static bool is_burst(const struct flow *flow)
{
    return flow->is_first && !flow->is_paced;
}

/*
 * One round trip. Of first flights that leave at once, segments that exceed the buffer are lost.
 * Others are paced, or clocked by acknowledgements: what exceeds path and buffer together is lost,
 * from each flow in proportion.
 */
static void run_round(struct path *path, struct score *score)
{
    double first = 0, clocked = 0, bdp = path->rate * path->rtt_s, round_s, over_first, over;

    for (size_t i = 0; i < PATH_FLOWS; i++) {
        if (is_sending(&path->flows[i]))
            *(is_burst(&path->flows[i]) ? &first : &clocked) += flight_of(&path->flows[i]);
    }
    path->queue = fmin(path->buffer, fmax(0, clocked - bdp));
    over_first = fmax(0, path->queue + first - path->buffer);
    over = fmax(0, clocked + first - over_first - bdp - path->buffer);
    round_s = path->rtt_s + path->queue / path->rate;
    path->now_s += round_s;
    for (size_t i = 0; i < PATH_FLOWS; i++) {
        struct flow *flow = &path->flows[i];
        double flight, lost;

        if (flow->is_open && !is_sending(flow))
            flow->is_open = path->now_s < flow->closes_s;
        if (!is_sending(flow))
            continue;
        flight = flight_of(flow);
        lost = is_burst(flow) ? over_first * flight / first : over * flight / fmax(clocked, 1);
        lost = fmin(ceil(lost), flight);
        if (flow->is_first && !flow->is_busy) {
            score->flights++;
            score->overflowed += lost > 0;
        }
        flow->is_first = false;
        end_flight(path, flow, flight, lost, round_s, score);
    }
}

void path_run(struct path *path, double end_s, const struct start *starts, struct score *score)
{
    while (path->now_s < end_s) {
        if (path->now_s >= path->next_change_s)
            change(path);
        if (path->now_s >= path->next_open_s)
            open_group(path, starts);
        run_round(path, score);
    }
}

struct riptide_sample flow_sample(const struct path *path, const struct flow *flow)
{
    double rtt_s = path->rtt_s + path->queue / path->rate;

    return (struct riptide_sample){
        .cwnd = (uint32_t)fmax(1, flow->cwnd),
        .rtt_us = (uint32_t)(rtt_s * 1e6),
        .min_rtt_us = (uint32_t)(path->rtt_s * 1e6),
        .mss_bytes = MSS_BYTES,
        .data_segs_out = (uint32_t)fmin(flow->sent, UINT32_MAX),
        .retrans_segs = (uint32_t)fmin(flow->resent, UINT32_MAX),
        .acked_bytes = (uint64_t)((flow->sent - flow->resent) * MSS_BYTES) + 1,
        .delivery_rate_Bps = (uint64_t)(flow->rate * MSS_BYTES),
        .busy_time_us = (uint64_t)(flow->busy_s * 1e6),
        .ssthresh_segs = flow->ssthresh > 0 ? (uint32_t)flow->ssthresh : INT32_MAX,
        .last_data_sent_ms = (uint32_t)fmax(0, (path->now_s - flow->last_sent_s) * 1e3),
    };
}
