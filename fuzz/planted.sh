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
    config cli/config.c '"%.100s:%d: ' '"%.100s %d: '
    control cli/request.c '!may_change' 'false'
    event lib/apply/routes/plan.c 'plan_touch(router, &route.dst, is_ours ? TOUCH_ROUTE : TOUCH_BASE)' '0'
    route lib/apply/routes/route.c '&route->priority' '\&route->table'
    route lib/apply/routes/route.c '&route->ifindex' '\&route->table'
    state lib/compute/state.c 'cwnd + 0.5' 'cwnd + 1.5'
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
