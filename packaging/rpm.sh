#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes source and binary packages of the last commit by rpmbuild and says what is in them: rpm.sh
# DIRECTORY. On Debian rpm knows no installed package and none of Fedora's macros.
set -euo pipefail
directory=${1:?DIRECTORY}
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
name=riptide-$version

rm -rf "$directory"
mkdir -p "$directory"
git archive --prefix="$name/" HEAD ':!debian' | gzip -9n >"$directory/$name.tar.gz"
rpmbuild --nodeps -ba --define "_topdir $directory/build" --define "_sourcedir $directory" \
    --define "_rpmdir $directory" --define "_srcrpmdir $directory" --define "riptide_version $version" \
    packaging/riptide.spec >"$directory/build.log" 2>&1 || { tail -n 40 "$directory/build.log" >&2; exit 1; }
rm -r "$directory/build"
for package in "$directory"/*/*.rpm; do
    echo "${package##*/}: $(rpm --query --list --package "$package" 2>/dev/null | wc -l) files," \
        "needs: $(rpm --query --requires --package "$package" 2>/dev/null | grep -c '\.so') names of libraries"
done
