#!/bin/bash
# SPDX-License-Identifier: MIT
# A target that cannot fail proves nothing: plants a fault for each in a copy of the code and replays
# its corpus. planted.sh [TARGET...]; exits 0 where every fault ended the replay. planted.sh --check
# plants none: it looks whether each still has its place in the code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# target, file, what to replace, by what
faults=(
    answer lib/netlink.c 'error <= 0 ? error : -EBADMSG' 'error'
    base lib/apply/message.c 'RTA_PRIORITY, base->route.priority' 'RTA_PRIORITY, base->route.priority + 1'
    config cli/values.c '"min", 60000' '"min", 3600000'
    control cli/request.c '!may_change' 'false'
    control cli/request.c '"removed", text' '"removed", "::"'
    estimator lib/compute/bound.c 'cwnd < limits->min' 'false'
    estimator lib/compute/bound.c 'cwnd < destination->base_cwnd' 'false'
    estimator lib/compute/bound.c 'lesser(limits.scale, hint->scale)' '1'
    estimator lib/compute/destination.c 'destination->cwnd == destination->popped_cwnd' 'destination->cwnd == 0'
    event lib/apply/event.c 'touch_prefix(plan, &route.dst)' '0'
    json cli/explanation.c 'estimate->cwnd' 'estimate->samples'
    json cli/explanation.c 'explanation->evidence.burst' 'explanation->evidence.brake'
    json cli/explanation.c 'figure_or_null(hint->cwnd_max)' 'json_null()'
    local lib/observe/prefix_set.c '|= UINT64_C(1)' '= UINT64_C(1)'
    metrics cli/metrics_text.c 'count += histogram->counts' 'count = histogram->counts'
    metrics cli/metrics_text.c 'FIGURE(router.left_alone)' 'FIGURE(router.routes)'
    metrics cli/metrics_text.c 'histogram->sum += value' 'histogram->sum = value'
    observer lib/observe/observer.c 'COUNTER(left_out_link_local)' 'COUNTER(samples)'
    observer lib/observe/events.c 'message->nlmsg_type == SOCK_DIAG_BY_FAMILY' 'false'
    observer lib/observe/seen.c 'cookie > seen->highest\[block\]' 'true'
    observer lib/observe/seen.c 'cookie <= seen->settled\[block\]' 'false'
    prefix lib/prefix.c 'address, prefix->len)' 'address, prefix->len + 1)'
    prefix lib/prefix.c 'parse_len(slash + 1' 'parse_len(slash'
    route lib/apply/route.c '&route->priority' '\&route->table'
    route lib/apply/route.c 'next->rtnh_ifindex' 'next->rtnh_hops'
    rule lib/apply/rule.c 'has_others |= value != UINT32_MAX' 'has_others |= false'
    rule lib/apply/rule.c 'rule->protocol != identity->protocol' 'false'
    rule lib/apply/rule.c 'rule->mark == identity->mark' 'true'
    sample lib/observe/sample.c 'info->tcp.tcpi_rtt;' 'info->tcp.tcpi_rttvar;'
    sample lib/observe/sample.c 'msg->idiag_family, msg->id.idiag_dst' 'msg->idiag_family, msg->id.idiag_src'
    scope lib/observe/filter.c 'code->n_bytes - otherwise' 'code->n_bytes - otherwise + 4'
    state lib/compute/state.c 'MICRO_DIGITS = 6' 'MICRO_DIGITS = 5'
)

for ((i = 0; i < ${#faults[@]}; i += 4)); do
    file=${faults[i + 1]}
    [[ $(sed "s/${faults[i + 2]}/${faults[i + 3]}/" "$file") != "$(<"$file")" ]] \
        || { echo "${faults[i]}: nothing like '${faults[i + 2]}' in $file"; exit 1; }
done
[[ ${1-} != --check ]] || exit 0

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp -P --parents -t "$copy"
cd "$copy"
meson setup build -Dtests=true -Dwerror=false >log
missed=0
for ((i = 0; i < ${#faults[@]}; i += 4)); do
    target=${faults[i]} file=${faults[i + 1]}
    (($# == 0)) || [[ " $* " == *" $target "* ]] || continue
    cp "$file" kept
    sed -i "s/${faults[i + 2]}/${faults[i + 3]}/" "$file"
    ninja -C build "fuzz/replay_$target" >log || { tail -n 20 log; exit 1; }
    # A shell of its own, which keeps what it says of an abort to itself.
    if bash -c '"$@" || exit' replay "build/fuzz/replay_$target" "fuzz/corpus/$target" >log 2>&1; then
        echo "$target: not caught"
        missed=1
    else
        echo "$target: $(grep -m 1 'not so' log || tail -n 1 log)"
    fi
    cp kept "$file"
done
exit "$missed"
