#!/usr/bin/env python3
"""A Triton softmax whose tile, warps and options of ptxas are searched together.

On a machine with an NVIDIA GPU and PyTorch: measured, proven, and kept for later launches. Without a GPU: by metrics of the machine
code, which rank and prove nothing. Needs Triton; says so and ends without. usage: triton_controls.py [EVALUATIONS]
"""
import sys

try:
    import triton
    import triton.language as tl
except ImportError as error:
    sys.exit(f"skipped: {error.name} is not installed (pip install triton)")
import hone


@hone.triton.tune({"BLOCK": [2048, 4096], "num_warps": [4, 8, 16]}, outputs=["out"])
@triton.jit
def softmax(out, x, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + at, e / tl.sum(e, axis=0), mask=at < n)


evals = int(sys.argv[1]) if len(sys.argv) > 1 else 60
try:
    hone.triton.Device.here()
except hone.UnsupportedError as error:
    print(f"no GPU: {error}")
    rows = hone.triton.Tensor("fp32", (4096, 2000))
    print("suggested:", softmax.static(rows, rows, 2000, target="sm_90", limits=["spills == 0"], max_evals=evals))
else:
    import torch

    x = torch.randn(4096, 2000, device="cuda")
    out = torch.empty_like(x)
    print("found:", softmax.tune((4096,), out, x, 2000, max_evals=evals))
    softmax[(4096,)](out, x, 2000)
    assert torch.allclose(out, torch.softmax(x, 1), atol=1e-6)
    print("launched with", softmax.options(out, x, 2000))
