#!/bin/bash
# SPDX-License-Identifier: MIT
# Which lines of the parsers the corpora reach: coverage.sh BUILD, a build with -Db_coverage=true.
# Fails where one of the files has less than 95 %; `./dev fuzz --coverage` builds and runs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

floor=95
parsers=(
    cli/config.c cli/explanation.c cli/metrics_text.c cli/request.c cli/values.c
    lib/apply/base.c lib/apply/event.c lib/apply/links.c lib/apply/message.c
    lib/apply/route.c lib/apply/rule.c
    lib/compute/bound.c lib/compute/destination.c lib/compute/estimator.c lib/compute/state.c
    lib/observe/config.c lib/observe/dump.c lib/observe/events.c lib/observe/filter.c
    lib/observe/observer.c lib/observe/prefix_set.c lib/observe/sample.c
    lib/observe/seen.c lib/prefix.c
)

build=$1
find "$build" -name '*.gcda' -delete
for corpus in fuzz/corpus/*; do
    "$build/fuzz/replay_${corpus##*/}" "$corpus" >/dev/null
done
filters=()
for parser in "${parsers[@]}"; do
    [[ -f $parser ]] || { echo "coverage: no file $parser" >&2; exit 1; }
    filters+=(--filter "$parser")
done
# Columns: filename,line_total,line_covered,...
gcovr --root . --object-directory "$build" "${filters[@]}" --csv |
    awk -F, -v floor="$floor" -v files="${#parsers[@]}" '
        NR > 1 {
            share = $2 ? 100 * $3 / $2 : 100
            printf "%-28s %4d of %4d lines, %5.1f %%%s\n", $1, $3, $2, share,
                share < floor ? "  too few" : ""
            failed += share < floor
            n++
        }
        END {
            if (n != files) { print "coverage: not all files were measured"; exit 1 }
            exit failed > 0
        }'
