# SPDX-License-Identifier: MIT
# What an operator types, and what the answer must say. Sourced, with a directory for all files.
set -eu
cd "$1"
CONFIG=$1/riptided.conf STATE=$1/state LOG=$1/log

# says TEXT COMMAND...: the output has the text, whatever the exit status.
says() {
    local text=$1 out
    shift
    out=$("$@" 2>&1) || true
    [[ $out == *"$text"* ]] && return
    echo "$* does not say: $text"
    echo "$out"
    exit 1
}

# soon TEXT COMMAND...: likewise, within 60 s.
soon() {
    local text=$1 end=$((SECONDS + 60))
    shift
    until [[ $("$@" 2>&1) == *"$text"* ]]; do
        ((SECONDS < end)) || says "$text" "$@"
        sleep 0.1
    done
}

daemon=
trap 'kill -KILL $daemon 2>&- || true' EXIT

# As a service manager starts and stops it.
start() {
    riptided --config "$CONFIG" --state "$STATE" >>"$LOG" 2>&1 &
    daemon=$!
    soon "process $daemon, running" riptide status
}

stop() {
    kill "$daemon"
    wait "$daemon"
    daemon=
}
