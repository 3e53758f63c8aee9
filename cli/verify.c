/* SPDX-License-Identifier: MIT */
/*
 * riptide verify: opens a connection, sends nothing, and checks in its own TCP_INFO whether it
 * starts with Riptide's window, or what prevented that.
 */
#include "lib/netlink.h"
#include "lib/verdict/arm.h"
#include "lib/tools.h"
#include "verify/judge.h"

#include "client.h"
#include "commands.h"
#include "explanation.h"
#include "kernel.h"
#include "log.h"
#include "resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Exit status; 1: the connection could not be opened, 2: wrong usage. */
enum { EXIT_BOUNDED = 3, EXIT_OVERRIDDEN = 4, EXIT_UNKNOWN = 5 };

/* Connections in a row that may be held out: with 50 % held out, once in a million. */
enum { MOST_HELD_OUT = 20 };

/* Connections in a row whose window differs from the program's a moment later. */
enum { MOST_CHANGED = 3 };

/* Whom the program holds out. */
struct draw {
    uint32_t share, seed;
};

const struct option_row verify_rows[] = {
    COMMAND_ROW("source", address, source, "connect from this address"),
    COMMAND_UNSET("mark", mark, probe_mark, "set this mark on the connection (SO_MARK)"),
    COMMAND_ROW("interface", name, interface, "bind the connection to this link"),
    COMMAND_ROW("timeout", duration, timeout_ns, "how long to wait for an answer"),
    { .name = NULL },
};

/* An address, without a prefix length. */
static bool parse_address(struct riptide_prefix *prefix, const char *text)
{
    return !strchr(text, '/') && riptide_prefix_parse(prefix, text) == 0;
}

/* IPv6 only, fe80::/10; IPv4 link-local addresses are routed like any other. */
static bool is_link_local(const struct riptide_prefix *address)
{
    return address->family == AF_INET6 && address->addr[0] == 0xfe &&
           (address->addr[1] & 0xc0) == 0x80;
}

/* Reads the command line. Returns what is wrong with it, or NULL. */
static const char *parse(struct probe *probe, const struct command_options *options)
{
    uint32_t port;

    if (options->n_operands != 2)
        return "give an address and a port";
    if (!parse_address(&probe->peer, options->operands[0]))
        return "the first operand is no IPv4 or IPv6 address";
    if (value_parse(&value_u32, &port, options->operands[1]) < 0 || port == 0 || port > UINT16_MAX)
        return "the second operand is no port from 1 to 65535";
    if (options->source && !parse_address(&probe->source, options->source))
        return "--source: no IPv4 or IPv6 address";
    if (options->source && probe->source.family != probe->peer.family)
        return "--source: not of the same family as the address";
    if (is_link_local(&probe->peer) && !options->interface)
        return "a link-local address exists on each link: give --interface";
    probe->peer_port = (uint16_t)port;
    probe->mark = options->probe_mark;
    probe->interface = options->interface;
    return NULL;
}

/*
 * The window in the program's map for the peer, if a riptided manages the namespace and answers.
 * Returns how many connections got windows from the program so far; -1: it has none for the peer.
 */
static json_int_t ask_program(struct evidence *evidence, const struct command_options *options,
                              const struct riptide_prefix *peer, int holder,
                              struct draw *arms)
{
    struct riptide_error error = { .text = "" };
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    json_t *answer = NULL;
    const json_t *program;
    json_int_t n_given = -1;
    int pid;

