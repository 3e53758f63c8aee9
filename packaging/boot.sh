#!/bin/bash
# SPDX-License-Identifier: MIT
# Boots the system below ROOT, in a network without links and a cgroup of its own, runs a command
# there and ends it: boot.sh ROOT COMMAND... It is to run in namespaces of mounts and processes (./dev).
set -euo pipefail
root=$1
shift
cgroups=$(mktemp -d)
mount -t cgroup2 none "$cgroups"
cgroup=$(mktemp -d "$cgroups/riptide-XXXXXX")
chmod 755 "$cgroup"

# With the process go its namespaces; cgroups have to be removed.
end() {
    [[ -z ${pid:-} ]] || { kill -KILL "$pid" && wait "$pid" || true; } 2>/dev/null
    # Processes that have been killed take a moment to go.
    for ((i = 0; i < 100; i++)); do
        find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null && break
        sleep 0.1
    done
    umount "$cgroups"
    rmdir "$cgroups"
}
trap end EXIT

# Only what is the root of mounts, and no chroot, lets units have mounts of their own.
# shellcheck disable=SC2016  # expanded by the inner shell
first='
    cd "$1"
    for directory in dev proc sys; do
        ! mountpoint -q "$directory" || umount -lR "$directory"
    done
    mount -t sysfs none sys
    mount -t cgroup2 none sys/fs/cgroup
    mount -t tmpfs -o mode=755 none run
    mount -t tmpfs -o mode=1777 none tmp
    mount -t proc none proc
    mount -t tmpfs -o mode=755 none dev
    for device in full null random tty urandom zero; do
        touch "dev/$device"
        mount --bind "/dev/$device" "dev/$device"
    done
    mkdir dev/mqueue dev/pts dev/shm
    mount -t devpts -o newinstance,ptmxmode=666 none dev/pts
    ln -s pts/ptmx dev
    chroot . ip link set lo up
    mount --move . /
    exec env -i container=riptide PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . /lib/systemd/systemd'
(echo "$BASHPID" >"$cgroup/cgroup.procs" &&
    exec unshare --cgroup --net --mount --pid --uts --ipc --fork --kill-child bash -euc "$first" boot "$root") &
pid=$!

# Its root, too: where this runs in a chroot that of its mounts is another one.
inside() {
    local first
    read -r first _ <"/proc/$pid/task/$pid/children" || true
    nsenter --target "$first" --cgroup --net --mount --uts --ipc --pid --root --wd=/ \
        env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
for ((i = 0; ; i++)); do
    inside test -S /run/systemd/private 2>/dev/null && break
    ((i < 1200)) && kill -0 "$pid" || { echo "boot.sh: systemd does not start" >&2; exit 1; }
    sleep 0.1
done
inside systemctl is-system-running --wait >/dev/null || true # degraded where a container has less
inside "$@"
