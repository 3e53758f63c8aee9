#!/bin/bash
# SPDX-License-Identifier: MIT
# A lane that cannot fail proves nothing: plants a fault in a copy of the code and runs the lane over
# it. planted.sh LANE [WORD...]: --asan, --tsan, --valgrind, --analyze or --coverage, with the words
# that ./dev test takes behind it, EBUSY for the faults of that name, modes or hardening for
# the tests of these, or --soak; exits 0 where the lane has caught it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lane=${1:-} command=(test "$@")
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents --no-dereference -t "$copy"
cd "$copy"
sum() { find . -type f -print0 | sort -z | xargs -0 cat | cksum; }
before=$(sum)
case $lane in
--asan | --valgrind) # an agent is not freed
    sed -i '/^    free(agent);$/d' lib/agent/agent.c
    caught='LeakSanitizer|definitely lost' ;;
--tsan) # a counter that all agents share
    sed -i '/^RIPTIDE_PUBLIC int riptide_agent_dispatch/,/^{/s/^{/{\n    static int calls; calls++;/' \
        lib/agent/agent.c
    caught='data race' ;;
--analyze) # written through a null pointer
    sed -i '/^void closep/,/^{/s/^{/{\n    int *nothing = NULL;\n\n    *nothing = *fdp;/' lib/internal.c
    caught='analyzer-null-dereference|nullPointer|core.NullDereference' n_caught=3 ;;
--coverage) # what nobody calls
    {
        printf 'int nobody(int n);\nint nobody(int n)\n{\n'
        for ((i = 0; i < 400; i++)); do printf '    n += n == %d ? n : 1;\n' "$i"; done
        printf '    return n;\n}\n'
    } >>lib/compute/estimator.c
    caught='minimum (line|branch) coverage' ;;
EBUSY) # a start that fails leaves its rules
    sed -i '/^int router_start/,/^}/s/  remove_unknown(router, SCAN_RULES);/  (void)router;/' lib/apply/routes/start.c
    caught='left in the kernel: rule' ;;
modes) # the socket is as the umask has it
    sed -i 's/umask(0111);/umask(mask);/' cli/listener.c
    caught='failed .*test_modes_are_the_same_whatever_the_umask' ;;
hardening) # functions are bound when they are called, by way of a table that stays writable
    sed -i 's/-Wl,-z,relro,-z,now,/-Wl,-z,relro,-z,lazy,/' meson.build
    caught='failed .*test_hardening_by_linker_and_compiler' ;;
--soak) # a riptided that ends leaves everything in place
    sed -i '/^int router_stop/,/^}/s/if (router->is_claimed)/if (false)/' \
        lib/apply/routes/start.c
    caught='VIOLATION: riptided ended with' command=(soak --minutes 0.5) ;;
*)
    echo "planted.sh --asan | --tsan | --valgrind | --analyze | --coverage | EBUSY |" \
        "modes | hardening | --soak" >&2
    exit 2 ;;
esac
[[ $(sum) != "$before" ]] || { echo "nothing was planted: the code has changed" && exit 1; }
status=0
RIPTIDE_BUILD=$copy/build ./dev "${command[@]}" >"$copy/log" 2>&1 || status=$?
# Where a lane has several tools, each is to find it.
if ((status == 0 || $(grep -aoE "$caught" "$copy/log" | sort -u | wc -l) < ${n_caught:-1})); then
    tail -n 40 "$copy/log"
    echo "not caught"
    exit 1
fi
grep -aE "$caught|passed, " "$copy/log" | head -n 5
