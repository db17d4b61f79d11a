# SPDX-License-Identifier: MIT
#
# PyTorch's attention on a CUDA device: for each case one line "NAME PASS MASK TOKENS HEAD_DIM SECONDS" of its fastest
# backend, the median over repeats, between events. 16 heads, bf16. Prints nothing where nothing is installed. Read by
# cuda.c.
import statistics
import sys

HEADS, REPEATS, TRIAL_MS = 16, 9, 5.0


def seconds(torch, work):
    """Median time of one call, several calls in a trial so that a trial is long against a launch."""

    def trial(n):
        begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begun.record()
        for _ in range(n):
            work()
        ended.record()
        torch.cuda.synchronize()
        return begun.elapsed_time(ended) / n

    trial(2)
    n = max(1, int(TRIAL_MS / trial(1)) + 1)
    return 1e-3 * statistics.median(trial(n) for _ in range(REPEATS))


def run():
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as attention

    if not torch.cuda.is_available():
        return
    version = "PyTorch-" + torch.__version__.split("+")[0]
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": getattr(SDPBackend, "CUDNN_ATTENTION", None)}
    for head_dim in (64, 128, 256):
        for causal in (False, True):
            for tokens in (2048, 4096, 8192, 16384):
                best = {}
                shape = (1, HEADS, tokens, head_dim)
                q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in "qkv")
                for name, backend in backends.items():
                    if backend is None:
                        continue
                    try:
                        with sdpa_kernel(backend):
                            out = attention(q, k, v, is_causal=causal)
                            d_out = torch.randn_like(out)
                            with torch.no_grad():
                                forward = seconds(torch, lambda: attention(q, k, v, is_causal=causal))
                            backward = seconds(
                                torch, lambda: torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True)
                            )
                    except RuntimeError:  # a backend that does not serve this shape
                        continue
                    for which, took in (("forward", forward), ("backward", backward)):
                        if which not in best or took < best[which][0]:
                            best[which] = (took, f"{version}-{name}")
                for which, (took, name) in best.items():
                    print(name, which, "causal" if causal else "full", tokens, head_dim, took, flush=True)


try:
    run()
except ImportError:
    pass
except Exception as error:  # a peer that fails is no failure of ours
    print(f"cuda_peers.py: {error}", file=sys.stderr)
