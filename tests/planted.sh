#!/bin/bash
# SPDX-License-Identifier: MIT
# What cannot fail proves nothing: plants a fault in a copy of the code, and runs over it what has to
# catch it. Exits 0 where it did.
#   planted.sh LANE [WORD...]     --asan, --tsan, --valgrind, --analyze or --coverage, with the words
#                                 that ./dev test takes behind it; EBUSY for the faults of that name,
#                                 modes or hardening for the tests of these; or --soak
#   planted.sh fuzz               the faults of all targets, or fuzz:TARGET, over their corpora
#   planted.sh --check            plants none: does each still have its place in the code?
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What has to catch it; file and change, for sed; what is said then, as a pattern.
faults=(
    # an agent is not freed
    --asan lib/agent/agent.c '/^    free(agent);$/d' 'LeakSanitizer'
    --valgrind lib/agent/agent.c '/^    free(agent);$/d' 'definitely lost'
    # a counter that all agents share
    --tsan lib/agent/agent.c
    '/^RIPTIDE_PUBLIC int riptide_agent_dispatch/,/^{/s/^{/{\n    static int calls; calls++;/' 'data race'
    # written through a null pointer; each of three tools finds it
    --analyze lib/common/internal.c '/^void closep/,/^{/s/^{/{\n    int *nothing = NULL;\n\n    *nothing = *fdp;/'
    'analyzer-null-dereference|nullPointer|core.NullDereference'
    # what nobody calls
    --coverage lib/compute/estimator.c
    "\$a int nobody(int n);\nint nobody(int n)\n{\n$(printf 'n += n == %d ? n : 1;\\n' {1..400})return n;\n}"
    'minimum (line|branch) coverage'
    # a start that fails leaves its rules
    EBUSY lib/apply/routes/router.c
    '/^static int start/,/^}/s/  remove_unknown(router, SCAN_RULES);/  (void)router;/' 'left in the kernel: rule'
    # only the owner may connect
    modes cli/riptided/control.c 's/umask(0111);/umask(0177);/' 'failed .*test_modes'
    # functions are bound when they are called, by way of a table that stays writable
    hardening meson.build 's/-Wl,-z,relro,-z,now,/-Wl,-z,relro,-z,lazy,/'
    'failed .*test_hardening'
    # a riptided that ends leaves everything in place
    --soak lib/apply/routes/router.c '/^static int router_stop/,/^}/s/if (router->is_claimed)/if (false)/'
    'VIOLATION: riptided ended with'

    fuzz:answer lib/common/netlink.c 's/error <= 0 ? error : -EBADMSG/error/' 'not so'
    fuzz:config cli/common/config.c 's/"%.100s:%d: /"%.100s %d: /' 'not so'
    fuzz:control cli/riptided/request.c 's/!may_change/false/' 'not so'
    fuzz:event lib/apply/routes/plan.c
    's/invalidate_inside(router, &route.dst, is_ours ? CHANGE_ROUTE : CHANGE_BASE)/0/' 'not so'
    fuzz:event lib/common/route.c 's/&route->priority/\&route->table/' 'not so'
    fuzz:event lib/common/route.c 's/&route->ifindex/\&route->table/' 'not so'
    fuzz:state lib/compute/state.c 's/cwnd + 0.5/cwnd + 1.5/' 'not so'
)

# A shell of its own keeps what it says of an abort to itself.
replay() {
    meson setup build -Dtests=true -Dwerror=false && ninja -C build "fuzz/replay_$1" &&
        bash -c '"$@" || exit' replay "build/fuzz/replay_$1" "fuzz/corpus/$1"
}

# caught NAME FILE CHANGE PATTERN [WORD...]
caught() {
    local status=0 n_caught=1
    rm -rf "${copy:?}"/* && git ls-files -z | xargs -0 cp -P --parents -t "$copy"
    cd "$copy"
    sed -i "$3" "$2"
    case $1 in
    fuzz:*) replay "${1#fuzz:}" ;;
    --soak) ./dev soak --minutes 0.5 ;;
    *) ./dev test "$1" "${@:5}" ;;
    esac >log 2>&1 || status=$?
    [[ $1 != --analyze ]] || n_caught=3
    if ((status == 0 || $(grep -aoE "$4" log | sort -u | wc -l) < n_caught)); then
        tail -n 40 log
        echo "$1: not caught"
        return 1
    fi
    grep -aE "$4|passed, " log | head -n 5
}

# nobody, who runs some of the programs, has to enter it.
copy=$(mktemp -d)
chmod 755 "$copy"
trap 'rm -rf "$copy"' EXIT
export RIPTIDE_BUILD=$copy/build
n=0 missed=0
for ((i = 0; i < ${#faults[@]}; i += 4)); do
    fault=("${faults[@]:i:4}")
    [[ $(sed "${fault[2]}" "${fault[1]}") != "$(<"${fault[1]}")" ]] \
        || { echo "${fault[0]}: nothing in ${fault[1]} for ${fault[2]}"; exit 1; }
    [[ ${fault[0]} == "${1-}" || (${1-} == fuzz && ${fault[0]} == fuzz:*) ]] || continue
    n=$((n + 1))
    (caught "${fault[@]}" "${@:2}") || missed=1
done
((n > 0)) || [[ ${1-} == --check ]] || { sed -n '5,9s/^# *//p' "$0" >&2; exit 2; }
exit "$missed"