    riptide_prefix_format(peer, dst);
    evidence->program_cwnd = 0;
    evidence->why_off[0] = '\0';
    evidence->off[0] = '\0';
    if (client_ask(options->settings.control,
                   json_pack("{s:s, s:s}", "request", "explain", "dst", dst), &answer, &pid,
                   &error) == 0 &&
        pid == holder) {
        program = get(answer, "program");
        snprintf(evidence->off, sizeof(evidence->off), "%s", text_of(get(answer, "window"), "off"));
        if (json_is_object(program))
            n_given = number(program, "given");
        if (json_is_null(get(program, "reason")))
            evidence->program_cwnd = (uint32_t)number(program, "initcwnd");
        else
            snprintf(evidence->why_off, sizeof(evidence->why_off), "%s",
                     text_of(program, "reason"));
        if (probe_is_outside(text_of(program, "cgroup")))
            snprintf(evidence->cgroup, sizeof(evidence->cgroup), "%s", text_of(program, "cgroup"));
        arms->share = ARM_SHARE(json_number_value(get(program, "holdout_percent")));
        arms->seed = (uint32_t)number(program, "holdout_seed");
    } else if (client_has_program(holder) > 0) {
        evidence->silent_pid = holder;
    }
    json_decref(answer);
    return n_given;
}

static int gather(struct evidence *evidence, struct rule **rulesp,
                  const struct command_options *options, struct riptide_error *error)
{
    const struct probe asked = evidence->probe;
    struct draw arms = { 0 };
    struct netlink netlink;
    json_int_t n_before = -1, n_given;
    int holder;
    int r = resolve_find_ours(&evidence->applier, &evidence->probe.peer, &evidence->route);

    evidence->has_route = r == 0;
    evidence->has_holder = riptide_applier_get_holder(&holder) == 0;
    r = r == -ENOENT ? 0 : r;
    if (r == 0 && evidence->has_holder)
        n_before = ask_program(evidence, options, &asked.peer, holder, &arms);
    /* A connection that is held out, or whose window changed meanwhile, proves nothing. */
    for (int i = 0, n_others = 0; r == 0 && i < MOST_HELD_OUT && n_others < MOST_CHANGED; i++) {
        evidence->probe = asked;
        r = probe_run(&evidence->probe, options->timeout_ns, error);
        if (r == 0 && evidence->has_holder && !evidence->silent_pid) {
            n_given = ask_program(evidence, options, &asked.peer, holder, &arms);
            /* The counter includes other connections: if this one was not served, those were. */
            evidence->has_given = n_before >= 0 && n_given > n_before && !evidence->cgroup[0];
            n_before = n_given;
        }
        if (arm_of(evidence->probe.cookie, arms.seed, arms.share) != ARM_WINDOW)
            continue;
        if (evidence->program_cwnd == 0 || evidence->cgroup[0] ||
            (evidence->has_given && evidence->probe.cwnd == evidence->program_cwnd))
            break;
        n_others++;
    }
    if (r == 0)
        r = netlink_init(&netlink);
    if (r < 0)
        return r;
    probe_ask_route(&netlink, &evidence->probe, &evidence->answer);
    netlink_deinit(&netlink);
    r = kernel_read_rules(rulesp, &evidence->n_rules);
    evidence->rules = *rulesp;
    return r;
}

static json_t *to_json(const struct evidence *evidence, const struct verdict *verdict)
{
    const struct probe *probe = &evidence->probe;

    return json_pack("{s:s, s:s?, s:s?, s:{s:o, s:i, s:o, s:i, s:s, s:I, s:I, s:o}, "
                     "s:{s:o, s:o, s:i, s:o}, s:{s:o, s:b}}",
                     "verdict", verdict_name(verdict->kind), "reason",
                     verdict->reason[0] ? verdict->reason : NULL, "note",
                     verdict->note[0] ? verdict->note : NULL, "connection", "source",
                     explanation_prefix(&probe->source), "source_port", probe->source_port, "peer",
                     explanation_prefix(&probe->peer), "peer_port", probe->peer_port,
                     "congestion_control", probe->congestion_control, "cwnd",
                     (json_int_t)probe->cwnd, "mss_bytes", (json_int_t)probe->mss_bytes,
                     "peer_window_bytes", figure_or_null(probe->snd_wnd_bytes), "route", "dst",
                     explanation_prefix(&evidence->answer.match), "table",
                     figure_or_null(evidence->answer.table), "protocol", evidence->answer.protocol,
                     "initcwnd", figure_or_null(evidence->answer.initcwnd), "program", "initcwnd",
                     figure_or_null(evidence->program_cwnd), "has_given", evidence->has_given);
}

