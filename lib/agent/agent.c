/* SPDX-License-Identifier: MIT */
/* The public functions of an agent: its life, its fd, its events. round.c does the rounds. */
#include "parts.h"
#include "prefix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void agent_freep(struct riptide_agent **agentp)
{
    riptide_agent_free(*agentp);
}

/*
 * Makes the stages, and one epoll over their fds and the timer. On an error the caller frees all.
 */
static int stages_new(struct riptide_agent *agent, struct riptide_error *error)
{
    const struct stages *stages = &agent->stages;
    int fds[3], r;

    agent->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    agent->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (agent->epoll_fd < 0 || agent->timer_fd < 0)
        return -errno;
    r = riptide_observer_new(&agent->observer, &stages->observer, error);
    if (r == 0)
        r = riptide_estimator_new(&agent->estimator, &stages->estimator, error);
    if (r == 0)
        r = riptide_applier_new(&agent->applier, &stages->applier, error);
    if (r < 0)
        return r;
    fds[0] = agent->timer_fd;
    fds[1] = riptide_observer_get_fd(agent->observer);
    fds[2] = riptide_applier_get_fd(agent->applier);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.fd = fds[i] };

        if (epoll_ctl(agent->epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
            return -errno;
    }
    return 0;
}

RIPTIDE_PUBLIC int riptide_agent_new(struct riptide_agent **agentp,
                                     const struct riptide_agent_config *config,
                                     struct riptide_error *error)
{
    CLEANUP(agent_freep) struct riptide_agent *agent = calloc(1, sizeof(*agent));
    struct stages *stages;
    int r;

    error_set(error, "%s", "");
    if (!agent)
        return error_fill(error, -ENOMEM);
    agent->pid = getpid();
    agent->next_ns = RIPTIDE_NEVER_NS;
    agent->epoll_fd = agent->timer_fd = -1;
    stages = &agent->stages;
    r = agent_config_take(stages, config, error);
    if (r == 0)
        r = stages_new(agent, error);
    if (r == 0 && stages->agent.state && !(agent->state = strdup(stages->agent.state)))
        r = -ENOMEM;
    if (r < 0)
        return error_fill(error, r);
    interval_init(&agent->interval, stages->agent.interval_ns, stages->estimator.ttl_ns,
                  stages->agent.max_share);
    agent->backend = stages->applier.backend ? stages->applier.backend : RIPTIDE_BOTH;

    *agentp = agent;
    agent = NULL;
    return 0;
}

RIPTIDE_PUBLIC struct riptide_agent *riptide_agent_free(struct riptide_agent *agent)
{
    if (!agent)
        return NULL;
    riptide_applier_free(agent->applier);
    riptide_estimator_free(agent->estimator);
    riptide_observer_free(agent->observer);
    closep(&agent->timer_fd);
    closep(&agent->epoll_fd);
    free(agent->state);
    free(agent->kept_outcomes);
    free(agent);
    return NULL;
}

RIPTIDE_PUBLIC int riptide_agent_start(struct riptide_agent *agent, struct riptide_error *error)
{
    const struct riptide_applier_config *applier = &agent->stages.applier;
    uint32_t traits;
    int r;

    error_set(error, "%s", "");
    r = can_act(agent->pid, agent->round == ROUND_STOPPED, error);
    if (r == 0 && agent->is_started) {
        error_set(error, "it was started before");
        r = -EALREADY;
    }
    if (r < 0)
        return r;
    /* The timer comes first, as it is taken back more easily. */
    agent->next_ns = read_clock(CLOCK_BOOTTIME);
    r = round_arm(agent);
    if (r == 0)
        r = riptide_applier_start(agent->applier, error);
    if (r < 0) {
        agent->next_ns = RIPTIDE_NEVER_NS;
        round_arm(agent);
        return error_fill(error, r);
    }
    agent->is_started = true;
    agent->backend = agent_applier_stats(agent).backend;
    traits = riptide_backend_traits(agent->backend);
    if (agent->stages.has_prefixes && !(traits & RIPTIDE_TAKES_PREFIXES))
        snprintf(agent->why, sizeof(agent->why),
                 "%s; prefixes get no windows, as routes serve single addresses",
                 agent_applier_stats(agent).why);
    if (traits & RIPTIDE_HOLDS_OUT && !applier->dry_run)
        agent->experiment.holdout_percent = applier->holdout_percent;
    agent->experiment.seed = applier->holdout_seed;
    /* The line follows the applier's, of what a predecessor had left. */
    if (state_load(agent) && error)
        error_set(error, "%s%s%s", error->text, error->text[0] ? "; " : "", agent->state_said.text);
    return 0;
}

/* The kernel comes first, as the disk may take long. */
RIPTIDE_PUBLIC int riptide_agent_stop(struct riptide_agent *agent, struct riptide_error *error)
{
    bool was_stopped = agent->round == ROUND_STOPPED;
    int stopped, saved = 0;

    error_set(error, "%s", "");
    if (is_forked(agent->pid, error))
        return -ECHILD;
    /* From now on only the applier makes the fd readable. */
    epoll_ctl(agent->epoll_fd, EPOLL_CTL_DEL, agent->timer_fd, NULL);
    epoll_ctl(agent->epoll_fd, EPOLL_CTL_DEL, riptide_observer_get_fd(agent->observer), NULL);
    agent->round = ROUND_STOPPED;
    stopped = riptide_applier_stop(agent->applier);
    if (agent->state && agent->is_started && !was_stopped)
        saved = riptide_agent_save(agent, true, error);
    if (stopped < 0)
        error_set(error, "some rules or routes could not be removed: %s", strerror(-stopped));
    return stopped < 0 ? stopped : saved;
}

