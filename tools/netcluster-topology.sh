#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The topology file of a cluster of namespaces, for tools/netcluster to read in: its links as they were asked for, and
# the latency of a hop, measured where it was not given. $place, $hosts, launch ... are that script's.
# shellcheck disable=SC2154

# What a cable carries of a message: 1448 of the 1514 bytes of a full Ethernet frame.
write_topology() { # LATENCY of a hop, in seconds
    cached=${RINGLAB_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ringlab}/this-machine-core.yaml
    if [ -n "$device" ]; then cp "$device" "$place/host.yaml" || return 1; elif [ -r "$cached" ]; then
        cp "$cached" "$place/host.yaml" || return 1
    else
        printf 'device:\n  name: host\n  source: no figures; for blocks of a fixed time\n' >"$place/host.yaml"
    fi
    {
        echo '# Made by tools/netcluster.'
        echo 'topology:'
        echo "  name: netcluster-$hosts"
        echo '  source: "htb rates of network namespaces on this machine; payload is 1448 of 1514 bytes (TCP, Ethernet)"'
        echo '  devices: {'
        i=0
        while [ "$i" -lt "$hosts" ]; do
            echo "    host$i: host.yaml$([ $((i + 1)) -eq "$hosts" ] || echo ,)"
            i=$((i + 1))
        done
        echo '  }'
        echo '  switches: [switch]'
        echo '  cables:'
        i=0
        while [ "$i" -lt "$hosts" ]; do
            for way in up down; do
                [ $way = up ] && ends="from: host$i, to: switch" || ends="from: switch, to: host$i"
                awk -v e="$ends" -v b="$(rate_of $i $way)" -v l="$1" 'BEGIN {
                    printf "    - {%s, link: {bandwidth: %.0f B/s, latency: %.3f us}}\n", e, b / 8 * 1448 / 1514, l / 2 * 1e6 }'
            done
            i=$((i + 1))
        done
    } >"$place/topology.yaml.part" && mv "$place/topology.yaml.part" "$place/topology.yaml"
}

# A hop of blocks of 1 KiB, less what their bytes take on the wire: the fastest ring without work, over its hops. (Blocks
# much larger than that, and smaller than the bursts that the rate limits let through, would look faster than the wire.)
measure_latency() {
    write_topology 0 || return 1
    cat >"$place/latency.yaml" <<END
problem: {tokens: $hosts, heads: 1, head_dim: 128, dtype: fp32, mask: full}
ring: {layout: contiguous}
cluster: topology.yaml
compute: {block: 1 us, core: free}
measure: {repeats: 21, warmups: 3, timeout: 10 s}
END
    quiet=1 launch measure "$place/latency.yaml" --json >"$place/latency.json" || return 1
    slowest=$(awk '/bandwidth:/ { sub(/.*bandwidth: /, ""); b = $1 + 0; if (!m || b < m) m = b } END { print m }' "$place/topology.yaml")
    step=$(tr ',' '\n' <"$place/latency.json" | sed -n 's/.*"min": *\([0-9.e+-]*\).*/\1/p' | head -n 1)
    awk -v t="$step" -v k="$hosts" -v b="$slowest" 'BEGIN { l = t / (k - 1) - 1024 / b; printf "%.9f", (l > 2e-5 ? l : 2e-5) }'
}
