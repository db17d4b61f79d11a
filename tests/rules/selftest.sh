#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Shows that each rule bites: in a small tree that keeps them all, one violation after the other is planted, and the
# rule must name its file and line, and only there. A rule that holds whatever stands in the tree is no rule.
set -eu

rules=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
results=$tree/results # a file, since plants read from pipes and so count in shells of their own

# expect STATUS TEXT RULE WHAT [ROOT]: the rule's exit status, and a text that must stand in its output
expect() {
    status=0
    output=$("$tree/tests/rules/$3.sh" "${5:-$tree}" 2>&1) || status=$?
    if [ "$status" -eq "$1" ] && printf '%s\n' "$output" | grep -qF "$2"; then
        echo passed >>"$results"
    elif [ "$3" = format ] && [ "$status" -eq 77 ]; then
        echo "not asked here: $4 ($output)"
    else
        echo failed >>"$results"
        printf 'FAILED: %s\n  wanted exit %s and "%s"\n  found exit %s and:\n%s\n' "$4" "$1" "$2" "$status" "$output"
    fi
}

# plant RULE FILE LINE WHAT < CONTENT: the rule must fail with FILE:LINE, and only with that
plant() {
    mkdir -p "$tree/$(dirname "$2")"
    cat >"$tree/$2"
    expect 1 "$2:$3: " "$1" "$4"
    expect 1 "violations: 1" "$1" "$4 (and nothing else)"
    rm "$tree/$2"
}

# keep RULE FILE WHAT < CONTENT: the rule must hold
keep() {
    mkdir -p "$tree/$(dirname "$2")"
    cat >"$tree/$2"
    expect 0 "holds: " "$1" "$3"
    rm "$tree/$2"
}

# file TEXT...: a file with a licence line and these lines from line 2 on
file() {
    printf '/* SPDX-License-Identifier: MIT */\n'
    printf '%s\n' "$@"
}

mkdir -p "$tree/engine" "$tree/models" "$tree/config" "$tree/sim" "$tree/exec/cuda/kernels" "$tree/exec/kernels" "$tree/tools" "$tree/tests"
cp -R "$rules" "$tree/tests/rules"
cp "$rules/../../.clang-format" "$tree/"
for rule in includes worlds quiet sources format; do
    expect 0 "holds: " "$rule" "an empty tree keeps the rule '$rule'"
done

# includes
file '#include "models/device.h"' | plant includes engine/a.c 2 'engine may not include models'
file '#include <yaml.h>' | plant includes engine/a.c 2 'engine may include nothing but the C library'
file '#include <time.h>' | plant includes engine/a.h 2 'engine may not include a clock'
file '#include "config/config.h"' | plant includes models/a.c 2 'models may not include config'
file '#include "sim/sim.h"' | plant includes config/a.c 2 'config may not include sim'
file '#include "exec/transport.h"' | plant includes sim/a.c 2 'sim may not see exec'
file '#include "exec/kernels/block.h"' | plant includes sim/a.c 2 'sim may not see kernels'
file '' '#  include "sim/sim.h"' | plant includes exec/a.c 3 'exec may not see sim'
file '#include "config/config.h"' | plant includes exec/kernels/a.c 2 'kernels may include engine only'
file '#include "models/device.h"' | plant includes exec/cuda/kernels/a.cu 2 'CUDA kernels may include kernels only'
file '#include "exec/transport.h"' | plant includes exec/cuda/kernels/a.cuh 2 'CUDA kernels may not see the rest of exec'
file '#include "exec/cuda/a.h"' | plant includes exec/kernels/a.c 2 'the CPU kernels may not see exec/cuda'
file '#include "exec/cuda/kernels/a.h"' | plant includes tools/a.c 2 'tools may not see the CUDA kernels'
file '#include "sim/sim.h"' | plant includes exec/cuda/a.c 2 'exec/cuda may not see sim'
file '#include <mpi.h>' | plant includes exec/cuda/kernels/a.cu 2 'CUDA kernels do not include mpi.h'
file '#include <cuda_runtime.h>' | plant includes exec/a.c 2 'the rest of exec does not include CUDA'
file '#include "exec/transport.h"' | plant includes tools/a.c 2 'tools may not see the MPI side of exec'
file '#include <yaml.h>' | plant includes tools/a.c 2 'only config includes yaml.h'
file '#include <simgrid/msg.h>' | plant includes tools/a.c 2 'only sim includes simgrid'
file '#include <xbt/log.h>' | plant includes exec/a.c 2 'only sim includes xbt'
file '#include <mpi.h>' | plant includes exec/kernels/a.c 2 'kernels do not include mpi.h'
file '#include <mpi.h>' | plant includes sim/a.c 2 'only exec includes mpi.h'
file '#include <cuda_runtime.h>' | plant includes models/a.c 2 'only exec/cuda includes CUDA'
file '#include <jansson.h>' | plant includes config/a.c 2 'only tools include jansson'
file '#include <cmocka.h>' | plant includes engine/a.c 2 'the engine includes no cmocka'
file '#include <cmocka.h>' | plant includes models/a.c 2 'only tests include cmocka'
file '#include "a.h"' | plant includes models/a.c 2 'paths are from the root'
file '#include "models/../sim/a.h"' | plant includes models/a.c 2 'paths do not walk'
file '#include THING' | plant includes models/a.c 2 'no computed includes'
file '#include <simgrid/msg.h>' | plant includes tests/config/a.c 2 "config's tests may not include simgrid"
file '/* #include "sim/sim.h" */' '// #include <mpi.h>' '#include <string.h>' '#include "engine/a.h"' |
    keep includes engine/a.c 'comments include nothing'
