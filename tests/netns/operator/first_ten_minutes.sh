#!/bin/bash
# SPDX-License-Identifier: MIT
# An operator's first ten minutes, from installation to purge. Needs BUILD, PEER, PORT, and a
# directory in which all files are.
. "$(dirname "$0")/common.sh"

meson install -C "$BUILD" --no-rebuild --quiet --destdir "$1/root"
PATH=$(dirname "$(find "$1/root" -path '*/bin/riptide')"):$(dirname "$(find "$1/root" -path '*/sbin/riptided')"):$PATH
hash -r

# Is this host fit for it, and what would it do?
says "NOT RUNNING. No connection in this network namespace" riptide doctor
says "NOT RUNNING. No connection in this network namespace gets a window." riptide
says "$PEER: would be applied" riptided --dry-run --once
says "no window: no connection that counts" riptided --dry-run --once --scope 192.0.2.0/24

# One site first.
printf 'scope = %s\n' "$PEER" >"$CONFIG"
says "$CONFIG: valid" riptided --config "$CONFIG" --check
start
soon "riptide: working." riptide status
soon "1 with a window" riptide show
says "$PEER: connections start with " riptide show "$PEER"
says "it is outside the scope" riptide show 198.51.100.1

# Does a connection get its window, and does it help?
soon "applied: $PEER port $PORT starts with " riptide verify "$PEER" "$PORT"
for _ in 1 2 3; do
    head -c 20000 /dev/zero >"/dev/tcp/$PEER/$PORT"
done
says "why " riptide verdict
says "0 problems" riptide doctor

# A restart keeps what has been learned.
stop
says "NOT RUNNING. No connection in this network namespace gets a window." riptide status
start
soon "1 with a window" riptide show

# Purge: nothing is left.
stop
rm -r "$1/root" "$CONFIG" "$STATE"*
! ip rule | grep -q 'lookup 7230'
! ip route show table 7230 2>&1 | grep -q initcwnd
