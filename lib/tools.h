/* SPDX-License-Identifier: MIT */
/*
 * What the programs and tests of this project use of the library beside its public functions: they
 * have it inside, and hosts see none of it.
 */
#ifndef RIPTIDE_LIB_TOOLS_H
#define RIPTIDE_LIB_TOOLS_H

#include "apply/rule.h"
#include "connections/window.h"
#include "prefix.h"
#include "proof/books.h"
#include "proof/ladder.h"
#include "proof/watch.h"

#include <riptide/agent.h>

/*
 * Puts bytes in the place of a file, whole or not at all: written beside `path` with that mode,
 * whatever the umask, and renamed. Only a regular file is replaced; what else is there is -EINVAL,
 * a directory -EISDIR. Where `is_synced`, that holds even if the power fails, and the call blocks
 * for as long as the disk takes; else what the power leaves may be neither file. Errors as
 * riptide_state_save.
 */
int riptide_file_write(const char *path, const void *bytes, size_t size, unsigned int mode,
                       bool is_synced, struct riptide_error *error);

/*
 * The state of now, as riptide_state_write has it: *np bytes, to be given to free(3). NULL: no
 * memory.
 */
char *riptide_state_text(const struct riptide_agent *agent, size_t *np);

/*
 * Adds the books of n states, *arms: their shares, to those in `pool`, empty before. Errors, with a
 * part of them added, and a line about the state with the number *atp: as
 * riptide_states_get_verdict.
 */
int riptide_states_add_books(struct books *pool, struct arm_config *arms, const char *const *states,
                             const size_t *sizes, size_t n, size_t *atp,
                             struct riptide_error *error);

/*
 * riptide_state_save and riptide_state_load for an agent, with its books and the wait of a step
 * back, also where destinations are refused. Books of shares that are others now are left:
 * `outcomes` is a line that says so, and of how many connections books are then; empty where there
 * is no file.
 * `is_synced` as of riptide_file_write.
 */
int riptide_state_write(const struct riptide_agent *agent, const char *path, bool is_synced,
                        struct riptide_error *error);
int riptide_state_read(struct riptide_agent *agent, const char *path,
                       struct riptide_load_counts *counts, struct riptide_error *outcomes,
                       struct riptide_error *error);

/*
 * Reads a regular file of at most max_bytes; the bytes, and a zero behind them, are the caller's,
 * to be given to free(3).
 * Errors, each with a line: -EINVAL (no regular file, or a larger one), -ENOMEM, those of open(2)
 * and read(2).
 */
int riptide_file_read(const char *path, size_t max_bytes, void **bytesp, size_t *sizep,
                      struct riptide_error *error);

/*
 * Whether riptide_router_start would find a place here, asked of a router that is not started.
 * Changes nothing and needs no privilege; a router that holds the namespace already is no obstacle.
 * Errors: as riptide_router_start, each with a line in `error`, -EPERM and -EBUSY excepted.
 */
int riptide_router_check(struct riptide_router *router, struct riptide_error *error);

/*
 * The process whose router holds the thread's namespace; 0 where it cannot be seen from here.
 * Outcomes: RIPTIDE_E_UNKNOWN where there is none. Errors: those of socket(2).
 */
int riptide_router_get_holder(int *pidp);

/*
 * What a destination has because of the agent, by routes or per connection, as riptide_router_find;
 * and a walk over all, as riptide_estimator_next.
 */
int riptide_agent_find(const struct riptide_agent *agent, const struct riptide_prefix *dst,
                       struct riptide_route *route);
int riptide_agent_next(const struct riptide_agent *agent, uint32_t *cursor,
                       struct riptide_route *route);

/*
 * By what windows are given. *reasonp: why AUTO chose routes, or why the program gives nothing at
 * present; NULL: neither.
 */
enum riptide_backend riptide_agent_get_backend(const struct riptide_agent *agent,
                                               const char **reasonp);

/* Windows per connection (lib/connections/connections.h); NULL: there are none. */
struct connections *riptide_agent_get_connections(const struct riptide_agent *agent);

/* Of its configuration, from the next round on, until it is configured anew. */
void riptide_agent_set_max_share(struct riptide_agent *agent, double max_share);

/*
 * Of destinations with a window, connections that have closed after no more data than two windows:
 * that can only be in the flights which the first window allowed. By that of the destination,
 * whatever the arm, so that arms compare.
 */
struct first_flights {
    uint64_t segs, again_segs; /* without those sent again; and those */
};

/* What connections have shown of an agent's windows, and what came of it. */
struct outcomes {
    struct arm_config arms; /* which the program draws by lot, in force; all 0: none */
    struct books *books;    /* since the shares are what they are; NULL: none is held out */
    uint64_t since_s;       /* when these began, CLOCK_REALTIME */
    bool are_tainted;       /* with harm of a destination that stepped back alone: not judged */
    uint32_t wait;          /* rounds until the first entry */
    struct books *recent;   /* behind them, of the last up to RECENT that count */
    uint32_t n_recent;
    uint32_t n_recents;    /* times that these have begun anew */
    struct books *ended;   /* sums of all books that ended before; NULL: none has */
    uint64_t ended_due;    /* connections of these that were to be held out */
    char *kept;            /* of a state, while there are no books: text that goes into the next */
    unsigned int control;  /* of the namespace's default, as a destroy event has no name */
    uint64_t left_out[ARMS][BOOK_ENTRIES]; /* connections that no books have, and why */
    uint32_t flights_wait; /* rounds until first flights are judged, which had no window */
    struct first_flights flights[ARMS]; /* all in that with the window where none is held out */
    struct harm harm;                   /* whether windows have stepped back, and how often */
    char why_back[256];                 /* harm_describe, while they have */
    struct watch watch; /* destinations judged each by its own; those that have stepped back */
};

