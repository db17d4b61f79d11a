#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Stands in for an mpirun that starts a calibration of devices, and nothing else: leaves what such a one leaves, with
# a device for each rank.
test "$1" = --version && exit 0
ranks=$2
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=$2 ;;
    --stamp) stamp=$2 ;;
    esac
    shift
done
case $out in
*this-machine-cuda.yaml) ;;
*)
    echo "ringlab-rank: the stub runs no ranks" >&2
    exit 3
    ;;
esac
cp device.yaml "$(dirname "$out")"
{
    echo "# $stamp"
    sed -e 's/two cores/this-machine-cuda/' -e "s/count: 2/count: $ranks/" shm.yaml
    echo "  share_devices: true"
} >"$out"
