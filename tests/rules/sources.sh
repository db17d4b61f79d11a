#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every source file names its licence on its first lines, is short enough to be one thought, and leaves nothing
# "for later" in its comments. C keeps to its width in comments too, which clang-format leaves as they are.
# shellcheck disable=SC2046,SC2086 # lists of files are words on purpose
. "$(dirname "$0")/rule.sh"

max_lines=400
max_columns=110 # as in .clang-format
later='TO''DO|FIX''ME|XX''X' # apart, so that this file holds its own rule

files=$(mktemp)
licensed=$(mktemp)
trap 'rm -f "$violations" "$files" "$licensed"' EXIT
{
    c_files $code
    scripts
    for folder in $(existing $code); do
        find "$folder" -type f \( -name '*.awk' -o -name '*.gp' -o -name '*.gnuplot' \)
    done
} | LC_ALL=C sort >"$files"

xargs -r awk 'FNR <= 2 && /SPDX-License-Identifier: MIT/ { print FILENAME }' <"$files" | LC_ALL=C sort >"$licensed"
LC_ALL=C comm -23 "$files" "$licensed" |
    sed 's|$|:1: no licence line (the first comment starts with SPDX-License-Identifier: MIT)|' >"$violations"
xargs -r wc -l <"$files" | awk -v max="$max_lines" '$1 > max && $2 != "total" {
    print $2 ":" $1 ": " $1 " lines, over " max " (split it where the thought changes)"
}' >>"$violations"
c_files $code | xargs -r awk -v max="$max_columns" 'length($0) > max {
    print FILENAME ":" FNR ": " length($0) " columns, over " max
}' >>"$violations"
xargs -r grep -n -w -E "$later" /dev/null <"$files" |
    sed 's|^\([^:]*:[0-9]*\):.*|\1: something left for later (do it, or open an issue)|' >>"$violations"

verdict 'licence lines, length, width, nothing left for later'
