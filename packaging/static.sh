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
# In a root that has nothing but them and the kernel's file systems, and in a network without links
# shellcheck disable=SC2016  # expanded by the inner shell
unshare --user --map-root-user --net --mount --pid --fork --kill-child bash -euo pipefail -c '
    cd "$1"
    mkdir proc run sys
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    mount -t tmpfs tmpfs run
    [[ $(chroot . /riptided --version) == "riptided $2" && $(chroot . /riptide version) == "riptide $2"* ]]
    mkdir run/riptide
    chroot . /riptided --state /run/riptide/state >run/log 2>&1 &
    for ((i = 0; i < 100; i++)); do
        ! chroot . /riptide status --json >run/status 2>>run/log || break
        sleep 0.1
    done
    [[ -s run/status ]] || { cat run/log >&2 && exit 1; }
    kill "$!" && wait "$!" && [[ -s run/riptide/state ]]' static "$directory/empty" "$version" ||
    { echo "static.sh: the programs do not run in an empty root" >&2; exit 1; }
echo "in an empty root riptided runs, riptide status asks it, and it ends and saves its state"
rm -r "$directory/empty" "$directory/source" "$directory/build" "$directory/root"