file '#include <cmocka.h>' '#include "sim/sim.h"' '#include "tests/support/a.h"' '#include <simgrid/engine.h>' |
    keep includes tests/sim/a.c "sim's tests include sim, SimGrid and cmocka"
file '#include <cuda_runtime.h>' '#include "exec/cuda/kernels/a.h"' '#include "exec/kernels/a.h"' '#include "engine/a.h"' |
    keep includes exec/cuda/kernels/a.cuh 'CUDA kernels include CUDA, the kernels and the engine'
file '#include <cuda_runtime.h>' '#include "exec/cuda/kernels/a.h"' '#include "exec/transport.h"' |
    keep includes exec/cuda/a.c 'exec/cuda includes CUDA and exec'
file '#include "exec/cuda/a.h"' | keep includes exec/a.c 'exec includes exec/cuda'
file '#include <mpi.h>' '#include "sim/sim.h"' '#include "exec/transport.h"' |
    keep includes tests/conformance/a.c 'conformance sees both worlds'

# worlds
file 'int simgrid_is_on;' | plant worlds engine/a.c 2 'a name with simgrid'
file 'int use_mpi;' | plant worlds engine/a.c 2 'a name with mpi'
file 'void *a = MPI_COMM_WORLD;' | plant worlds engine/a.c 2 'an MPI constant'
file 'const char *a = "cuda";' | plant worlds engine/a.c 2 'a name in a string'
file 'enum ring_world { A, B };' | plant worlds engine/a.h 2 'an enum of worlds'
file '    sim_send(a);' | plant worlds engine/a.c 2 'a call into sim/'
file '#ifdef FAST' | plant worlds engine/a.c 2 '#ifdef'
file '#if FAST' | plant worlds engine/a.c 2 '#if'
file '#ifndef FAST' | plant worlds engine/a.c 2 '#ifndef of anything but a guard'
file 'double a = clock_gettime(b, c);' | plant worlds models/a.c 2 'a real clock'
file '#ifndef RING_A_H' '#define RING_A_H' '/* an MPI rank, a SimGrid actor */' 'int simple, implicit;' '#endif' |
    keep worlds engine/a.h 'guards, comments and innocent words'

# quiet
file '    exit(1);' | plant quiet models/a.c 2 'exit'
file '    abort();' | plant quiet sim/a.c 2 'abort'
file '    printf("x");' | plant quiet exec/kernels/a.c 2 'printf'
file '    if (a) perror("x");' | plant quiet exec/a.c 2 'perror'
file '    fprintf(stderr, "x");' | plant quiet config/a.c 2 'stderr'
file '    fputs("x", stdout);' | plant quiet engine/a.c 2 'stdout'
file '/* printf("x"); exit(1); */' 'a = "exit(1)";' 'snprintf(a, 1, "x");' '_exit(3);' 'ring_exit(2);' |
    keep quiet sim/a.c 'comments, strings and longer names'
file '    printf("x");' '    exit(1);' | keep quiet exec/main.c 'programs print and exit'
file '    printf("x");' | keep quiet tools/a.c 'the command prints'

# sources
printf 'int a;\n' | plant sources engine/a.c 1 'no licence line'
printf '#!/bin/sh\ntrue\n' | plant sources tools/a 1 'a script without a licence line'
file '/* TO''DO: all of it */' | plant sources engine/a.h 2 'something left for later'
awk 'BEGIN { print "/* SPDX-License-Identifier: MIT */"; for (i = 2; i <= 401; i++) print "" }' |
    plant sources sim/a.c 401 'a file too long'
awk 'BEGIN { print "/* SPDX-License-Identifier: MIT */"; for (i = 2; i <= 400; i++) print "" }' |
    keep sources sim/a.c 'a file just short enough'
file "/* $(printf '%104s' '' | tr ' ' x) */" | keep sources sim/a.c 'a line just narrow enough'
file "/* $(printf '%105s' '' | tr ' ' x) */" | plant sources sim/a.c 2 'a comment too wide'

# format
file '' 'int a( void ) {' 'return 1; }' | plant format engine/a.c 3 'badly formatted'

# symbols: asks archives, so the plants are compiled
# archive PART CODE: libring_PART.a in the tree, holding what CODE defines
archive() {
    printf '%s\n' "$2" | cc -x c -c -o "$tree/a.o" - && rm -f "$tree/libring_$1.a" && ar rc "$tree/libring_$1.a" "$tree/a.o"
    planted=$tree/libring_$1.a
}
if command -v cc >/dev/null && command -v ar >/dev/null; then
    archive models 'int model_a(void) { return 1; } static int b; int *model_b(void) { return &b; }'
    expect 0 'holds: ' symbols 'prefixed and static symbols' "$planted"
    archive models 'int price(void) { return 1; }'
    expect 1 'symbol price does not start with model_' symbols 'a function without its prefix' "$planted"
    archive engine 'int model_count;'
    expect 1 'symbol model_count does not start with ring_' symbols 'a variable with the prefix of another' "$planted"
fi

n_failed=$(grep -c failed "$results" || true)
printf '%s passed, %s failed\n' "$(grep -c passed "$results")" "$n_failed"
[ "$n_failed" -eq 0 ]
