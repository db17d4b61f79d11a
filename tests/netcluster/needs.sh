# SPDX-License-Identifier: MIT
#
# What tests of a cluster of namespaces need, for them to read in; without it they are skipped, aloud. $RINGLAB_NETCLUSTER
# is the name of theirs, and $netcluster the program. They have a folder, $work, for what commands print (out, err), and
# leave by way of bad() where something is wrong; cluster and folder go with them.
skip() { echo "SKIPPED: $1"; exit 77; }

[ "$(id -u)" = 0 ] || skip 'needs root'
for program in ip tc mpirun; do command -v $program >/dev/null || skip "no $program"; done
mpirun --version 2>/dev/null | grep -q 'Open MPI) 4\.' || skip 'no mpirun of Open MPI 4'
ip netns add "$RINGLAB_NETCLUSTER" 2>/dev/null || skip 'network namespaces are refused here'
ip -n "$RINGLAB_NETCLUSTER" link add dev here type veth peer name there 2>/dev/null &&
    ip -n "$RINGLAB_NETCLUSTER" link add dev bridge type bridge 2>/dev/null &&
    ip netns exec "$RINGLAB_NETCLUSTER" tc qdisc add dev here root htb 2>/dev/null
can=$?
ip netns del "$RINGLAB_NETCLUSTER"
[ $can = 0 ] || skip 'this kernel lacks veth, bridges or htb'

work=$(mktemp -d)
trap '"$netcluster" down; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
bad() {
    echo "FAILED: $1"
    for printed in "$work/out" "$work/err"; do
        [ ! -f "$printed" ] || tail -n 20 "$printed"
    done
    exit 1
}
