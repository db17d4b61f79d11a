#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Libraries return a status and one line; they never print and never end the process. Programs (files named main.c,
# and tools/) do both. A child process that a library forked may end itself with _exit.
# shellcheck disable=SC2046,SC2086 # lists of files are words on purpose
. "$(dirname "$0")/rule.sh"

files=$(c_files $libraries | grep -v '/main\.c$' || true)
find_in_code '(^|[^A-Za-z0-9_])(exit|abort|quick_exit|err|errx)[[:space:]]*\(' \
    'a library ends the process (return a status; see engine/status.h)' $files
find_in_code '(^|[^A-Za-z0-9_])(printf|vprintf|puts|putchar|perror|warn|warnx)[[:space:]]*\(' \
    'a library prints (write to a FILE that the caller gives, or return a line)' $files
find_in_code '(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)' \
    'a library uses the standard streams (write to a FILE that the caller gives, or return a line)' $files

verdict 'libraries neither print nor exit'
