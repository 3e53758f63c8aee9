#!/bin/bash
# SPDX-License-Identifier: MIT
# The unit tests and the corpora for arm64, whose programs qemu emulates: ./dev test --arm64 calls it.
#   arm64.sh fetch <SOURCES     puts the libraries into the cache, once; SOURCES: apt's, one line each
#   arm64.sh cross              prints meson's description of the machine
set -euo pipefail

root=${XDG_CACHE_HOME:-$HOME/.cache}/riptide/libraries/arm64
triple=aarch64-linux-gnu

# extract: nothing of the other processor runs.
fetch() {
    [[ ! -d $root ]] || return 0
    echo "fetching libraries of arm64"
    rm -rf "$root.new"
    mkdir -p "$root.new"
    log=$(mktemp)
    trap 'cat "$log" >&2; echo "arm64.sh: no libraries" >&2' EXIT
    # shellcheck source=/dev/null
    mmdebstrap --variant=extract --architectures=arm64 \
        --include=libc6-dev,libcmocka-dev,libjansson-dev,libmnl-dev,libnl-route-3-dev,linux-libc-dev \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root.new" - >"$log" 2>&1
    trap - EXIT
    rm -f "$log"
    mv "$root.new" "$root"
}

cross() {
    local tool
    echo '[binaries]'
    for tool in ar ld objcopy strip; do
        echo "$tool = '$triple-$tool'"
    done
    cat <<END
pkgconfig = 'pkg-config'
c = ['$triple-gcc', '--sysroot=$root']
exe_wrapper = ['qemu-aarch64', '-L', '$root']
[properties]
sys_root = '$root'
needs_exe_wrapper = true
pkg_config_libdir = ['$root/usr/lib/$triple/pkgconfig', '$root/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
}

case ${1:-} in
fetch | cross) "$1" ;;
*) echo "arm64.sh: what? fetch or cross" >&2 && exit 1 ;;
esac
