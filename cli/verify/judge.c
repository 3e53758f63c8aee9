/* SPDX-License-Identifier: MIT */
/*
 * Checks in the order in which the kernel decides: is there a route of ours, do rules lead to it,
 * was it used, did the window stay, does the peer accept it.
 */
#include "judge.h"


#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>
#include <stdio.h>

/* TCP_INFINITE_SSTHRESH in include/net/tcp.h. */
#define NO_SSTHRESH 0x7fffffffu

__attribute__((format(printf, 2, 3))) static void say(struct verdict *verdict, const char *format,
                                                      ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
    va_end(args);
}

const char *verdict_name(enum verdict_kind kind)
{
    static const char *const names[] = { "applied", "bounded", "overridden", "unknown" };

    return names[kind];
}

static void judge_without_route(const struct evidence *evidence, struct verdict *verdict)
{
    if (evidence->why_off[0])
        say(verdict, "riptided gives no windows by the program: %s", evidence->why_off);
    else if (evidence->silent_pid) {
        verdict->kind = VERDICT_UNKNOWN;
        say(verdict,
            "process %d gives windows by the program and does not answer on --control: it is "
            "unknown whether this connection got its window",
            evidence->silent_pid);
    } else if (evidence->dry.state == RIPTIDE_ROUTE_LEFT_ALONE)
        say(verdict, "Riptide leaves this destination alone: %s", evidence->dry.reason);
    else if (evidence->dry.state == RIPTIDE_ROUTE_FAILED)
        say(verdict, "the kernel refuses a route for it: %s", evidence->dry.reason);
    else if (evidence->off[0])
        say(verdict, "windows are off for %s, by a hint or a section of the configuration",
            evidence->off);
    else if (!evidence->has_holder)
        say(verdict, "no route of ours contains it, and no riptided runs here (or its --table is "
                     "another)");
    else
        say(verdict, "riptided has no window for it: there was no connection to it within the "
                     "time to live, it is not in --scope, or --max-destinations is reached");
}

/* The kernel used another route than ours, or none. */
static void judge_other_route(const struct evidence *evidence, struct verdict *verdict)
{
    const struct probe *probe = &evidence->probe;
    const struct route_answer *answer = &evidence->answer;
    struct start start;

    rules_judge_start(evidence->rules, evidence->n_rules, probe->peer.family,
                      evidence->applier.table, answer, &start);
    if (probe->interface && answer->table == RT_TABLE_MAIN &&
             !rules_find_before(evidence->rules, evidence->n_rules, probe->peer.family,
                                RT_TABLE_MAIN))
        say(verdict, "it is bound to %s, and our route leads another way", probe->interface);
    else
        say(verdict, "%s", start.text);
}

static void judge_other_window(const struct evidence *evidence, struct verdict *verdict)
{
    const struct probe *probe = &evidence->probe;

    if (probe->retrans_segs > 1)
        say(verdict,
            "SYNs were lost (retransmitted: %" PRIu32 "): the kernel starts with one segment then",
            probe->retrans_segs);
    else if (evidence->answer.initcwnd != evidence->route.initcwnd)
        say(verdict, "our route changed meanwhile, from %" PRIu32 " to %" PRIu32 "; try again",
            evidence->route.initcwnd, evidence->answer.initcwnd);
    else
        say(verdict,
            "the kernel took our route and still started with %" PRIu32
            ": congestion control %s or a BPF program set it",
            probe->cwnd, probe->congestion_control);
}

/* The first flight is also limited by the peer's window. */
static void judge_peer(const struct evidence *evidence, struct verdict *verdict)
{
    const struct probe *probe = &evidence->probe;

    verdict->kind = VERDICT_APPLIED;
    if (probe->snd_wnd_bytes == 0 || probe->mss_bytes == 0 ||
        probe->snd_wnd_bytes / probe->mss_bytes >= probe->cwnd)
        return;
    verdict->kind = VERDICT_BOUNDED;
    say(verdict,
        "the peer takes %" PRIu32 " bytes at first, which are %" PRIu32
        " segments: the rest of the window waits for its first acknowledgement%s",
        probe->snd_wnd_bytes, probe->snd_wnd_bytes / probe->mss_bytes,
        probe->snd_wnd_bytes > 60000 ? " (a SYN-ACK cannot offer more than 65535)" : "");
}

/* No route of ours gives it: the program's counter shows whether the program did, no value does. */
static void judge_program(const struct evidence *evidence, struct verdict *verdict)
{
    const struct probe *probe = &evidence->probe;

    if (evidence->has_given && probe->cwnd == evidence->program_cwnd)
        judge_peer(evidence, verdict);
    else if (probe->retrans_segs > 1)
        judge_other_window(evidence, verdict);
    else if (evidence->cgroup[0])
        say(verdict,
            "this command runs outside of the cgroup %s: its connections do not get the %" PRIu32
            " segments that riptided gives by the program; run it in that cgroup",
            evidence->cgroup, evidence->program_cwnd);
    else if (probe->cwnd > evidence->program_cwnd && probe->cwnd == evidence->answer.initcwnd)
        say(verdict,
            "the initcwnd of its route, %" PRIu32 ", is larger than the %" PRIu32
            " that riptided gives by the program, and stays",
            probe->cwnd, evidence->program_cwnd);
    else if (!evidence->has_given)
        say(verdict,
            "not by riptided, which would give %" PRIu32
            " by the program: its program has given no window meanwhile; it is detached, or not "
            "for connections of this command",
            evidence->program_cwnd);
    else
        say(verdict,
            "riptided gives %" PRIu32 " by the program, and it started with %" PRIu32
            ": the window changed meanwhile, or another program of the cgroup set it; try again",
            evidence->program_cwnd, probe->cwnd);
}

static void note_threshold(const struct probe *probe, struct verdict *verdict)
{
    if (probe->ssthresh >= NO_SSTHRESH || probe->ssthresh >= probe->cwnd)
        return;
    snprintf(verdict->note, sizeof(verdict->note),
             "the kernel remembers a slow start threshold of %" PRIu32
             " segments from an earlier connection, so this window does not double: "
             "ip tcp_metrics shows it, net.ipv4.tcp_no_metrics_save=1 ends it",
             probe->ssthresh);
}

void verdict_judge(const struct evidence *evidence, struct verdict *verdict)
{
    const struct route_answer *answer = &evidence->answer;

    *verdict = (struct verdict){ .kind = VERDICT_OVERRIDDEN };
    note_threshold(&evidence->probe, verdict);
    if (answer->table == evidence->applier.table && answer->initcwnd == evidence->probe.cwnd)
        judge_peer(evidence, verdict);
    else if (evidence->program_cwnd)
        judge_program(evidence, verdict);
    else if (answer->table == evidence->applier.table)
        judge_other_window(evidence, verdict);
    else if (!evidence->has_route && !answer->error)
        judge_without_route(evidence, verdict);
    else
        judge_other_route(evidence, verdict);
}
