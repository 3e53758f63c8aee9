#!/bin/bash
# A lane that cannot fail proves nothing: plants a fault in a copy of the code and runs the lane over
# it. planted.sh --asan | --tsan | --valgrind | --analyze; exits 0 where the lane has caught it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lane=${1:-}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents --no-dereference -t "$copy"
cd "$copy"
case $lane in
--asan | --valgrind) # what a save needs is not freed
    sed -i 's/CLEANUP(freep) unsigned char \*bytes = malloc(n);/unsigned char *bytes = malloc(n);/' \
        lib/agent/state_file.c
    caught='LeakSanitizer|definitely lost' ;;
--tsan) # a counter that all agents share
    sed -i '/^RIPTIDE_PUBLIC int riptide_agent_dispatch/,/^{/s/^{/{\n    static int calls; calls++;/' \
        lib/agent/agent.c
    caught='data race' ;;
--analyze) # written through a null pointer
    sed -i '/^void closep/,/^{/s/^{/{\n    int *nothing = NULL;\n\n    *nothing = *fdp;/' lib/internal.c
    caught='analyzer-null-dereference|nullPointer' ;;
*) echo "planted.sh --asan | --tsan | --valgrind | --analyze" >&2 && exit 2 ;;
esac
status=0
RIPTIDE_BUILD=$copy/build ./dev test "$lane" "${@:2}" >"$copy/log" 2>&1 || status=$?
if ((status == 0)) || ! grep -qE "$caught" "$copy/log"; then
    tail -n 40 "$copy/log"
    echo "not caught"
    exit 1
fi
grep -E "$caught|passed, " "$copy/log" | head -n 5
