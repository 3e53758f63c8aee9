/* SPDX-License-Identifier: MIT */
/* riptide status: the state of the daemon, on one screen. */
#include "client.h"
#include "effect.h"

#include <stdlib.h>
#include <string.h>

enum { EXIT_TROUBLE = 4 };

/* Besides the document it uses members that need a comparison of others. */
static const char screen[] =
    "riptided     {health:mark}[: {reason}]\n"
    "  version    {version}[{?dry_run}, dry run], process {pid}, running for {uptime_s:clock}\n"
    "[{!apply.by=program}  rules      IPv4 [off: {rules.ipv4.reason}|in place], "
    "IPv6 [off: {rules.ipv6.reason}|in place]\n]"
    "[{!apply.by=routes}  program    {apply.given} connections got their window, {apply.paced} of "
    "them "
    "paced; {apply.kept} kept a larger one of their route\n]"
    "[{?apply.holdout_percent}  held out   {apply.held_out} connections, "
    "{apply.holdout_percent} % of those to "
    "destinations with a window, kept the kernel's own\n]"
    "[{*apply.effect}  effect     " EFFECT_SENTENCE "\n]"
    "[{?apply.suspended_s}  retry      windows are given again in "
    "{apply.suspended_s:clock}\n]"
    "[  apply      auto chose {apply.by}: {apply.why}\n]"
    "  interval   {interval_s} s, [{?is_stretched}now {round.interval_s} s by --max-share, ]"
    "policy {policy}, time to live {ttl_s} s\n"
    "  learned    {connections} connection[{!connections=1}s], {destinations} of at most "
    "{max_destinations} "
    "destinations[{?health=full}: full]\n"
    "[{!apply.by=program}  routes     {routes} of at most {max_routes} "
    "[{?dry_run}would be |]in the kernel, {left_alone} destinations left alone[{?has_all_routes}: "
    "full]\n]"
    "[{!dry_run}  in force   {in_force_percent:.1} % of the last minute\n]"
    "[  last round {round.ago_s:.1} s ago, took {round.took_ms:.1} ms (processor "
    "{round.cpu_ms:.1} ms), {round.changes} windows changed\n"
    "  lateness   {round.late_ms:.1} ms, of all {round.number} rounds at most "
    "{round.late_max_ms:.1} ms\n]"
    "[{?round.refused}  refused    {round.refused} connections beyond --max-destinations, of which "
    "{largest.prefix} has {largest.destinations}, at most a sixteenth\n]"
    "[{?hints}  hints      {hints} in force, sections \\[prefix\\] included: see riptide hint\n]"
    "[{?messages}  messages\n]"
    "[{*messages}    {time} {level:mark}: {text}\n]";

/* Whether windows should be given, and are not, or not all. */
static bool is_trouble(const char *health)
{
    return strcmp(health, "ok") != 0 && strcmp(health, "starting") != 0 &&
           strcmp(health, "paused") != 0;
}

int status_run(const struct command_options *options)
{
    json_t *status;
    bool is_troubled;
    int r = client_ask_or_say(options, json_pack("{s:s}", "request", "status"), &status);

    /* That none runs is an answer, too. */
    if (r == EXIT_NOT_RUNNING && options->json)
        command_print(options, json_pack("{s:s}", "health", "not running"), NULL, NULL);
    if (r != EXIT_SUCCESS)
        return r;
    is_troubled = is_trouble(text_of(status, "health"));
    command_add(options, status,
                json_pack("{s:b, s:b}", "is_stretched",
                          real(get(status, "round"), "interval_s") > real(status, "interval_s"),
                          "has_all_routes",
                          number(status, "routes") + number(status, "left_alone") >=
                              number(status, "max_routes")));
    r = command_print(options, status, screen, NULL);
    return r == EXIT_SUCCESS && is_troubled ? EXIT_TROUBLE : r;
}
