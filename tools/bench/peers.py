# SPDX-License-Identifier: MIT
#
# Attention of other projects on one thread, fp32, one head, driven by peers.c so that its runs and ours take turns. The
# first line says which projects were found ("found PyTorch 2.15.0"). Then, for each case: a line of input "again" runs
# it and is answered by "NAME PASS MASK TOKENS HEAD_DIM SECONDS", processor time of one run; "next" goes to the next
# case. Standard output is closed at the end.
import os
import sys
import time

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[library + "_NUM_THREADS"] = "1"
SHAPES = [(256, 64), (1024, 64), (1024, 128), (4096, 128)]
MASKS = ("full", "causal")
AT_LEAST_S = 2e-3  # shorter ones are run several times for one figure


def seconds(work, times):
    begin = time.process_time()  # of all threads, should there be more
    for _ in range(times):
        work()
    return (time.process_time() - begin) / times


def serve(name, pass_, mask, tokens, head_dim, work):
    work()
    times = 1 + int(AT_LEAST_S / max(seconds(work, 1), 1e-6))
    while sys.stdin.readline().strip() == "again":
        print(name, pass_, mask, tokens, head_dim, seconds(work, times), flush=True)


def open_torch():
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attention

    torch.set_num_threads(1)
    version = torch.__version__.split("+")[0]

    def run():
        for tokens, head_dim in SHAPES:
            inputs = [torch.randn(1, 1, tokens, head_dim) for _ in range(3)]
            d_out = torch.randn(1, 1, tokens, head_dim)
            for mask in MASKS:
                causal = mask == "causal"
                with torch.no_grad():
                    forward = lambda: attention(*inputs, is_causal=causal)
                    serve("PyTorch", "forward", mask, tokens, head_dim, forward)
                wanted = [x.clone().requires_grad_() for x in inputs]
                out = attention(*wanted, is_causal=causal)
                backward = lambda: torch.autograd.grad(out, wanted, d_out, retain_graph=True)
                serve("PyTorch", "backward", mask, tokens, head_dim, backward)

    return f"PyTorch {version}", run


# ONNX Runtime has two operators for it: its own MultiHeadAttention, and ONNX's Attention since opset 23.
def open_onnxruntime():
    import numpy
    import onnxruntime
    from onnx import TensorProto, helper

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4

    def session(node, opset, shape):
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "qkv"]
        outputs = [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)]
        domains = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph([node], "attention", inputs, outputs)
        model = helper.make_model(graph, opset_imports=domains, ir_version=10)
        return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])

    def operators(causal):
        own = {"domain": "com.microsoft", "num_heads": 1, "unidirectional": causal}
        standard = {"q_num_heads": 1, "kv_num_heads": 1, "is_causal": causal}
        for name, opset, words in ("MultiHeadAttention", 21, own), ("Attention", 23, standard):
            yield name, opset, helper.make_node(name, list("qkv"), ["out"], **words)

    def run():
        random = numpy.random.default_rng(1)
        for tokens, head_dim in SHAPES:
            shape = (1, tokens, head_dim)
            feed = {name: random.standard_normal(shape, dtype=numpy.float32) for name in "qkv"}
            for mask in MASKS:
                for name, opset, node in operators(int(mask == "causal")):
                    try:
                        opened = session(node, opset, shape)
                    except Exception as error:  # an older version lacks one of them
                        print(f"ONNX Runtime, {name}: {error}", file=sys.stderr)
                        continue
                    work = lambda: opened.run(None, feed)
                    serve("ORT-" + name, "forward", mask, tokens, head_dim, work)

    return f"ONNX Runtime {onnxruntime.__version__}", run


found = []
for opener in (open_torch, open_onnxruntime):
    try:
        found.append(opener())
    except ImportError as error:
        print(error, file=sys.stderr)
print("found", ", ".join(name for name, _ in found), flush=True)
for name, run in found:
    try:
        run()
    except Exception as error:  # a peer that fails is no failure of ours
        print(f"{name}: {error}", file=sys.stderr)