RIPTIDE_PUBLIC int riptide_agent_get_fd(const struct riptide_agent *agent)
{
    return agent->epoll_fd;
}

RIPTIDE_PUBLIC int riptide_agent_dispatch(struct riptide_agent *agent)
{
    struct epoll_event events[3];
    bool is_more = false;
    int n, armed, r = can_act(agent->pid, agent->round == ROUND_STOPPED, NULL);

    if (r < 0)
        return r;
    n = epoll_wait(agent->epoll_fd, events, 3, 0);
    if (n < 0)
        return errno == EINTR ? RIPTIDE_E_MORE : -errno;
    /* An error of one stage does not stop the others. */
    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd, done = RIPTIDE_E_MORE;

        /* The observer may have another buffer. The applier says whether it has more work. */
        if (fd == riptide_applier_get_fd(agent->applier))
            done = round_on_applier(agent);
        else if (fd == riptide_observer_get_fd(agent->observer))
            round_on_observer(agent);
        else
            done = round_on_timer(agent);
        is_more |= done == RIPTIDE_E_MORE;
        if (done < 0 && r == 0)
            r = done;
    }
    armed = round_arm(agent);
    if (r == 0)
        r = armed;
    if (r < 0)
        return r;
    return is_more ? RIPTIDE_E_MORE : 0;
}

/*
 * Makes an event of a reason if it is another one than was told. Two are the same if their
 * addresses are. Returns whether there is an event.
 */
static bool is_news(struct riptide_agent *agent, const char **told, const char *reason,
                    enum riptide_agent_event_kind kind, uint8_t family)
{
    if (reason == *told)
        return false;
    *told = reason;
    agent->event = (struct riptide_agent_event){ .kind = kind, .family = family, .reason = reason };
    return true;
}

static const char *events_reason(const struct riptide_agent *agent)
{
    struct riptide_observer_stats stats;

    riptide_observer_get_stats(agent->observer, &stats, sizeof(stats));
    if (stats.events_error == -ENOBUFS)
        return "more connections close than can be read; none for a while";
    return stats.events_error ? strerror(-(int)stats.events_error) : NULL;
}

/* Makes an event of the next reason that has changed, if there is one. */
static bool pop_reason(struct riptide_agent *agent)
{
    const struct riptide_applier_stats stats = agent_applier_stats(agent);
    const bool has_rules = riptide_backend_traits(stats.backend) & RIPTIDE_USES_RULES;

    for (size_t i = 0; i < 2 && has_rules; i++) {
        if (is_news(agent, &agent->told.rules[i], stats.rules_reason[i], RIPTIDE_AGENT_RULES,
                    families[i]))
            return true;
    }
    return is_news(agent, &agent->told.program, stats.program_reason, RIPTIDE_AGENT_PROGRAM, 0) ||
           is_news(agent, &agent->told.events, events_reason(agent), RIPTIDE_AGENT_DESTROY_EVENTS,
                   0);
}

/* Makes an event of a failure, or else of the end of a round, if there is one. */
static bool pop_round(struct riptide_agent *agent)
{
    if (agent->failure.what) {
        snprintf(agent->reason, sizeof(agent->reason), "%s: %s", agent->failure.what,
                 strerror(-agent->failure.error));
        agent->event.kind = RIPTIDE_AGENT_FAILED;
        agent->event.reason = agent->reason;
        agent->failure.what = NULL;
        return true;
    }
    if (!agent->is_tick_news)
        return false;
    agent->event.kind = RIPTIDE_AGENT_TICK;
    agent->event.tick = &agent->finished;
    agent->is_tick_news = false;
    return true;
}

RIPTIDE_PUBLIC int riptide_agent_pop(struct riptide_agent *agent,
                                     const struct riptide_agent_event **eventp)
{
    const struct riptide_route *route;

    agent->event = (struct riptide_agent_event){ 0 };
    agent->is_popped = true;
    if (agent_pop_route(agent, &route) == 0) {
        agent->event.kind = RIPTIDE_AGENT_WINDOW;
        window_fill(agent, &route->dst, route);
        agent->event.window = &agent->window;
        agent->event.outcome = riptide_backend_traits(route->backend) & RIPTIDE_USES_RULES
                                   ? agent->window.route
                                   : agent->window.program;
    } else if (!pop_reason(agent) && !pop_round(agent)) {
        return RIPTIDE_E_AGAIN;
    }
    *eventp = &agent->event;
    return 0;
}

RIPTIDE_PUBLIC int riptide_agent_set_paused(struct riptide_agent *agent, bool is_paused)
{
    int r = can_act(agent->pid, agent->round == ROUND_STOPPED, NULL);

    if (r < 0)
        return r;
    /* Only after a pause: each stretch that begins asks for more evidence than the one before. */
    if (agent->is_paused && !is_paused)
        experiment_begin(&agent->experiment, HOLDOUT_FIRST);
    agent->is_paused = is_paused;
    return agent_apply_pause(agent);
}

STRUCT_ENDS_WITH(struct riptide_verdict, reason);

RIPTIDE_PUBLIC int riptide_agent_get_verdict(const struct riptide_agent *agent,
                                             struct riptide_verdict *verdict, size_t size)
{
    struct riptide_verdict given;
    int r = experiment_give(&agent->experiment, &given);

    struct_give(verdict, size, &given, sizeof(given));
    return r;
}
