/* SPDX-License-Identifier: MIT
 *
 * The table of commands and what --help says about each. */
#include "tools/commands.h"

#include <stdint.h>

static const char *const predicting[] = {"auto", "recurrence", "simgrid", NULL};
static const char *const verifying[] = {"auto", "mpi", "simgrid", NULL};

enum { SCENARIO = TOOL_TAKES_SET | TOOL_TAKES_JSON };

const struct tool_command tool_commands[] = {
    {
        .name = "predict",
        .summary = "simulate a ring-attention step on a virtual cluster",
        .arguments = "[SCENARIO.yaml]",
        .doc = "Simulate a scenario: how long the step takes, where the time of each rank goes, and why. "
               "Without a file, the quickstart scenario."
               "\vExample: ringlab predict scenarios/64k-one-node.yaml --set ring.layout=contiguous",
        .worlds = predicting,
        .takes = SCENARIO | TOOL_TAKES_WORLD | TOOL_TAKES_OUT_FILE | TOOL_TAKES_STEPS | TOOL_TAKES_SHOW |
                 TOOL_TAKES_SEEDS | TOOL_TAKES_DRIFT,
        .max_files = 1,
        .run = tool_predict,
    },
    {
        .name = "measure",
        .summary = "run the step for real under MPI on this machine",
        .arguments = "[SCENARIO.yaml]",
        .doc = "Run a scenario for real: starts mpirun, prints the command, and reports the median repeat in "
               "the same form as predict."
               "\vExample: ringlab measure scenarios/quickstart.yaml --out measured.json",
        .takes = SCENARIO | TOOL_TAKES_OUT_FILE | TOOL_TAKES_STEPS | TOOL_TAKES_MPI | TOOL_TAKES_DEVICE,
        .max_files = 1,
        .run = tool_measure,
    },
    {
        .name = "compare",
        .summary = "predict and measure, side by side with signed errors",
        .arguments = "[SCENARIO.yaml]\nPREDICTED.json MEASURED.json",
        .doc = "Predict and measure a scenario and lay both side by side: the step, its parts, each step of "
               "the ring. Or compare two result files."
               "\vExample: ringlab compare scenarios/quickstart.yaml --out results",
        .worlds = predicting,
        .takes = SCENARIO | TOOL_TAKES_WORLD | TOOL_TAKES_OUT_FOLDER | TOOL_TAKES_STEPS | TOOL_TAKES_MPI |
                 TOOL_TAKES_DEVICE | TOOL_TAKES_DRIFT,
        .max_files = 2,
        .run = tool_compare,
    },
    {
        .name = "verify",
        .summary = "run on real data and check the numbers against an fp64 reference",
        .arguments = "[SCENARIO.yaml]",
        .doc = "Run a scenario on real data, under MPI or inside the simulated cluster, and compare each "
               "rank's output, and after a backward pass its gradients, with attention done in one shot in "
               "fp64. Exit status 3 if one is out of bounds."
               "\vExample: ringlab verify --world simgrid --set problem.tokens=2048 --dump tensors",
        .worlds = verifying,
        .takes = SCENARIO | TOOL_TAKES_WORLD | TOOL_TAKES_MPI | TOOL_TAKES_DEVICE | TOOL_TAKES_VERIFY,
        .max_files = 1,
        .run = tool_verify,
    },
    {
        .name = "place",
        .summary = "find the best and the worst order of devices for a ring",
        .arguments = "[SCENARIO.yaml]",
        .doc = "Search for the order of devices whose worst hop is fastest when all hops of the ring share "
               "the links: every order of up to nine devices, otherwise by local moves. Prints the step time "
               "of the natural, the best and the worst order, and the best as a list for the scenario."
               "\vExample: ringlab place scenarios/64k-one-node.yaml --set ring.devices=5",
        .takes = SCENARIO | TOOL_TAKES_OUT_FILE | TOOL_TAKES_PLACE,
        .max_files = 1,
        .run = tool_place,
    },
    {
        .name = "check",
        .summary = "validate scenario, topology and device files",
        .arguments = "FILE...",
        .doc = "Validate files without running anything; a scenario's plan is proved as well. One line a "
               "file."
               "\vExample: ringlab check scenarios/*.yaml topologies/*.yaml",
        .min_files = 1,
        .max_files = SIZE_MAX,
        .run = tool_check,
    },
    {
        .name = "topology",
        .summary = "draw a cluster, export it to SimGrid, import a machine",
        .arguments = "FILE",
        .doc = "Draw a topology, or the cluster of a scenario, as SVG (by itself into FILE's name with "
               ".svg). Or write it as SimGrid's platform XML, or make a topology file of what nvidia-smi or "
               "hwloc say of a machine."
               "\vExample: ringlab topology topologies/dgx-1-v100.yaml -o dgx-1.svg",
        .takes = TOOL_TAKES_TOPOLOGY,
        .min_files = 1,
        .max_files = 1,
        .run = tool_topology,
    },
    {
        .name = "calibrate",
        .summary = "measure this machine for `cluster: this-machine`",
        .arguments = "",
        .doc =
            "Measure this machine's attention kernels, copies and steps, and keep the figures as a topology "
            "and a device file in the cache folder ($RINGLAB_CACHE, else $XDG_CACHE_HOME/ringlab, else "
            "~/.cache/ringlab). Takes about half a minute, and says at the end how far the figures are "
            "from blocks and messages that were measured as well and kept out of them. With --device cuda: "
            "its CUDA devices, for `cluster: this-machine-cuda`."
            "\vExample: ringlab calibrate",
        .takes = TOOL_TAKES_MPI | TOOL_TAKES_JSON | TOOL_TAKES_DEVICE | TOOL_TAKES_RANKS,
        .run = tool_calibrate,
    },
    {
        .name = "validate",
        .summary = "predict and measure many scenarios: how right is it here?",
        .arguments = "[SET.yaml...]",
        .doc = "Predict and measure every scenario of a set, round after round, and write a page "
               "(ACCURACY.md: errors, bias, whether the order is right, under which load) and a picture. "
               "Without a file, scenarios/validate/this-machine.yaml; a scenario file is a set of one."
               "\vExample: ringlab validate --rounds 1 --out /tmp",
        .worlds = predicting,
        .takes = SCENARIO | TOOL_TAKES_WORLD | TOOL_TAKES_MPI | TOOL_TAKES_VALIDATE | TOOL_TAKES_DRIFT,
        .max_files = SIZE_MAX,
        .run = tool_validate,
    },
    {
        .name = "plot",
        .summary = "draw the timeline of a result, as SVG or PNG",
        .arguments = "RESULT.json [RESULT.json...]",
        .doc = "Draw ranks over time: computing, transfer, waiting, overhead. Several results are drawn "
               "below one another on the same time axis."
               "\vExample: ringlab plot results/predicted.json results/measured.json -o timeline.svg",
        .takes = TOOL_TAKES_PLOT,
        .min_files = 1,
        .max_files = 4,
        .run = tool_plot,
    },
    {.name = NULL},
};
