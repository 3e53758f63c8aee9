#!/bin/bash
# SPDX-License-Identifier: MIT
# The unit tests and the corpora for another processor, whose programs qemu emulates, or with musl's C library:
# ./dev test --arch calls it.
#   arch.sh packages ARCH           what Debian has to install for that
#   arch.sh fetch ARCH <SOURCES     puts the libraries into the cache, once; SOURCES: apt's, one line each
#   arch.sh cross ARCH              prints meson's description of the machine
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/riptide/libraries
# shellcheck source=tests/apt.sh
. "${BASH_SOURCE[0]%/*}/apt.sh"

die() {
    echo "arch.sh: $*" >&2
    exit 1
}

# What Debian calls its compiler and its folders, meson its processor, and the order of its bytes.
describe() {
    emulator=
    case $1 in
    arm64) triple=aarch64-linux-gnu folder=$triple cpu=aarch64 endian=little emulator=qemu-aarch64 ;;
    i386) triple=i686-linux-gnu folder=i386-linux-gnu cpu=x86 endian=little emulator=qemu-i386 ;;
    s390x) triple=s390x-linux-gnu folder=$triple cpu=s390x endian=big emulator=qemu-s390x ;;
    musl) triple=musl cpu=$(uname -m) endian=little ;;
    *) die "which? arm64, i386, musl or s390x" ;;
    esac
}

packages() {
    describe "$1"
    if [[ $1 == musl ]]; then
        echo cmake dpkg-dev musl-tools
    else
        echo "gcc-$triple" mmdebstrap qemu-user
    fi
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
    if [[ $1 == musl ]]; then
        (fetch_musl "$dir.new" "$dir") >"$log" 2>&1
    else
        # extract: nothing of the other processor runs.
        # shellcheck source=/dev/null
        mmdebstrap --variant=extract --architectures="$1" \
            --include=libc6-dev,libcmocka-dev,libjansson-dev,libmnl-dev,libnl-route-3-dev,linux-libc-dev \
            "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$dir.new" - >"$log" 2>&1
    fi
    trap - EXIT
    rm -f "$log"
    mv "$dir.new" "$dir"
}

# Debian has no library for musl: those of its source packages, and the kernel's headers, which are the same. fetch_musl NEW DIR
fetch_musl() {
    local source=$1/source name names=(cmocka jansson) libmnl
    mkdir "$source"
    libmnl=$(compgen -G "subprojects/libmnl-*/" || true) # where its wrap could be downloaded
    [[ -n $libmnl ]] || names+=(libmnl)
    sed 's/^deb /deb-src /' | apt_list musl
    (cd "$source" && apt musl apt-get source "${names[@]}")
    [[ -n $libmnl ]] || libmnl=$(compgen -G "$source/libmnl-*/")
    for name in cmocka jansson; do
        CC=musl-gcc cmake -G Ninja -S "$source/$name"-* -B "$source/build-$name" -DCMAKE_INSTALL_PREFIX="$2" \
            -DCMAKE_INSTALL_LIBDIR=lib -DWITH_EXAMPLES=OFF -DJANSSON_BUILD_DOCS=OFF -DJANSSON_BUILD_SHARED_LIBS=ON \
            -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON
        DESTDIR=$source/root ninja -C "$source/build-$name" install
    done
    mv "$source/root$2"/* "$1"
    ln -s /usr/include/{asm-generic,linux,"$(gcc -print-multiarch)/asm"} "$1/include"
    cp -r "${libmnl}include/libmnl" "$1/include"
    touch "$source/config.h"
    musl-gcc -shared -fPIC -O2 -DHAVE_VISIBILITY_HIDDEN -isystem "$1/include" -I "$source" -o "$1/lib/libmnl.so" \
        "$libmnl"src/{attr,callback,nlmsg,socket}.c
    printf '%s\n' 'Name: libmnl' 'Description: netlink' 'Version: 1.0.4' "Libs: -L$2/lib -lmnl" "Cflags: -I$2/include" \
        >"$1/lib/pkgconfig/libmnl.pc"
    rm -r "$source"
}

cross() {
    describe "$1"
    local root=$cache/$1 tool
    echo '[binaries]'
    for tool in ar ld objcopy strip; do
        echo "$tool = '${emulator:+$triple-}$tool'"
    done
    echo "pkgconfig = 'pkg-config'"
    if [[ $1 == musl ]]; then
        cat <<END
c = ['musl-gcc', '-isystem', '$root/include']
[built-in options]
c_link_args = ['-Wl,-rpath,$root/lib']
[properties]
needs_exe_wrapper = false
pkg_config_libdir = ['$root/lib/pkgconfig']
END
    else
        cat <<END
c = ['$triple-gcc', '--sysroot=$root']
exe_wrapper = ['$emulator', '-L', '$root']
[properties]
sys_root = '$root'
needs_exe_wrapper = true
pkg_config_libdir = ['$root/usr/lib/$folder/pkgconfig', '$root/usr/share/pkgconfig']
END
    fi
    cat <<END
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
