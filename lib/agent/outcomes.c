/* SPDX-License-Identifier: MIT */
/* Outcomes of closed connections: books and their begin, first flights. */
#include "agent/parts.h"

#include "compute/estimator.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct books *books_get_ended(struct outcomes *outcomes)
{
    if (!outcomes->ended)
        outcomes->ended = calloc(1, sizeof(*outcomes->ended));
    return outcomes->ended;
}

void books_end(struct outcomes *outcomes)
{
    if (outcomes->books && books_count(outcomes->books) > 0 && books_get_ended(outcomes)) {
        outcomes->ended_due += books_due(outcomes->books, outcomes->arms.holdout_percent);
        books_add(outcomes->ended, outcomes->books);
    }
    if (outcomes->books)
        *outcomes->books = (struct books){ 0 };
    outcomes->n_recent = RECENT;
    outcomes->since_s = read_clock(CLOCK_REALTIME) / NS_PER_S;
}

unsigned int read_congestion_control(void)
{
    char name[16];
    CLEANUP(closep)
    int fd = open("/proc/sys/net/ipv4/tcp_congestion_control", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);

    name[n > 0 ? n : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return book_control_of(name);
}

void books_begin(struct riptide_agent *agent)
{
    const struct riptide_applier_config *config = &agent->stages.applier;
    struct outcomes *outcomes = &agent->outcomes;
    struct arm_config arms = { 0 };

    /* Where only routes give windows no connection can be drawn. */
    if (agent->backend != RIPTIDE_ROUTES)
        arms = (struct arm_config){ .holdout_percent = config->holdout_percent,
                                    .seed = config->holdout_seed };
    if (outcomes->books && memcmp(&arms, &outcomes->arms, sizeof(arms)) == 0)
        return;
    books_end(outcomes);
    free(outcomes->books);
    /* Without memory for books windows are given all the same. */
    outcomes->books = arms.holdout_percent > 0 && !config->dry_run
                          ? calloc(2, sizeof(*outcomes->books))
                          : NULL;
    outcomes->arms = arms;
    outcomes->recent = outcomes->books ? outcomes->books + 1 : NULL;
    outcomes->n_recents = 0;
    outcomes->wait = BOOKS_WAIT;
    if (!outcomes->books)
        return;
    free(outcomes->kept);
    outcomes->kept = NULL;
}

static bool gives_none(const struct riptide_agent *agent)
{
    return agent->outcomes.suspension.until_ns > 0 || agent->is_paused ||
           (agent->backend == RIPTIDE_PROGRAM && riptide_agent_read_applier(agent).program_reason);
}

/* Connections that open without our window show nothing about it. */
static void wait_for_flights(struct riptide_agent *agent, bool is_off)
{
    struct outcomes *outcomes = &agent->outcomes;

    if (is_off)
        outcomes->flights_wait = FLIGHTS_WAIT;
    else
        outcomes->flights_wait -= outcomes->flights_wait > 0;
    agent->estimator->gives_none = outcomes->flights_wait > 0;
}

void outcomes_begin_round(struct riptide_agent *agent)
{
    agent->estimator->holdout = ARM_SHARE(agent->outcomes.arms.holdout_percent);
    agent->estimator->arms_seed = agent->outcomes.arms.seed;
    wait_for_flights(agent, gives_none(agent));
}

static void count_flight(struct first_flights *flights, const struct riptide_sample *sample,
                         uint32_t cwnd)
{
    uint32_t segs = evidence_segs_sent_once(sample);

    if (segs == 0 || segs > 2 * cwnd)
        return;
    flights->segs += segs;
    flights->again_segs += sample->retrans_segs;
}

/*
 * Most closed connections do not count and return early. Without a window of ours both arms have
 * started alike.
 */
static void enter(struct riptide_agent *agent, const struct riptide_sample *sample, enum arm arm)
{
    enum book_entry entry;
    struct outcomes *outcomes = &agent->outcomes;
    struct riptide_estimate path = { .min_rtt_us = 0 };
    struct book_line line;

    if (sample->acked_bytes <= (uint64_t)KERNEL_CWND * sample->mss_bytes) {
        outcomes->left_out[arm][BOOK_SMALL]++;
        return;
    }
    /* Without this sample, whose own time depends on its arm: the policy has it after the tick. */
    riptide_estimator_find(agent->estimator, &sample->dst, &path);
    entry = book_line_of(&line, outcomes->control, sample, path.min_rtt_us);
    if (entry != BOOK_ENTERED) {
        outcomes->left_out[arm][entry]++;
        return;
    }
    books_put(outcomes->books, arm, &line);
    books_put(outcomes->recent, arm, &line);
    outcomes->n_recent++;
}

void outcomes_enter(struct riptide_agent *agent, const struct riptide_sample *sample, uint32_t cwnd)
{
    struct outcomes *outcomes = &agent->outcomes;
    enum arm arm = arm_of(sample->cookie, outcomes->arms.seed, agent->estimator->holdout);

    if (outcomes->flights_wait == 0)
        count_flight(&outcomes->flights[arm], sample, cwnd);
    if (outcomes->books && outcomes->wait == 0)
        enter(agent, sample, arm);
}
