#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a static library with an object for each file, so that a host links only what it calls:
# compute without libmnl. Names that are not public get a prefix, as a host may have functions of
# its own with the names of our parts. archive.sh IN.a OUT.a SYMBOLS NM OBJCOPY AR
set -eu
objects=$2.objects
rm -rf "$2" "$objects"
mkdir "$objects"
sed -n 's/^ *\(riptide_[a-z_0-9]*\);$/\1/p' "$3" > "$objects/public"
"$4" --defined-only --extern-only "$1" | sed -n 's/^[0-9a-f]* [A-Z] //p' | sort -u |
    grep -v -e '^__' | grep -v -x -F -f "$objects/public" |
    sed 's/.*/& riptide_private_&/' > "$objects/names"
for object in $("$6" t "$1"); do
    "$5" --redefine-syms "$objects/names" "$object" "$objects/${object##*/}"
done
"$6" rcs "$2" "$objects"/*.o
rm -rf "$objects"
