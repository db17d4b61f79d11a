#!/bin/sh
# SPDX-License-Identifier: MIT
#
# machines.sh RINGLAB-RANK: ranks on three "machines" whose clocks differ by minutes - time namespaces on this one, which
# Open MPI is told are three - leave a trace on one clock all the same. Where that cannot be staged (no mpirun 4, no
# right to make a namespace) it says so and is skipped.
set -u
rank=$1
skip() { echo "SKIPPED: $1"; exit 77; }

mpirun --version 2>/dev/null | grep -q 'Open MPI) 4\.' || skip 'no mpirun of Open MPI 4'
unshare -T --monotonic 1000 true 2>/dev/null || skip 'no time namespaces here'

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A remote shell that stays here.
printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >"$folder/shell"
chmod +x "$folder/shell"
[ "$(id -u)" = 0 ] && root=--allow-run-as-root || root=

words="measure $PWD/tests/mpi/small.yaml --set ring.devices=4 --set measure.repeats=1 --out $folder/result"
# shellcheck disable=SC2086 # words are words
timeout -k 5 60 mpirun $root --host a:2,b:1,c:1 --mca plm_rsh_agent "$folder/shell" --mca pml ob1 --mca btl self,tcp \
    --mca btl_tcp_if_include lo --mca mpi_yield_when_idle 1 --bind-to none \
    -n 2 "$rank" $words : -n 1 unshare -T --monotonic 1000 "$rank" $words : \
    -n 1 unshare -T --monotonic 77 "$rank" $words </dev/null >"$folder/said" 2>&1 ||
    { cat "$folder/said"; grep -q 'ringlab-rank:' "$folder/said" && exit 1; skip 'mpirun does not take three machines here'; }

grep -q '^hosts 3$' "$folder/result" || { echo "FAILED: not three machines"; exit 1; }
# All times of all ranks between the common start and a second later: uncorrected clocks are 77 s and 1000 s off.
awk '$1 == "rank" { rows = 1; next }
     rows { n++; if ($7 < -0.01 || $9 > 10) { print "FAILED: a row off the common clock: " $0; bad = 1 } }
     END { if (n != 40) { print "FAILED: " n " rows instead of 40"; bad = 1 }; exit bad }' "$folder/result"
