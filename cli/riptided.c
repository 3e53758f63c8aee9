/*
 * riptided: the agent of libriptide as a daemon. The main loop waits for the agent's fd and for
 * signals; everything else is the library's, or in settings.c and report.c.
 */
#include "log.h"
#include "report.h"
#include "settings.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* How the loop ended; what is left in the kernel depends on it. */
enum ending {
    ENDING_NONE,
    ENDING_SIGNAL, /* SIGTERM or SIGINT */
    ENDING_ONCE,   /* the only round is complete */
    ENDING_FAILED, /* the agent cannot go on, or the only round failed */
};

static void print_help(void)
{
    struct settings defaults;

    settings_init(&defaults);
    printf("Usage: riptided [OPTION]...\n\n"
           "Learns initial TCP windows from open connections and gives them to the kernel.\n"
           "Ends on SIGTERM or SIGINT, and takes everything back. Needs CAP_NET_ADMIN.\n\n");
    options_print_help(stdout, settings_rows, &defaults);
    printf("\nPolicies:\n");
    for (size_t i = 0; riptide_policy_get(i); i++)
        printf("  %-10s  %s\n", riptide_policy_get(i)->name, riptide_policy_get(i)->help);
    printf("\nSmoothings:\n");
    for (size_t i = 0; riptide_smoothing_get(i); i++)
        printf("  %-10s  %s\n", riptide_smoothing_get(i)->name, riptide_smoothing_get(i)->help);
    printf("\nTIME is a number with its unit: 500ms, 1s, 10min, 1h.\n"
           "Exit status: 0 success, 1 failure, 2 wrong option or value.\n");
}

/* Blocked, they wait in the fd, also those that arrive before the loop begins. */
static int open_signals(void)
{
    sigset_t signals;
    int fd;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &signals, NULL))
        return -errno;
    fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

static enum ending handle_signal(int signals_fd)
{
    struct signalfd_siginfo info;

