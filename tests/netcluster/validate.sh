#!/bin/sh
# SPDX-License-Identifier: MIT
#
# validate.sh NETCLUSTER FOLDER: netcluster-validate stops where its time is over, goes on from its file where it
# stopped, writes a table of what ran, and leaves no hosts. No error of a prediction is asserted: the machine may be busy.
set -u
validate=$1-validate
netcluster=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
RINGLAB_NETCLUSTER=ringlab-valid-$$ # beside a cluster that somebody has up
export RINGLAB_NETCLUSTER
. "$here/needs.sh"
command -v python3 >/dev/null || skip 'no python3'

step() { # SECONDS: runs that begin within them
    "$validate" --hosts 3 --rates 1000 --sizes 1 --repeats 1 --build "$folder" --json "$work/runs.json" --seconds "$1" \
        >"$work/out" 2>"$work/err"
}
runs() { grep -c '"measured_s"' "$work/runs.json"; }

step 0 || bad 'no time'
grep -q '^8 runs are left' "$work/err" || bad 'eight runs are not left of eight'
step 4 || bad 'a part'
first=$(runs)
[ "$first" -ge 1 ] || bad 'nothing ran'
step 60 || bad 'the rest'
[ "$(runs)" = 8 ] || bad 'not all have run'
[ "$(grep -c '^1000 Mbit/s, 1 MiB' "$work/err")" = $((8 - first)) ] || bad 'a run was run again'
grep -q '^| 1000 Mbit/s | healthy | 2 | 0 |' "$work/out" || bad 'no row of healthy runs'
grep -q "^| [*][*]all[*][*] |  | 8 | 0 |" "$work/out" || bad "no row of all"
[ -z "$("$netcluster" list)" ] || bad 'hosts are left'
