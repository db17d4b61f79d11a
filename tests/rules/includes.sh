#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Who may include whom: engine <- models <- config <- sim, exec; tools see everything but exec's MPI side, and sim
# and exec never see each other. The kernels see the engine alone; those for CUDA see the CPU's too, and stand apart
# from the rest of exec/cuda, which sees exec. The packages that a folder wraps (libyaml, SimGrid, MPI, CUDA, jansson)
# are included nowhere else. A folder's tests may include what the folder may, and cmocka.
# shellcheck disable=SC2046,SC2086 # lists of files are words on purpose
. "$(dirname "$0")/rule.sh"

c_files $code | xargs -r awk -f "$rules/code.awk" | grep -E '^[^:]*:[0-9]+:[[:space:]]*#[[:space:]]*include' |
    awk -F: '
function fail(text) { print $1 ":" $2 ": " text }

# The part of the project that a path belongs to.
function part_of(path) {
    if (path ~ /^exec\/kernels\//) return "kernels"
    if (path ~ /^exec\/cuda\/kernels\//) return "exec/cuda/kernels"
    if (path ~ /^(exec\/cuda\/|tools\/bench\/cuda)/) return "exec/cuda" # that bench measures its kernels
    sub(/\/.*/, "", path)
    return path
}

BEGIN {
    may["engine"] = "engine"
    may["models"] = "models engine"
    may["config"] = "config engine models"
    may["sim"] = "sim engine models config"
    may["kernels"] = "kernels engine"
    may["exec"] = "exec exec/cuda exec/cuda/kernels kernels engine models config"
    may["exec/cuda"] = may["exec"]
    may["exec/cuda/kernels"] = "exec/cuda/kernels kernels engine"
    may["tools"] = "tools engine models config sim kernels"
    only["yaml.h"] = "config"
    only["simgrid"] = "sim"
    only["xbt"] = "sim"
    only["mpi.h"] = "exec"
    only["cuda"] = "exec/cuda exec/cuda/kernels"
    only["jansson.h"] = "tools"
    only["cmocka.h"] = ""
    split("assert complex ctype errno fenv float inttypes iso646 limits math setjmp stdalign stdarg stdbool " \
          "stddef stdint stdio stdlib stdnoreturn string tgmath uchar wchar wctype", names, " ")
    for (i in names) plain["" names[i] ".h"] = 1
}

{
    in_tests = $1 ~ /^tests\//
    part = part_of($1)
    if (in_tests) {
        part = $1
        sub(/^tests\//, "", part)
        # A test file that stands in a folder of no part of its own (conformance, support ...) may see every part.
        part = part_of(part ~ /^(kernels|cuda)\// ? "exec/" part : part)
    }
    all = in_tests && !(part in may)
    allowed = " " (all ? "" : may[part]) (in_tests ? " tests kernels" : "") " "

    included = $3
    for (i = 4; i <= NF; i++) included = included ":" $i
    if (included ~ /"/) {
        sub(/^[^"]*"/, "", included)
        sub(/".*/, "", included)
        target = part_of(included)
        if (included !~ /\//) {
            fail("\"" included "\" is not a path from the root (write \"" part "/" included "\")")
        } else if (included ~ /(^|\/)\.\.?\//) {
            fail("\"" included "\" walks through the tree (write the path from the root)")
        } else if (!all && index(allowed, " " target " ") == 0) {
            fail(part "/ may not include " included " (it may include:" allowed ")")
        }
    } else if (included ~ /</) {
        sub(/^[^<]*</, "", included)
        sub(/>.*/, "", included)
        first = included
        sub(/\/.*/, "", first)
        if (first ~ /^(cuda|nccl)/) first = "cuda"
        if (part == "engine" && !in_tests && !(included in plain)) {
            fail("engine/ may include nothing but the C library, and no clock: not <" included ">")
        } else if (first in only && !all && !(in_tests && first == "cmocka.h") &&
                   index(" " only[first] " ", " " part " ") == 0) {
            fail("only " (only[first] ? only[first] : "tests") "/ may include <" included ">")
        }
    } else {
        fail("an include that is neither <x> nor \"x\"")
    }
}' >"$violations"

verdict 'includes follow the arrows'