static void print_program(const struct evidence *evidence)
{
    if (evidence->program_cwnd > 0)
        printf("  program     gives %" PRIu32 "%s\n", evidence->program_cwnd,
               evidence->has_given ? "" : ", but not to this connection");
}

static void print_peer(const struct probe *probe)
{
    if (probe->snd_wnd_bytes == 0)
        puts("  peer        takes a window that this kernel does not show");
    else if (probe->mss_bytes == 0)
        printf("  peer        takes %" PRIu32 " bytes at first\n", probe->snd_wnd_bytes);
    else
        printf("  peer        takes %" PRIu32 " bytes at first, %" PRIu32 " segments\n",
               probe->snd_wnd_bytes, probe->snd_wnd_bytes / probe->mss_bytes);
}

static void print(const struct evidence *evidence, const struct verdict *verdict)
{
    const struct probe *probe = &evidence->probe;
    const struct route_answer *answer = &evidence->answer;
    char peer[RIPTIDE_PREFIX_TEXT_BYTES], source[RIPTIDE_PREFIX_TEXT_BYTES];
    char match[RIPTIDE_PREFIX_TEXT_BYTES] = "-";

    riptide_prefix_format(&probe->peer, peer);
    riptide_prefix_format(&probe->source, source);
    if (answer->match.family)
        riptide_prefix_format(&answer->match, match);
    printf("%s: %s port %u starts with %" PRIu32 " segments%s%s\n", verdict_name(verdict->kind),
           peer, probe->peer_port, probe->cwnd, verdict->reason[0] ? ": " : "", verdict->reason);
    printf("  connection  from %s port %u, %s, segments of %" PRIu32 " bytes, none sent\n", source,
           probe->source_port, probe->congestion_control, probe->mss_bytes);
    printf("  route       %s table %" PRIu32 " proto %u", match, answer->table, answer->protocol);
    if (answer->initcwnd > 0)
        printf(" initcwnd %" PRIu32, answer->initcwnd);
    puts("");
    print_program(evidence);
    print_peer(probe);
    if (verdict->note[0])
        printf("  note        %s\n", verdict->note);
}

static int report(const struct command_options *options, const struct evidence *evidence)
{
    struct verdict verdict;
    static const int statuses[] = {
        [VERDICT_APPLIED] = EXIT_SUCCESS,
        [VERDICT_BOUNDED] = EXIT_BOUNDED,
        [VERDICT_OVERRIDDEN] = EXIT_OVERRIDDEN,
        [VERDICT_UNKNOWN] = EXIT_UNKNOWN,
    };
    int status = EXIT_SUCCESS;

    verdict_judge(evidence, &verdict);
    if (options->json)
        status = command_print_json(options, to_json(evidence, &verdict));
    else
        print(evidence, &verdict);
    return status == EXIT_SUCCESS ? statuses[verdict.kind] : status;
}

int verify_run(const struct command_options *options)
{
    struct evidence evidence = { .applier = options->settings.applier };
    const char *wrong = parse(&evidence.probe, options);
    struct riptide_error error = { .text = "" };
    struct resolved resolved;
    struct rule *rules = NULL;
    int status = EXIT_FAILURE;
    int r;

    if (wrong)
        return command_refuse(options, "%s", wrong);
    /* First, as it reports wrong numbers in words. */
    r = resolve(&evidence.applier, options->settings.estimator.cwnd_max, &evidence.probe.peer, 1,
                &resolved, &error);
    evidence.dry = resolved.left_alone;
    if (r == -EINVAL)
        return command_fail(options, &error, r);
    if (r == 0)
        r = gather(&evidence, &rules, options, &error);
    if (r == 0)
        status = report(options, &evidence);
    else
        log_answer("verify: %s port %s: %s", options->operands[0], options->operands[1],
                   log_error_text(&error, r));
    free(rules);
    return status;
}
