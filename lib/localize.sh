#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes one object of a static library, in which only what is public can be seen: a host may have
# functions of its own with the names of our parts. localize.sh IN.a OUT.a LD OBJCOPY AR
set -eu
object=$2.o
"$3" -r --whole-archive "$1" -o "$object"
"$4" --localize-hidden "$object"
rm -f "$2"
"$5" rcs "$2" "$object"
rm -f "$object"
