#!/usr/bin/env python3
"""Options of ptxas for a Triton kernel: a row softmax whose block size, warps and assembler options are searched together.

Needs an NVIDIA GPU, PyTorch and a Triton whose launches take `ptx_options`; says so and ends without. A controls file goes
in by the same door: kernel[grid](..., **hone.Controls.load("softmax.hone").triton()). usage: triton_controls.py [EVALUATIONS]
"""
import shutil
import sys

if not shutil.which("nvidia-smi"):
    sys.exit("skipped: there is no NVIDIA GPU here (no nvidia-smi)")
try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    sys.exit(f"skipped: {error.name} is not installed (pip install torch triton)")
if not torch.cuda.is_available():
    sys.exit("skipped: PyTorch sees no GPU")

import hone.space as ss
from hone import Search
from hone.workers.pool import PoolWorker


@triton.jit
def softmax(out, x, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + at, e / tl.sum(e, axis=0), mask=at < n)


def milliseconds(config):
    x = torch.randn(4096, 2000, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
    out = torch.empty_like(x)
    options = " ".join(f"--{name} {value}" for name, value in config["ptxas"].items())

    def launch():
        softmax[(x.shape[0],)](out, x, x.shape[1], BLOCK=2048, num_warps=config["warps"], ptx_options=options)

    launch()
    if not torch.allclose(out, torch.softmax(x, 1), atol=1e-6):
        raise ValueError("wrong result")
    return triton.testing.do_bench(launch)


space = {
    "warps": ss.ordinal([1, 2, 4, 8, 16], default=4),
    "ptxas": {
        "opt-level": ss.ordinal([0, 1, 2, 3], default=3),
        "maxrregcount": ss.ordinal([32, 40, 64, 128, 255], knockout_prob=0.5),
        "def-load-cache": ss.choice(["ca", "cg", "cs"], knockout_prob=0.5),
    },
}
evals = int(sys.argv[1]) if len(sys.argv) > 1 else 60
# A process of its own, started afresh (CUDA does not survive a fork): a kernel that hangs or faults costs one trial.
worker = PoolWorker(start_method="spawn")
if __name__ == "__main__":
    results = Search(milliseconds, space, max_evals=evals, seed=1, baseline=True).start(1, 60, worker=worker)
    print(f"{results.baseline[0]:.4f} ms -> {results.best.score:.4f} ms with {results.best.config}")
