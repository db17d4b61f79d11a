#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: symbols.sh ARCHIVE...
# Every external symbol says which folder it is from by its prefix, so that no two libraries can collide and a reader
# knows where to look. Asks the built archives (libring_FOLDER.a), not the sources.
set -eu

status=0
for archive in "$@"; do
    part=$(basename "$archive" .a)
    part=${part#libring_}
    case $part in
    engine) prefixes=ring_ ;;
    models) prefixes=model_ ;;
    tools) prefixes=tool_ ;;
    cuda_kernels) prefixes=cuda_ ;;
    kernels) prefixes='block_|attention_|data_|oracle_|verify_|npy_' ;;
    *) prefixes="${part}_" ;;
    esac
    # What the compiler adds (sanitizers) starts with underscores or has a dot.
    strays=$(nm -g --defined-only "$archive" 2>/dev/null |
        awk -v prefixes="^($prefixes)" 'NF == 3 && $3 !~ /^_/ && $3 !~ /\./ && $3 !~ prefixes { print $3 }')
    for symbol in $strays; do
        echo "$part/: the external symbol $symbol does not start with $prefixes (make it static, or prefix it)"
        status=1
    done
done
[ "$status" -ne 0 ] || echo "holds: external symbols carry their folder's prefix"
exit "$status"
