# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced, with $cache set: apt with lists of its own in the cache, which the host's apt does not know.

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
