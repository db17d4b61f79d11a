#!/bin/sh
# SPDX-License-Identifier: MIT
#
# clang-format has nothing to change. Its answer depends on its version, so only the one that the sources are
# formatted with is asked; with another, or none, the rule says so and is skipped (exit 77).
# shellcheck disable=SC2046,SC2086 # lists of files are words on purpose
. "$(dirname "$0")/rule.sh"

wanted=14
formatter=
for candidate in "clang-format-$wanted" clang-format; do
    if "$candidate" --version 2>/dev/null | grep -q "version $wanted\."; then
        formatter=$candidate
        break
    fi
done
if [ -z "$formatter" ]; then
    echo "skipped: clang-format $wanted is not here (on Debian 12: apt-get install clang-format)"
    exit 77
fi

c_files $code | while read -r file; do
    "$formatter" --style=file --dry-run -Werror "$file" 2>&1 |
        sed -n 's|^\([^ :]*:[0-9]*\):.*error: code should be.*|\1: not formatted from here on (clang-format -i)|p' | head -n 1
done >"$violations"

verdict 'clang-format has nothing to change'