    if (read(signals_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return ENDING_NONE;
    if (info.ssi_signo == SIGHUP) {
        log_line(LOG_LEVEL_INFO, "SIGHUP: nothing is reloaded; restart to change options");
        return ENDING_NONE;
    }
    log_line(LOG_LEVEL_INFO, "%s: ending", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
    return ENDING_SIGNAL;
}

/* How much may be lost where the power fails. */
#define SAVE_INTERVAL_NS UINT64_C(60000000000)

static void save_state(const struct settings *settings, const struct riptide_agent *agent)
{
    struct riptide_error error = { "" };
    int r = settings->state ? riptide_agent_save(agent, settings->state, &error) : 0;

    if (r < 0)
        log_line(LOG_LEVEL_WARNING, "state not kept: %s", log_error_text(&error, r));
}

/* *saved_ns is when the state was last kept; 0: not yet. */
static void save_now_and_then(const struct settings *settings, const struct riptide_agent *agent,
                              const struct riptide_tick *tick, uint64_t *saved_ns)
{
    if (*saved_ns != 0 && tick->finished_ns - *saved_ns < SAVE_INTERVAL_NS)
        return;
    if (*saved_ns != 0)
        save_state(settings, agent);
    *saved_ns = tick->finished_ns;
}

static enum ending handle_agent(const struct settings *settings, struct riptide_agent *agent,
                                uint64_t *saved_ns)
{
    const struct riptide_agent_event *event;
    enum ending ending = ENDING_NONE;
    int r = riptide_agent_dispatch(agent);

    while (riptide_agent_pop(agent, &event) == 0) {
        report_event(settings, event);
        if (event->kind == RIPTIDE_AGENT_TICK)
            save_now_and_then(settings, agent, event->tick, saved_ns);
        if (settings->once && event->kind == RIPTIDE_AGENT_TICK)
            ending = ENDING_ONCE;
        /* Trying again and again is for those who stay. */
        if (settings->once && event->kind == RIPTIDE_AGENT_FAILED)
            ending = ENDING_FAILED;
    }
    if (r < 0) {
        log_line(LOG_LEVEL_ERROR, "cannot go on: %s", strerror(-r));
        ending = ENDING_FAILED;
    }
    return ending;
}

static enum ending run(const struct settings *settings, struct riptide_agent *agent, int signals_fd)
{
    struct pollfd fds[] = {
        { .fd = signals_fd, .events = POLLIN },
        { .fd = riptide_agent_get_fd(agent), .events = POLLIN },
    };
    enum ending ending = ENDING_NONE;
    uint64_t saved_ns = 0;

    while (ending == ENDING_NONE) {
        if (poll(fds, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            log_line(LOG_LEVEL_ERROR, "poll: %s", strerror(errno));
            return ENDING_FAILED;
        }
        if (fds[0].revents)
            ending = handle_signal(signals_fd);
        if (ending == ENDING_NONE && fds[1].revents)
            ending = handle_agent(settings, agent, &saved_ns);
    }
    return ending;
}

static uint64_t count_routes(const struct riptide_agent *agent)
{
    struct riptide_router_stats stats;

    riptide_router_get_stats(riptide_agent_get_router(agent), &stats, sizeof(stats));
    return stats.routes;
}

/* A file that is refused, or not there yet, is an empty start. */
static void load_state(const struct settings *settings, struct riptide_agent *agent)
{
    struct riptide_load_counts counts;
    struct riptide_error error;
    int r;

    if (!settings->state)
        return;
    r = riptide_agent_load(agent, settings->state, &counts, &error);
    if (r == 0)
        log_line(LOG_LEVEL_INFO,
                 "%s: destinations taken over: %" PRIu32 ", expired: %" PRIu32 ", others: %" PRIu32,
                 settings->state, counts.loaded, counts.expired,
                 counts.older + counts.regrouped + counts.overflow);
    else
        log_line(r == -ENOENT ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "%s; starting empty",
                 log_error_text(&error, r));
}

/* Whatever ended the loop: without a daemon to look after them, routes go, but for --once. */
static int finish(const struct settings *settings, struct riptide_agent *agent, enum ending ending)
{
    uint64_t routes = count_routes(agent);
    int r;

    if (settings->router.dry_run)
        return ending == ENDING_FAILED ? EXIT_FAILURE : EXIT_SUCCESS;
    if (ending == ENDING_ONCE) {
        log_line(LOG_LEVEL_WARNING,
                 "the rule and its routes (%" PRIu64 ") stay until `riptide flush --table %" PRIu32
                 " --protocol %u`; nobody follows changes of the network meanwhile",
                 routes, settings->router.table, settings->router.protocol);
        return EXIT_SUCCESS;
    }
    r = riptide_agent_stop(agent);
    if (r < 0) {
        log_line(LOG_LEVEL_ERROR, "not all could be withdrawn: %s; see `riptide show`",
                 strerror(-r));
        return EXIT_FAILURE;
    }
    log_line(LOG_LEVEL_INFO, "all withdrawn, routes: %" PRIu64, routes);
    return ending == ENDING_FAILED ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int start_failed(const struct settings *settings, const struct riptide_error *error, int r)
{
    if (r == -EPERM && !settings->router.dry_run)
        log_line(LOG_LEVEL_ERROR, NEEDS_NET_ADMIN "; --dry-run needs none");
    else
        log_line(LOG_LEVEL_ERROR, "cannot start: %s%s",
                 r == -EPERM || r == -EACCES ? "the sockets are hidden from this user: " : "",
                 log_error_text(error, r));
    return EXIT_FAILURE;
}

/* Peers choose addresses: where their hashes fall must not be theirs to know. */
static int draw_seeds(struct settings *settings)
{
    uint64_t seeds[2];

    if (getrandom(seeds, sizeof(seeds), 0) != (ssize_t)sizeof(seeds))
        return -errno;
    settings->estimator.hash_seed = seeds[0];
    settings->router.hash_seed = seeds[1];
    return 0;
}

/* The library names its fields; here they are options: "cwnd_min: ..." is --cwnd-min. */
static void answer_refusal(struct riptide_error *error)
{
    for (char *at = error->text; *at && *at != ':'; at++) {
        if (*at == '_')
            *at = '-';
    }
    log_answer("--%s", error->text);
}

static int serve(struct settings *settings)
{
    struct riptide_error error = { "" };
    struct riptide_agent *agent;
    int signals_fd;
    int status;
    int r;

    log_set_level(settings->log_level);
    r = draw_seeds(settings);
    if (r < 0)
        return start_failed(settings, &error, r);
    r = riptide_agent_new(&agent, &settings->agent, &error);
    if (r == -EINVAL) {
        answer_refusal(&error);
        return EXIT_USAGE;
    }
    if (r < 0)
        return start_failed(settings, &error, r);
    load_state(settings, agent);
    signals_fd = open_signals();
    r = signals_fd < 0 ? signals_fd : riptide_agent_start(agent, &error);
    if (r < 0) {
        status = start_failed(settings, &error, r);
    } else {
        report_start(settings);
        status = finish(settings, agent, run(settings, agent, signals_fd));
        save_state(settings, agent);
    }
    riptide_agent_free(agent);
    return status;
}

/* For a service manager, after the daemon has ended in whatever way. */
static int flush(const struct settings *settings)
{
    struct riptide_flush_counts counts = { .rules = 0 };
    struct riptide_error error = { "" };
    int r = riptide_flush(&settings->router, &counts, &error);

    if (r == -EINVAL) {
        log_answer("%s", log_error_text(&error, r));
        return EXIT_USAGE;
    }
    if (r < 0) {
        log_line(LOG_LEVEL_ERROR, "flush: %s",
                 r == -EPERM ? NEEDS_NET_ADMIN : log_error_text(&error, r));
        return EXIT_FAILURE;
    }
    log_line(LOG_LEVEL_INFO, "removed: rules %" PRIu32 ", routes %" PRIu32, counts.rules,
             counts.routes);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct riptide_error error;
    struct settings settings;
    int status = EXIT_SUCCESS;

    log_init("riptided");
    settings_init(&settings);
    if (settings_parse(&settings, argc, argv, &error) < 0) {
        log_answer("%s", error.text);
        status = EXIT_USAGE;
    } else if (settings.help) {
        print_help();
    } else if (settings.version) {
        printf("riptided %s\n", riptide_version());
    } else if (settings.flush) {
        status = flush(&settings);
    } else {
        status = serve(&settings);
    }
    settings_deinit(&settings);
    return log_finish(status);
}