const struct outcomes *riptide_agent_get_outcomes(const struct riptide_agent *agent);

/* is_idle of struct riptide_router_stats. */
bool riptide_router_is_idle(const struct riptide_router *router);

/*
 * Reads our routes as the kernel has them, sorted by destination. For tools: it dumps the whole
 * table in one call. Needs no privilege. The array is to be given to free(3).
 * Errors: -ENOMEM, those of the kernel.
 */
int riptide_routes_read(const struct riptide_router_config *config, struct riptide_route **routesp,
                        size_t *n_routesp);

/*
 * Reads the rules of both families in the order in which the kernel follows them, IPv4 first; ours
 * are ours with whichever mark. Needs no privilege. The array is to be given to free(3).
 * Errors: -ENOMEM, those of the kernel; a kernel without policy rules has none.
 */
int riptide_rules_read(const struct riptide_router_config *config, struct rule **rulesp,
                       size_t *n_rulesp);

/*
 * How many segments of mss_bytes this host lets a peer send at once on a new connection that this
 * host has opened: the initial receive window (tcp_select_initial_window in
 * net/ipv4/tcp_output.c), from net.ipv4.tcp_rmem of the thread's namespace. A sender's initcwnd
 * beyond it is of no use. Where the peer has opened the connection, its first flight is bounded by
 * the window of our SYN-ACK as well, which has no scale: 65,535 bytes, whatever tcp_rmem says.
 * Errors: those of open(2) and read(2).
 */
int riptide_receiver_get_initrwnd(uint32_t mss_bytes, uint32_t *initrwndp);

/*
 * Whether a path (/run/netns/NAME, /proc/PID/ns/net, a cgroup) still leads to what was opened
 * there. Open sockets keep a namespace alive without those that it was made for; so who observes or
 * routes in it asks now and then, and frees what is in one that was given up.
 */
bool riptide_netns_is_at(int netns_fd, const char *path);

/* Whether both names, of cgroups or files, lead to the same one. */
bool riptide_paths_are_same(const char *one, const char *other);

/*
 * The number of the thread's network namespace, which no other one has until the kernel starts
 * anew. Errors: -ENOPROTOOPT before Linux 5.14, those of socket(2).
 */
int riptide_netns_get_cookie(uint64_t *cookiep);

/* Whether the scope, which has an array for each count, asks for this connection. Pure. */
bool riptide_scope_matches(const struct riptide_scope *scope, const struct riptide_sample *sample);

/* The n-th built-in one, or NULL behind the last. */
const struct riptide_policy *riptide_policy_get(size_t n);

/*
 * riptide_estimator_add for n samples; outcomes[i] is what the one of samples[i] would be, cwnds[i]
 * the window of its destination; 0: none. Where there are many it is much faster: it waits for the
 * memory of several destinations at once. Errors: -ENOMEM, with a part of them added.
 */
int riptide_estimator_add_all(struct riptide_estimator *estimator,
                              const struct riptide_sample *const *samples, size_t n, int *outcomes,
                              uint16_t *cwnds);

/*
 * Of the destination that this is, or is counted as, with what hosts whose states were merged have
 * shown; and (may be NULL) of its site. Empty where trials do not move its window.
 */
struct ladder riptide_estimator_get_ladder(const struct riptide_estimator *estimator,
                                           const struct riptide_prefix *dst, struct ladder *site);

/*
 * Walks over the ladders of this host alone, a destination with each call; NULL: behind the last, or
 * there are no trials. Its revision is that of the estimator when it changed last; 0: it is empty.
 */
const struct ladder *riptide_estimator_next_ladder(const struct riptide_estimator *estimator,
                                                   uint32_t *cursor, struct riptide_prefix *dst);
uint32_t riptide_estimator_get_revision(const struct riptide_estimator *estimator);

/*
 * What the other hosts of a site have shown of a destination, as ladder_save writes it, takes the
 * place of what they had: no rung as more connections than `weight`. All of it counts until until_ns
 * (riptide_estimator_keep_site), in the last fade_ns before that less and less. It is never saved.
 * Outcomes: RIPTIDE_E_UNKNOWN (no such destination, or no trials), RIPTIDE_E_INVALID. Errors: -ENOMEM.
 */
int riptide_estimator_take_site(struct riptide_estimator *estimator,
                                const struct riptide_prefix *dst, const char *text, double weight);
void riptide_estimator_keep_site(struct riptide_estimator *estimator, uint64_t until_ns,
                                 uint64_t fade_ns);
void riptide_estimator_forget_site(struct riptide_estimator *estimator);

/* How often trials have moved a window. */
uint64_t riptide_estimator_count_steered(const struct riptide_estimator *estimator);

/*
 * Walks over the hints in force, as riptide_estimator_next over destinations; a scale that was not
 * given is 1. Outcomes: RIPTIDE_E_DONE behind the last.
 */
int riptide_estimator_next_hint(const struct riptide_estimator *estimator, uint32_t *cursor,
                                struct riptide_hint *hint);

#endif
