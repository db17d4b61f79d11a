#!/bin/sh
# SPDX-License-Identifier: MIT
#
# overlap.sh NETCLUSTER FOLDER: two hosts at 1 Gbit/s, a hop that fits behind the computation: how much of it hides with
# each kind of progress, in both worlds, printed. Predictions are held to their figures. Measured ones depend on what
# else the machine does; but without anybody who looks nothing hides, on the busiest machine too.
set -u
netcluster=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
RINGLAB_NETCLUSTER=ringlab-overlap-$$ # beside a cluster that somebody has up
export RINGLAB_NETCLUSTER
. "$here/needs.sh"

"$netcluster" up --hosts 2 --rate 1000Mbit --latency 200us --build "$folder" >"$work/err" 2>&1 || bad 'up'
for progress in poll thread none; do
    "$netcluster" run compare "$here/overlap.yaml" --set progress=$progress --json >"$work/out" 2>"$work/err" ||
        bad "compare with progress: $progress"
    # the prediction's totals come first, the measurement's second
    overlaps=$(sed -n 's/.*"overlap": *\([0-9.e+-]*\).*/\1/p' "$work/out" | tr '\n' ' ')
    echo "progress $progress: overlap predicted and measured: $overlaps"
    echo "$progress $overlaps" | awk 'NF != 3 { exit 1 }
        $1 == "none" && ($2 > 0.001 || $3 > 0.05) { exit 1 }
        $1 != "none" && ($2 < 0.999 || $3 < 0 || $3 > 1) { exit 1 }' ||
        bad "progress $progress hides other than it should: $overlaps"
done
