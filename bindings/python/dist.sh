#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts the library's sources and the licence where a source distribution has them: in the place of links.
set -eu
root=$MESON_SOURCE_ROOT/subprojects/riptide
target=$MESON_DIST_ROOT/subprojects/riptide
rm -f "$target"
mkdir -p "$target"
rm -f "$MESON_DIST_ROOT/LICENSE"
cd "$root"
cp LICENSE "$MESON_DIST_ROOT"
cp -r CHANGELOG.md LICENSE docs include lib meson.build meson_options.txt "$target"
rm -r "$target/docs/results" # a megabyte of pictures
