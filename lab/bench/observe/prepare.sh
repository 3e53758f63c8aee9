#!/bin/bash
# SPDX-License-Identifier: MIT
# Fetches what ./dev bench observe compares with into DIRECTORY, before the sandbox, which has no
# network: pyroute2 (PyPI) and the netlink module for Go. What cannot be had is said and left out.
set -u
directory=${1:?DIRECTORY}
here=$(dirname "${BASH_SOURCE[0]}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# attempt NAME COMMAND...
attempt() {
    local name=$1
    shift
    timeout 180 "$@" >"$log" 2>&1 && return
    echo "bench: $name cannot be had and is left out: $(grep -v '^ *$' "$log" | tail -n 1)" >&2
    return 1
}

venv=$directory/venv
if [[ ! -e $venv/complete ]]; then
    rm -rf "$venv"
    attempt pyroute2 /usr/bin/python3 -m venv "$venv" &&
        attempt pyroute2 "$venv/bin/pip" install --disable-pip-version-check pyroute2==0.9.4 &&
        touch "$venv/complete"
fi
if [[ ! -e $directory/by_go ]]; then
    GOTOOLCHAIN=local attempt "the reader in Go" \
        go build -C "$here/go" -mod=readonly -o "$directory/by_go"
fi
true
