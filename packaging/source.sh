#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes the source archive of the last commit, and installs from it without git: source.sh DIRECTORY.
set -euo pipefail
directory=${1:?DIRECTORY}
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
name=riptide-$version

rm -rf "$directory"
mkdir -p "$directory/tools"
git archive --prefix="$name/" HEAD | gzip -9n >"$directory/$name.tar.gz"
tar -x -C "$directory" -f "$directory/$name.tar.gz"
ln -s /bin/false "$directory/tools/git"
export PATH=$directory/tools:$PATH
{ meson setup "$directory/build" "$directory/$name" --libdir=lib -Dwerror=true &&
    ninja -C "$directory/build" && meson install -C "$directory/build" --no-rebuild --destdir "$directory/root"; } \
    >"$directory/build.log" 2>&1 || { tail -n 40 "$directory/build.log" >&2; exit 1; }
[[ $("$directory/root/usr/local/sbin/riptided" --version) == "riptided $version" ]]
echo "installed from $name.tar.gz, without git"
rm -r "${directory:?}/$name" "$directory"/{build,root,tools}
