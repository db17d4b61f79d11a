# SPDX-License-Identifier: MIT
#
# bench-ring: what a ring of 2 ranks on this machine takes beyond the two things that it is made of, computing its blocks
# and moving one: step - (compute + hop) where the receiving core copies the block (shared memory), as a share of the step.
#
#     python3 tools/bench/ring.py [--ringlab PATH] [--repeats N] [TOKENS...]
#
# compute: over the steps, the longest that a rank computed, from the trace of the median repeat. hop: the same ring's
# median with blocks that compute nothing (1 us each, taken off). overhead: the rest of the median repeat's time.
# "inside" is the part of it that ringlab's own trace calls overhead (posting, looking, launching), on the rank with most
# of it; what else is in the rest is ranks that wait for each other. Each row is the median of three looks. A share below
# 0 says that the hop took longer alone than in the ring.
import argparse
import json
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NOTHING_S = 1e-6
N_LOOKS = 3
CLUSTER = """topology:
  name: two
  source: nothing is predicted from it
  links: {memory: {bandwidth: 8 GB/s, latency: 1 us, moved_by: receiver}}
  nodes: [{name: host, devices: {name: core, count: 2, device: core.yaml}, inside: memory}]
"""
SCENARIO = """problem: {tokens: 2048, heads: 4, head_dim: 64, dtype: fp32, mask: causal}
ring: {devices: 2, layout: zigzag}
cluster: cluster.yaml
measure: {warmups: 2}
"""


def measure(ringlab, folder, sets):
    words = [ringlab, "measure", os.path.join(folder, "ring.yaml"), "--json"]
    for one in sets:
        words += ["--set", one]
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        raise SystemExit("bench-ring: " + run.stderr.strip().split("\n")[-1])
    return json.loads(run.stdout)


def computed(result):
    longest = {}
    for step in result["steps"]:
        longest[step["step"]] = max(longest.get(step["step"], 0), step["compute_s"])
    return sum(longest.values())


def look(ringlab, folder, sets):
    whole = measure(ringlab, folder, sets)
    empty = measure(ringlab, folder, sets + ["compute={block: 1 us}"])
    time, compute = whole["time_s"], computed(whole)
    hop = max(empty["time_s"] - empty["n_steps"] * NOTHING_S, 0)
    inside = max(rank["overhead_s"] for rank in whole["ranks"])
    return (time - compute - hop) / time, time, compute, hop, inside


def row(ringlab, folder, repeats, tokens, head_dim, direction):
    sets = ["problem.tokens=%d" % tokens, "problem.head_dim=%d" % head_dim, "ring.pass=%s" % direction,
            "measure.repeats=%d" % repeats]
    looks = sorted(look(ringlab, folder, sets) for _ in range(N_LOOKS))
    share, time, compute, hop, inside = looks[N_LOOKS // 2]
    print("%8d %8d %-8s %10.3f %10.3f %9.3f %10.4f %8.2f %% %8.2f %%" % (
        tokens, head_dim, direction, 1e3 * time, 1e3 * compute, 1e3 * hop, 1e3 * share * time, 100 * share,
        100 * inside / time), flush=True)


def main():
    parser = argparse.ArgumentParser(description="What a ring of 2 takes beyond its blocks and its hop.")
    parser.add_argument("--ringlab", default=os.path.join(HERE, "../../build/bin/ringlab"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("tokens", type=int, nargs="*", default=[2048, 4096, 8192])
    options = parser.parse_args()
    print("%8s %8s %-8s %10s %10s %9s %10s %10s %10s" % (
        "tokens", "head_dim", "pass", "step ms", "compute", "hop", "overhead", "of step", "inside"))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("cluster.yaml", CLUSTER), ("ring.yaml", SCENARIO), ("core.yaml", "device: {name: core}\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        for head_dim in (64, 128):
            for direction in ("forward", "backward"):
                for tokens in options.tokens:
                    row(options.ringlab, folder, options.repeats, tokens, head_dim, direction)


if __name__ == "__main__":
    main()
