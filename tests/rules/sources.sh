#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every source file names its licence on its first lines, is short enough to be one thought, and leaves nothing
# "for later" in its comments.
# shellcheck disable=SC2046,SC2086 # lists of files are words on purpose
. "$(dirname "$0")/rule.sh"

max_lines=400
later='TO''DO|FIX''ME|XX''X' # apart, so that this file holds its own rule

{
    c_files $code
    scripts
    for folder in $(existing $code); do
        find "$folder" -type f \( -name '*.awk' -o -name '*.gp' -o -name '*.gnuplot' \)
    done
} | while read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
        echo "$file:1: no licence line (the first comment starts with SPDX-License-Identifier: MIT)"
    lines=$(wc -l <"$file")
    [ "$lines" -le "$max_lines" ] ||
        echo "$file:$lines: $lines lines, over $max_lines (split it where the thought changes)"
    grep -n -w -E "$later" "$file" | sed "s|^\([0-9]*\):.*|$file:\1: something left for later (do it, or open an issue)|"
done >"$violations"

verdict 'licence lines, length, nothing left for later'
