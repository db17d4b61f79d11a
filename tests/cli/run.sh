#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run.sh RINGLAB CASE
# Runs `ringlab` with the words of CASE.args (a shell line; files are beside it) and compares what it prints with
# CASE.out, what it says on standard error with CASE.err (nothing, if there is no such file), and its exit status
# with CASE.status (0). Versions and the place of the checkout are masked. A line `# needs WHAT` in CASE.args skips
# the case where SimGrid, MPI or gnuplot is missing. With UPDATE=1 the files are written instead: read the difference.
set -u

ringlab=$1
case=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export RINGLAB_CACHE="$work/cache" RINGLAB_DATA="$here/data" NO_COLOR=1 LC_ALL=C.UTF-8 TMPDIR="$work" OUT="$work"
unset RINGLAB_MPIRUN RINGLAB_RANK POSIXLY_CORRECT ARGP_HELP_FMT 2>/dev/null
cd "$here" || exit 1

for need in $(sed -n 's/^# needs //p' "$case.args"); do
    case $need in
    simgrid)
        if "$ringlab" predict ring.yaml --world simgrid 2>&1 | grep -q 'built without SimGrid'; then
            echo "skipped: SimGrid is not built in"
            exit 77
        fi
        ;;
    mpi)
        if [ ! -x "$(dirname "$ringlab")/ringlab-rank" ] || ! command -v mpirun >/dev/null; then
            echo "skipped: the MPI part is not built"
            exit 77
        fi
        ;;
    hwloc)
        if "$ringlab" topology --import hwloc hwloc.xml 2>&1 | grep -q 'built without hwloc'; then
            echo "skipped: hwloc is not built in"
            exit 77
        fi
        ;;
    gnuplot)
        if ! command -v gnuplot >/dev/null; then
            echo "skipped: gnuplot is missing"
            exit 77
        fi
        ;;
    esac
done

mask() {
    sed -E -e "s|$work|@OUT@|g" -e "s|$root|@ROOT@|g" -e 's/(ringlab |"ringlab": ?")[0-9]+\.[0-9]+\.[0-9]+/\1@VERSION@/' \
        -e 's/SimGrid [0-9.]+/SimGrid @VERSION@/' "$1"
}

eval "\"$ringlab\" $(grep -v '^#' "$case.args")" >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
mask "$work/stdout" >"$work/out"
mask "$work/stderr" >"$work/err"

if [ "${UPDATE:-0}" = 1 ]; then
    cp "$work/out" "$case.out"
    rm -f "$case.err" "$case.status"
    [ ! -s "$work/err" ] || cp "$work/err" "$case.err"
    [ "$status" -eq 0 ] || echo "$status" >"$case.status"
    exit 0
fi

failed=0
differs() {
    if ! diff -u "$1" "$2" >"$work/diff"; then
        echo "$case: $3 is not what is expected:"
        cat "$work/diff"
        failed=1
    fi
}
[ -f "$case.err" ] || : >"$work/nothing"
differs "$case.out" "$work/out" 'standard output'
if [ -f "$case.err" ]; then differs "$case.err" "$work/err" 'standard error'; else differs "$work/nothing" "$work/err" 'standard error'; fi
wanted=$(cat "$case.status" 2>/dev/null || echo 0)
if [ "$status" -ne "$wanted" ]; then
    echo "$case: exit status $status, expected $wanted"
    failed=1
fi
exit $failed
