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

c_files $code | xargs -r "$formatter" --style=file --dry-run -Werror 2>&1 |
    sed -n 's|^\([^ :]*\):\([0-9]*\):.*error: code should be.*|\1 \2|p' |
    awk '!seen[$1]++ { print $1 ":" $2 ": not formatted from here on (clang-format -i)" }' >"$violations"

verdict 'clang-format has nothing to change'
