#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes source and binary packages of the last commit by rpmbuild, says what is in them and runs it, unpacked: rpm.sh
# DIRECTORY. On Debian rpm knows no installed package and none of Fedora's macros.
set -euo pipefail
directory=${1:?DIRECTORY}
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
name=riptide-$version

rm -rf "$directory"
mkdir -p "$directory/root"
git archive --prefix="$name/" HEAD ':!debian' | gzip -9n >"$directory/$name.tar.gz"
rpmbuild --nodeps -ba --define "_topdir $directory/build" --define "_sourcedir $directory" \
    --define "_rpmdir $directory" --define "_srcrpmdir $directory" --define "riptide_version $version" \
    packaging/riptide.spec >"$directory/build.log" 2>&1 || { tail -n 40 "$directory/build.log" >&2; exit 1; }
rm -r "$directory/build"
for package in "$directory"/*/*.rpm; do
    echo "${package##*/}: $(rpm --query --list --package "$package" 2>/dev/null | wc -l) files," \
        "needs: $(rpm --query --requires --package "$package" 2>/dev/null | grep -c '\.so') names of libraries"
    rpm2cpio "$package" | cpio --extract --make-directories --quiet --directory "$directory/root"
done
library=$(echo "$directory"/root/usr/lib*/libriptide.so.1)
export LD_LIBRARY_PATH=${library%/*} PYTHONPATH
PYTHONPATH=$(echo "$directory"/root/usr/lib*/python3*/*-packages)
said=$("$directory/root/usr/sbin/riptided" --version && "$directory/root/usr/bin/riptide" version | head -n 1 &&
    /usr/bin/python3 -Bc 'import importlib.metadata, riptide; print(riptide.__version__, importlib.metadata.version("riptide"))')
echo "$said" | paste -sd,
[[ $said == "riptided $version"$'\n'"riptide $version"*$'\n'"$version $version" ]]
rm -r "$directory/root"
