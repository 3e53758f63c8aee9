#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes the source package and the binary packages of the last commit, and looks at them with
# lintian: deb.sh DIRECTORY. The unit tests are left out: ./dev test has them.
set -euo pipefail
directory=${1:?DIRECTORY}
version=$(dpkg-parsechangelog -S Version)
name=riptide-${version%-*}

rm -rf "$directory"
mkdir -p "$directory"
git archive --prefix="$name/" HEAD ':!debian' | gzip -9n >"$directory/riptide_${version%-*}.orig.tar.gz"
git archive --prefix="$name/" HEAD | tar -x -C "$directory"
cd "$directory/$name"
DEB_BUILD_PROFILES=nocheck DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc >"$directory/build.log" 2>&1 ||
    { tail -n 40 "$directory/build.log" >&2; exit 1; }
cd ..
rm -r "$name"
# It warns of whoever calls it as root.
lintian --allow-root --fail-on error,warning --tag-display-limit 0 ./*.changes
echo "lintian: neither errors nor warnings"
