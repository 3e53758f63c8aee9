/* SPDX-License-Identifier: MIT */
/*
 * The rounds of an agent: observe, compute, apply, once per interval.
 */
#ifndef RIPTIDE_LIB_AGENT_ROUND_H
#define RIPTIDE_LIB_AGENT_ROUND_H

#include <riptide/agent.h>

/* Has the first round begin at once. Errors: those of timerfd_settime(2). */
int round_first(struct riptide_agent *agent);

/*
 * The observer is another one, the interval may be, and the samples of before are forgotten: where
 * a dump is under way, the round begins anew with the next dispatch. Does nothing that may fail.
 */
void round_restart(struct riptide_agent *agent);

/* The timer's fd is readable. */
int round_on_timer(struct riptide_agent *agent);

/* The observer's fd is readable: reads one buffer, of the dump or of connections that closed. */
int round_on_observer(struct riptide_agent *agent);

/* riptide_agent_add. */
int round_add(struct riptide_agent *agent, const struct riptide_sample *sample);

/* There is something to hand over to the router: a part of it goes. */
int round_on_work(struct riptide_agent *agent);

/* Ends the round where all of it is in the kernel. */
void round_end_if_applied(struct riptide_agent *agent);

#endif
