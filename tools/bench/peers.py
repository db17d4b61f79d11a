# SPDX-License-Identifier: MIT
#
# Forward attention of other projects on one thread: one line "NAME MASK TOKENS HEAD_DIM SECONDS" a case, the median over
# repeats in processor time. Prints nothing where nothing is installed. Read by peers.c.
import os
import statistics
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
CASES = [(256, 64), (1024, 64), (1024, 128), (4096, 128)]


def seconds(work):
    work()
    times, begin = [], time.thread_time()
    while len(times) < 3 or (len(times) < 41 and time.thread_time() - begin < 0.5):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return statistics.median(times)


def report(name, mask, tokens, head_dim, work):
    print(name, mask, tokens, head_dim, seconds(work), flush=True)


def run_torch():
    import torch
    import torch.nn.functional as functional

    torch.set_num_threads(1)
    fused = getattr(functional, "scaled_dot_product_attention", None)
    name = "PyTorch-" + torch.__version__.split("+")[0]
    for tokens, head_dim in CASES:
        q, k, v = (torch.randn(1, 1, tokens, head_dim) for _ in range(3))
        hidden = torch.full((tokens, tokens), float("-inf")).triu(1)

        def plain(mask=None):
            scores = q @ k.transpose(-2, -1) * head_dim**-0.5
            return torch.softmax(scores if mask is None else scores + mask, -1) @ v

        with torch.no_grad():
            if fused:
                report(name, "full", tokens, head_dim, lambda: fused(q, k, v))
                report(name, "causal", tokens, head_dim, lambda: fused(q, k, v, is_causal=True))
            else:
                report(name + "-matmul", "full", tokens, head_dim, plain)
                report(name + "-matmul", "causal", tokens, head_dim, lambda: plain(hidden))


for run in (run_torch,):
    try:
        run()
    except ImportError:
        pass
    except Exception as error:  # a peer that fails is no failure of ours
        print(f"{run.__name__}: {error}", file=sys.stderr)
