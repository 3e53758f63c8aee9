# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Makes a minimal Debian of this host's suite and tries packages there, in namespaces that end with
# this process: sourced by ./dev, with the directory of the packages as $1.
directory=$1
root=/mnt

# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
bare_root "$suite" "$root" systemd,iproute2,gcc,libc6-dev,pkgconf
mkdir "$root/srv/old" "$root/srv/new"
cp "$directory"/*.deb "$root/srv/old"
rm "$root"/srv/old/*-dbgsym_*
cp packaging/try.py "$root/srv"

# What they depend on, and no more. There is no network later.
depends=$(for deb in "$root"/srv/old/*.deb; do dpkg-deb --field "$deb" Depends; done | tr ',' '\n' | grep -v riptide)
chroot "$root" sh -c 'apt-get -q update && apt-get -q satisfy -y --no-install-recommends "$1"' apt \
    "$(paste -sd, <<<"$depends")" >"$directory/try.log" 2>&1 || { tail -n 20 "$directory/try.log" >&2; exit 1; }

# The same with another revision, for the upgrade.
unpacked=$(mktemp -d)
for deb in "$root"/srv/old/*.deb; do
    version=$(dpkg-deb --field "$deb" Version)
    dpkg-deb --raw-extract "$deb" "$unpacked/package"
    sed -i "s/\<$version\>/$version+2/" "$unpacked/package/DEBIAN/control"
    dpkg-deb --build "$unpacked/package" "$root/srv/new" >/dev/null
    rm -r "$unpacked/package"
done
rmdir "$unpacked"
packaging/boot.sh "$root" python3 -B /srv/try.py /srv/old /srv/new
