#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the rules share. A rule is a script that takes a tree's root, looks at the sources there, says each
# violation in one line (file:line: what it is and what to do) and exits 1 if there was one. Rules read the files
# that stand in the tree, not git's list, so that they also hold before a commit.
# shellcheck disable=SC2034 # its readers use the variables
set -eu

rules=$(cd "$(dirname "$0")" && pwd)
root=$(cd "${1:-$rules/../..}" && pwd)
cd "$root"
violations=$(mktemp)
trap 'rm -f "$violations"' EXIT

libraries='engine models config sim exec'
code='engine models config sim exec tools tests'

# existing FOLDER...: those of them that are there
existing() {
    for folder in "$@"; do
        if [ -d "$folder" ]; then printf '%s\n' "$folder"; fi
    done
}

# c_files FOLDER...: the C and CUDA sources under them, one a line
c_files() {
    for folder in $(existing "$@"); do
        find "$folder" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \)
    done | LC_ALL=C sort
}

# scripts: our shell scripts, by their first line, one a line
scripts() {
    for folder in $(existing .ci tools tests cmake); do
        find "$folder" -type f -exec awk 'FNR == 1 && /^#!.*sh/ { print FILENAME }' {} +
    done | LC_ALL=C sort
}

# find_in_code PATTERN MESSAGE FILE...: a violation for each line whose code, without comments and the insides
# of string literals, has the extended regular expression
find_in_code() {
    pattern=$1
    message=$2
    shift 2
    [ $# -eq 0 ] || awk -v blank_strings=1 -v pattern="$pattern" -v message="$message" -f "$rules/code.awk" "$@" \
        >>"$violations"
}

# verdict WHAT_HOLDS: the rule's last line and exit status
verdict() {
    if [ -s "$violations" ]; then
        cat "$violations"
        printf 'violations: %s\n' "$(wc -l <"$violations")"
        exit 1
    fi
    printf 'holds: %s\n' "$1"
}
