#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The engine cannot tell which world it runs in: its code names none, asks the compiler nothing and reads no clock.
# Clocks belong to real runs and to the command; a simulated result never depends on one. Comments may name worlds.
# shellcheck disable=SC2046,SC2086 # lists of files are words on purpose
. "$(dirname "$0")/rule.sh"

engine=$(c_files engine)
# Strings are looked at too: a world's name in a message is still a name.
worlds='[Ss]im[Gg]rid|SIMGRID|[^a-z]smpi|(^|[^A-Za-z])(MPI|mpi|Mpi)([^a-z]|$)|CUDA|[Cc]uda|NCCL|nccl|msg_|s4u|sg_'
worlds="$worlds"'|(^|[^A-Za-z_])(sim|exec)_[a-z]|WORLD_|_WORLD_|world_kind|enum[[:space:]]+[a-z_]*(world|backend)'
[ -z "$engine" ] || awk -v pattern="$worlds" \
    -v message='the engine names a world (what a world needs goes through engine/transport.h)' \
    -f "$rules/code.awk" $engine >>"$violations"

# A header's own guard is the one condition: #ifndef RING_..._H.
find_in_code '^[[:space:]]*#[[:space:]]*(if([^n]|$)|ifdef|elif|else|ifndef[[:space:]]+([^R]|R[^I]|.*[^H]$))' \
    'conditional compilation in the engine (make it a parameter, or move it into a world)' $engine
find_in_code '(^|[^A-Za-z0-9_])(clock_gettime|gettimeofday|clock|time|nanosleep|usleep|sleep|MPI_Wtime)[[:space:]]*\(' \
    'a real clock outside exec/ and tools/ (time comes through now())' $(c_files engine models config)

verdict 'the engine knows no world and no clock'
