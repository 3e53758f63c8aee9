/* SPDX-License-Identifier: MIT */
/* Templates of sentences. The first failing step on the way to a route is the verdict. */
#include "explanation.h"

/* The window with which connections start in this case. */
#define STARTS "[; connections start with {lookup.starts_with} segments]"

/* Why there is no window: the first missing condition. */
#define WITHOUT_WINDOW                                                                             \
    "[{!in_scope}no window: it is outside of --scope, or in --exclude"                             \
    "|no window, and one would not help: it is left alone: {left_alone}" STARTS                    \
    "|{?seen}{!seen.counted}no window: none of the {seen.connections} connections that riptided "  \
    "saw last counts (unused {seen.left_out.unused}, idle {seen.left_out.idle}, unmeasured "       \
    "{seen.left_out.unmeasured})"                                                                  \
    "|no window: no connection to it is open to learn from, or --max-destinations is reached]"

#define BY_PROGRAM                                                                                 \
    "connections start with [{program.kept} segments, their route's, which is no less than the "   \
    "{program.initcwnd} by the program|{program.initcwnd} segments, given by the program]"

#define DRY_RUN "a dry run: connections would start with {route.initcwnd} segments"

#define OF_DAEMON                                                                                  \
    "[{!route}{!window}" WITHOUT_WINDOW "|{!route}no window is given yet: its route is written "   \
    "in this round"                                                                                \
    "|{?route.state=withdrawn}no window is given [at present: {route.reason}|any more: its time "  \
    "to live has passed]" STARTS "|{?route.state=" STATE_PROGRAM "}[{?dry_run}" DRY_RUN            \
    "|no window is given by the program at present: {route.reason}" STARTS                         \
    "|{?program}" BY_PROGRAM "|no window is given yet: the program has none for it" STARTS "]"     \
    "|{?program}{!program.reason}{?lookup.starts_with}" BY_PROGRAM                                 \
    "[{!route.state=applied}; no route: {route.state}: [{route.reason}|no reason known]"           \
    "|; the route is not in use: {rules.reason}"                                                   \
    "|{!kernel}; the kernel does not have the route that riptided has written"                     \
    "|; not with the {kernel.initcwnd} of our route: {lookup.not_ours}]"                           \
    "|{!route.state=applied}no route: {route.state}: [{route.reason}|no reason known]" STARTS      \
    "|{?dry_run}" DRY_RUN "|{!kernel}the kernel does not have the route that riptided has written" \
    "|{!lookup.starts_with}no connections: {lookup.not_ours}"                                      \
    "|connections start with {lookup.starts_with} segments[, as the route is not in use: "         \
    "{rules.reason}|, not with the {kernel.initcwnd} of our route: {lookup.not_ours}]]"

/* A route without an answering riptided. */
#define OF_KERNEL                                                                                  \
    EXPLAIN_MANAGER "[{-holder}, and left a route]"                                                \
                    "[{!lookup.starts_with}[{-holder}: see `riptide flush`]; no connections: "     \
                    "{lookup.not_ours}"                                                            \
                    "|; connections start with {lookup.starts_with} segments[, {lookup.not_ours}]" \
                    "[{-holder}: see `riptide flush`]]"

const char explain_sentence[] =
    "[{?daemon_is_running}" OF_DAEMON "|{?is_program_silent}process {holder} gives windows by "
    "the program and does not answer on --control|{?kernel}" OF_KERNEL "|{!in_scope}" WITHOUT_WINDOW
    "|{?left_alone}" WITHOUT_WINDOW "|" EXPLAIN_MANAGER
    "; for its window: riptided --dry-run --once --scope {dst}]";

#define EVIDENCE                                                                                   \
    "[{?window.evidence.min_rtt_ms}  evidence     "                                                \
    "smallest rtt {window.evidence.min_rtt_ms:.1} ms"                                              \
    "[, {window.evidence.fitting} of {window.evidence.wait} flights that fit to grow, against it " \
    "{window.evidence.against} of 16]\n]"

#define ROUTE(name)                                                                                \
    "[{!" name "}none|{?" name ".state=" STATE_PROGRAM "}"                                         \
    "none: the window is given by the program"                                                     \
    "|{!" name ".state=applied}{" name ".state}:[ {" name ".reason}]"                              \
    "|{" name ".dst} initcwnd {" name ".initcwnd}[ via {" name ".gateway}]"                        \
    "[ dev {" name ".dev}]]\n"

const char explain_steps[] =
    "{dst}[{!is_itself}, counted as {destination}]\n"
    "[{?seen}  seen last    {seen.connections} connection[{!seen.connections=1}s], "
    "{seen.age_s:.1} s ago{seen.left_out:left_out}\n]"
    "[{?window}  counted      {window.connections} connection[{!window.connections=1}s]"
    "{window.left_out:left_out}\n"
    EVIDENCE "  computed     {window.smoothed:.1} segments (policy {policy})\n"
    "[{!window.off}  bounds       {window.cwnd_min} to {window.cwnd_max} segments"
    "[, by the hint for {window.hint}]"
    "[, base route {window.base_cwnd}]"
    "[; limited by: {window.limited_by}]\n]"
    "  window       [none: windows are off for {window.off}|{window.cwnd} segments], computed "
    "{window.age_s:.1} s ago[, expires in {window.expires_s:.0} s]\n"
    "|  window       none\n]"
    "[{?daemon_is_running}  route        " ROUTE(
        "route") "]"
                 "[{?program}  program      initcwnd {program.initcwnd}"
                 "[{?program.pacing_percent}, paced over [{?program.pacing_percent=50}half a round "
                 "trip, as TCP "
                 "does itself|{program.pacing_percent} % of a round trip], where one takes "
                 "5 ms or more]"
                 "[{?program.holdout_percent}, {program.holdout_percent} % of connections held out]"
                 "[{?program.reason}, not at present[{!route.state=" STATE_PROGRAM
                 "}: {program.reason}]]\n"
                 "[  receive      {program.receive_bytes} bytes in the first window, where this "
                 "host opens the connection, not of MPTCP\n]]"
                 "[  apply        auto chose {apply.by}: {apply.why}\n]"
                 "  kernel       " ROUTE("kernel") "  => {verdict}\n";
