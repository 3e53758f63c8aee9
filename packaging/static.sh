#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes an archive of the last commit's programs, which need no library, and of what belongs to them,
# to be unpacked in /: static.sh DIRECTORY.
set -euo pipefail
directory=${1:?DIRECTORY}
libmnl=$(compgen -G "$PWD/subprojects/libmnl-*/src" || true)

rm -rf "$directory"
mkdir -p "$directory/source"
git archive HEAD | tar -x -C "$directory/source"
[[ -z $libmnl ]] || cp -r "${libmnl%/src}" "$directory/source/subprojects"
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
name=riptide-$version-linux-$(uname -m)
{ meson setup "$directory/build" "$directory/source" --libdir=lib --buildtype=release -Dstatic=true -Dwerror=true &&
    ninja -C "$directory/build" && meson install -C "$directory/build" --no-rebuild --destdir "$directory/root"; } \
    >"$directory/build.log" 2>&1 || { tail -n 40 "$directory/build.log" >&2; exit 1; }

# Embedders have the sources.
rm -r "$directory/root/usr/local/"{lib/libriptide.*,lib/pkgconfig,include,share/man/man3}
tar -C "$directory/root" --owner=0 --group=0 --sort=name -czf "$directory/$name.tar.gz" etc usr
for program in bin/riptide sbin/riptided; do
    ! readelf -d -l "$directory/root/usr/local/$program" | grep -e NEEDED -e INTERP ||
        { echo "static.sh: $program needs a library" >&2; exit 1; }
    mkdir -p "$directory/empty"
    cp "$directory/root/usr/local/$program" "$directory/empty"
done
# Each of them alone in an empty root
[[ $(unshare --user --map-root-user chroot "$directory/empty" /riptided --version) == "riptided $version" ]]
[[ $(unshare --user --map-root-user chroot "$directory/empty" /riptide version) == "riptide $version"* ]]
rm -r "$directory/empty" "$directory/source" "$directory/build" "$directory/root"
