#!/bin/sh
# SPDX-License-Identifier: MIT
#
# two_hosts.sh NETCLUSTER FOLDER: two hosts at 250 Mbit/s. A ring runs on them in both worlds and the two agree within
# a factor that no wire could miss; its data is right; a wire that is cut ends the run with a line that says which hop;
# a signal and `down` leave nothing behind. No time is asserted: the machine may be busy.
set -u
netcluster=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
RINGLAB_NETCLUSTER=ringlab-nettest-$$ # beside a cluster that somebody has up
export RINGLAB_NETCLUSTER
. "$here/needs.sh"

out=$work/out
nothing_left() {
    [ -z "$("$netcluster" list)" ] || bad "$1: namespaces are left"
    [ ! -e "/run/$RINGLAB_NETCLUSTER" ] || bad "$1: its folder is left"
}

"$netcluster" up --hosts 2 --rate 250Mbit --latency 200us --build "$folder" >"$out" 2>&1 || bad 'up'
"$netcluster" up --hosts 2 --build "$folder" >"$out" 2>&1 && bad 'a second cluster of one name came up'
grep -q 'there already' "$out" || bad 'the second cluster was not refused in words'

"$netcluster" run compare "$here/ring.yaml" --json >"$out" 2>"$work/err" || { cat "$work/err" >>"$out"; bad 'compare'; }
grep -q '2 machines' "$out" || bad 'the ranks were not on two machines'
# (predicted - measured) / measured: a factor of ten either way is not this wire.
sed -n 's/^ *"error": *\([-0-9.e+]*\),.*/\1/p' "$out" | head -n 1 | awk '{ n++; if ($1 < -0.9 || $1 > 9) exit 1 } END { exit n != 1 }' ||
    bad 'prediction and measurement have nothing to do with each other'

"$netcluster" run verify "$here/ring.yaml" >"$out" 2>&1 || bad 'the data is not right'

# The wire is cut once blocks are on it, however long the ranks took to start: before, they wait for one another.
flowed_bytes() { ip -n "$RINGLAB_NETCLUSTER-host1" -s link show data | awk '/RX:/ { getline; print $1; exit }'; }
before=$(flowed_bytes)
(
    for _ in $(seq 600); do
        [ $(($(flowed_bytes) - before)) -lt 8000000 ] || break
        sleep 0.1
    done
    ip -n "$RINGLAB_NETCLUSTER-host1" link set data down
) &
"$netcluster" run measure "$here/ring.yaml" --set measure.repeats=100000 --set 'measure.timeout=3 s' >"$out" 2>&1
[ $? = 3 ] || bad 'a cut wire does not end the run with status 3'
wait
# In a hop it names the hop; between two repeats, what all ranks were to do together.
grep -Eq 'ringlab: rank [01]: (hop [0-9]+: block [01] .*rank [01] has not (arrived|been taken)|.*waiting for all ranks)' "$out" ||
    bad 'nobody says what the cut wire kept waiting'
"$netcluster" down || bad 'down'
nothing_left 'down'

"$netcluster" run --hosts 2 --rate 250Mbit --latency 200us --build "$folder" -- measure "$here/ring.yaml" \
    --set measure.repeats=100000 >"$out" 2>&1 &
child=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    ip netns pids "$RINGLAB_NETCLUSTER-host1" 2>/dev/null | grep -q . && break
    sleep 0.25
done
kill -s TERM $child
wait $child
[ $? = 143 ] || bad 'a run that is told to stop does not say so'
nothing_left 'a run that was told to stop'
