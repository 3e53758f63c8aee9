#!/bin/bash
# SPDX-License-Identifier: MIT
# The unit tests and the corpora for another processor, whose programs qemu emulates: ./dev test --arch calls it.
#   arch.sh packages ARCH           what Debian has to install for that
#   arch.sh fetch ARCH <SOURCES     puts the libraries into the cache, once; SOURCES: apt's, one line each
#   arch.sh cross ARCH              prints meson's description of the machine
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/riptide/libraries

die() {
    echo "arch.sh: $*" >&2
    exit 1
}

# What Debian calls its compiler and its folders, meson its processor, and the order of its bytes.
describe() {
    case $1 in
    arm64) triple=aarch64-linux-gnu folder=$triple cpu=aarch64 endian=little emulator=qemu-aarch64 ;;
    i386) triple=i686-linux-gnu folder=i386-linux-gnu cpu=x86 endian=little emulator=qemu-i386 ;;
    s390x) triple=s390x-linux-gnu folder=$triple cpu=s390x endian=big emulator=qemu-s390x ;;
    *) die "which? arm64, i386 or s390x" ;;
    esac
}

packages() {
    describe "$1"
    echo "gcc-$triple" mmdebstrap qemu-user
}

fetch() {
    local dir=$cache/$1
    describe "$1"
    [[ ! -d $dir ]] || return 0
    echo "fetching libraries of $1"
    rm -rf "$dir.new"
    mkdir -p "$dir.new"
    log=$(mktemp)
    trap 'cat "$log" >&2; die "no libraries"' EXIT
    # extract: nothing of the other processor runs.
    # shellcheck source=/dev/null
    mmdebstrap --variant=extract --architectures="$1" \
        --include=libc6-dev,libcmocka-dev,libjansson-dev,libmnl-dev,libnl-route-3-dev,linux-libc-dev \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$dir.new" - >"$log" 2>&1
    trap - EXIT
    rm -f "$log"
    mv "$dir.new" "$dir"
}

cross() {
    describe "$1"
    local root=$cache/$1
    cat <<END
[binaries]
c = ['$triple-gcc', '--sysroot=$root']
ar = '$triple-ar'
ld = '$triple-ld'
objcopy = '$triple-objcopy'
strip = '$triple-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['$emulator', '-L', '$root']
[properties]
sys_root = '$root'
needs_exe_wrapper = true
pkg_config_libdir = ['$root/usr/lib/$folder/pkgconfig', '$root/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = '$endian'
END
}

case ${1:-} in
packages | fetch | cross) "$1" "${2:-}" ;;
*) die "what? packages ARCH, fetch ARCH, cross ARCH" ;;
esac
