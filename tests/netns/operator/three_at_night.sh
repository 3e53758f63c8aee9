#!/bin/bash
# SPDX-License-Identifier: MIT
# Three at night: does it harm, what did it do, less for one customer, off. Needs PEER, and a
# directory in which all files are.
. "$(dirname "$0")/common.sh"
: >"$CONFIG"
start
soon "$PEER: connections start with" riptide show "$PEER"
soon "1 with a window" riptide show

# Off, at once; a restart keeps that; and on again.
riptide pause
says "riptide: PAUSED. New connections start without windows." riptide
says "connections start with 10 segments (the kernel's)" riptide show "$PEER"
stop
start
says "riptide: PAUSED." riptide
riptide resume
soon "riptide: working." riptide

# One customer gets less, also after a restart.
says "a restart keeps it" riptide hint "$PEER" --max 15 --for 1d
soon "connections start with 15 segments" riptide show "$PEER"
stop
start
soon "at most 15" riptide hint
soon "connections start with 15 segments" riptide show "$PEER"
says "by the hint for $PEER" riptide show "$PEER"

# Does it harm, and what did it do?
says "why " riptide verdict
says "changes " riptide show "$PEER"
says "HOUR" riptide status --history

# It hangs: everything goes all the same.
kill -STOP "$daemon"
says "kill -KILL $daemon" riptide flush
! ip rule | grep -q 'lookup 7230'
kill -KILL "$daemon"
soon "NOT RUNNING. No connection in this network namespace gets a window." riptide
