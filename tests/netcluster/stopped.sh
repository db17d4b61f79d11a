#!/bin/sh
# SPDX-License-Identifier: MIT
#
# stopped.sh NETCLUSTER FOLDER: a run over three hosts loses a rank, mpirun, ringlab or the run itself in the middle, or
# is told to stop. Each ends with the status and the line that are due, and soon nothing of it runs any more; hosts that
# the run made itself go with it, also when it is killed outright.
set -u
netcluster=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
RINGLAB_NETCLUSTER=ringlab-stopped-$$ # beside a cluster that somebody has up
export RINGLAB_NETCLUSTER
. "$here/needs.sh"

out=$work/out

# What runs in the hosts and beside them; of a name, if there is one.
running() { # [NAME]
    for space in switch host0 host1 host2; do
        for pid in $(ip netns pids "$RINGLAB_NETCLUSTER-$space" 2>/dev/null); do
            [ $# -gt 0 ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || echo "$pid"
        done
    done
}
until_true() { # WORDS...: within 20 s
    for _ in $(seq 80); do
        "$@" && return 0
        sleep 0.25
    done
    return 1
}
blocks_flow() {
    bytes=$(ip -n "$RINGLAB_NETCLUSTER-host1" -s link show data 2>/dev/null | awk '/RX:/ { getline; print $1; exit }')
    [ "${bytes:-0}" -gt $((before + 3000000)) ]
}
run_is_over() { ! grep -qs '^State:.[^ZX]' "/proc/$run/status"; }
nothing_runs() { [ -z "$(running)" ]; }
nothing_is_left() { [ -z "$("$netcluster" list)" ] && [ ! -e "/run/$RINGLAB_NETCLUSTER" ]; }

# A run in a session of its own, as a terminal has it, until its blocks are on the wire: its process is $run.
begin() { # NETCLUSTER'S WORDS...
    before=$(ip -n "$RINGLAB_NETCLUSTER-host1" -s link show data 2>/dev/null | awk '/RX:/ { getline; print $1; exit }')
    before=${before:-0}
    # A shell's background job ignores SIGINT unless somebody undoes that.
    setsid env --default-signal=INT "$netcluster" run "$@" --set ring.devices=3 --set measure.repeats=100000 >"$out" 2>&1 </dev/null &
    run=$!
    until_true blocks_flow || bad 'no block flows'
}
ends() { # STATUS WORDS WHAT
    until_true run_is_over || bad "$3: it goes on"
    wait "$run"
    status=$?
    [ $status = "$1" ] || bad "$3: status $status instead of $1"
    [ -z "$2" ] || grep -q "$2" "$out" || bad "$3: nobody says '$2'"
    until_true nothing_runs || bad "$3: still running: $(running | tr '\n' ' ')"
}

"$netcluster" up --hosts 3 --rate 250Mbit --latency 200us --build "$folder" >"$out" 2>&1 || bad 'up'
begin measure "$here/ring.yaml"
kill -s KILL "$(running ringlab-rank | tail -n 1)"
ends 3 'rank 2 was killed by signal 9' 'a killed rank'
begin measure "$here/ring.yaml"
kill -s KILL "$(running mpirun)"
ends 3 '^ringlab: mpirun ' 'a killed mpirun'
begin measure "$here/ring.yaml"
kill -s KILL "$(running ringlab)"
ends 137 '' 'a killed ringlab'
begin measure "$here/ring.yaml"
kill -s TERM "$run"
ends 143 'ringlab: interrupted' 'a run that is told to stop'
begin measure "$here/ring.yaml"
kill -s KILL "$run"
ends 137 '' 'a killed run'
"$netcluster" down || bad 'down'
nothing_is_left || bad 'something is left after down'

for signal in INT KILL; do
    begin --hosts 3 --rate 250Mbit --latency 200us --build "$folder" -- measure "$here/ring.yaml"
    kill -s $signal -- "-$run"
    ends "$([ $signal = INT ] && echo 130 || echo 137)" '' "a run with hosts of its own that gets SIG$signal"
    until_true nothing_is_left || bad "SIG$signal: hosts are left"
done
