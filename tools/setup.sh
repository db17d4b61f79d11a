#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Puts the packages in place that Ringlab is built from, on Debian and Ubuntu. Called by tools/quickstart and
# tools/check; `tools/setup.sh` alone does the same for a build by hand.
#
#   tools/setup.sh [run | check]    what `ringlab` needs; check: what the tests need on top
#
# Installs what is missing and nothing else, asks nothing, and does nothing when all is there. Where it may not
# install, it prints the one command that would and exits 1. It builds nothing: that is its callers' business.
# shellcheck disable=SC2086 # lists of packages are words on purpose
set -eu

purpose=${1:-run}
log=$(dirname "$0")/../build/setup.log
cmake_wanted=3.25

say() { printf 'set-up: %s\n' "$*"; }
fail() {
    printf 'set-up: %s\n' "$*" >&2
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }
library() { have pkg-config && pkg-config --exists "$1" 2>/dev/null; }
compiles() {
    probe=$(mktemp) || return 1
    printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' | cc -x c -o "$probe" - 2>/dev/null
    result=$?
    rm -f "$probe"
    return $result
}

# A package counts as there when dpkg says so, or when what it is for works anyway (another system, or one's
# own build of it).
present() {
    if have dpkg-query && dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; then
        return 0
    fi
    case $1 in
    build-essential) have make && have cc && compiles ;;
    cmake) have cmake ;;
    ninja-build) have ninja ;;
    pkg-config) have pkg-config ;;
    libyaml-dev) library yaml-0.1 ;;
    libjansson-dev) library jansson ;;
    libsimgrid-dev) library simgrid ;;
    libopenmpi-dev) have mpicc ;;
    openmpi-bin) have mpirun ;;
    gnuplot-nox) have gnuplot ;;
    libcmocka-dev) library cmocka ;;
    fonts-dejavu-core) have fc-list && fc-list 2>/dev/null | grep -q . ;;
    *) return 1 ;;
    esac
}

missing_of() {
    missing=
    for package in "$@"; do
        present "$package" || missing="$missing $package"
    done
}

# $as_root is the prefix that makes a command run as root ("" for root itself); false where there is no way.
# sudo may ask for its password on a terminal, as it always does, and is never left waiting without one.
find_root() {
    as_root=
    become='su -c'
    [ "$(id -u)" -ne 0 ] || return 0
    have sudo || return 1
    become='sudo sh -c'
    as_root=sudo
    if [ -t 0 ]; then
        sudo true
    else
        as_root='sudo -n'
        $as_root true 2>/dev/null
    fi
}

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -y -q -o DPkg::Lock::Timeout=300 \
        -o Dpkg::Use-Pty=0 "$@" </dev/null >>"$log" 2>&1
}

needed='build-essential cmake ninja-build pkg-config libyaml-dev libjansson-dev libopenmpi-dev openmpi-bin
    gnuplot-nox fonts-dejavu-core'
optional=libsimgrid-dev
without_optional='clusters whose links are shared cannot be simulated; all else works'
case $purpose in
run) ;;
check) needed="$needed libcmocka-dev" ;;
*)
    echo "usage: tools/setup.sh [run | check]" >&2
    exit 2
    ;;
esac

missing_of $needed
hard=$missing
missing_of $optional
soft=$missing

if [ -n "$hard$soft" ]; then
    by_hand="apt-get update && apt-get install -y --no-install-recommends$hard$soft"
    if ! have apt-get; then
        [ -z "$hard" ] || fail "no apt-get here; please install what these Debian packages hold:$hard$soft"
        say "without$soft: $without_optional"
    elif ! find_root; then
        [ -z "$hard" ] || fail "packages are missing and only root can install them. Run this once, then again:
    $become '$by_hand'"
        say "without$soft (only root can install it): $without_optional"
    else
        if ! mkdir -p "$(dirname "$log")" || ! true >"$log"; then
            fail "cannot write $log: is this checkout yours?"
        fi
        say "reading the package lists"
        apt update || say "apt-get update had trouble (see $log); going on with the lists that are here"
        if [ -n "$soft" ] && ! apt-cache show $soft 2>/dev/null | grep -q '^Version:'; then
            say "without$soft (this system has no such package): $without_optional"
            soft=
        fi
        if [ -n "$hard$soft" ]; then
            say "installing$hard$soft"
            apt install --no-install-recommends $hard $soft || {
                tail -n 15 "$log" >&2
                fail "apt-get failed; all it said is in $log"
            }
        fi
    fi
fi

# Debian 12 and Ubuntu 24.04 have it new enough; older systems do not.
cmake_found=$(cmake --version | sed -n '1s/.* //p')
oldest=$(printf '%s\n%s\n' "$cmake_wanted" "$cmake_found" | sort -V | head -n 1)
[ "$oldest" = "$cmake_wanted" ] ||
    fail "cmake $cmake_found is too old, $cmake_wanted or newer is needed (for example: pip install cmake)"
