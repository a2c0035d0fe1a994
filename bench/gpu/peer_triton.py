"""A Triton kernel tuned by Triton's own autotuner, on the sizes of the example: usage: peer_triton.py softmax|gemm; prints its time."""

import json
import sys

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": b}, num_warps=w) for b in (1024, 2048, 4096) for w in (4, 8, 16)]
TILES = [
    triton.Config({"BM": m, "BN": n, "BK": k}, num_warps=w, num_stages=s)
    for m in (32, 64, 128) for n in (32, 64, 128) for k in (16, 32) for w in (4, 8) for s in (2, 3)
]  # fmt: skip


@triton.autotune(configs=CONFIGS, key=["cols"])
@triton.jit
def softmax_kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    most = tl.full([BLOCK], -3e38, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, cols, BLOCK):
        v = tl.load(x + row + first + at, mask=first + at < cols, other=-3e38)
        up = tl.maximum(most, v)
        total = total * tl.exp(most - up) + tl.exp(v - up)
        most = up
    best = tl.max(most, 0)
    total = tl.sum(total * tl.exp(most - best), 0)
    for first in range(0, cols, BLOCK):
        v = tl.load(x + row + first + at, mask=first + at < cols, other=0)
        tl.store(y + row + first + at, tl.exp(v - best) / total, mask=first + at < cols)


@triton.autotune(configs=TILES, key=["m", "n", "k"])
@triton.jit
def gemm_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for first in range(0, k, BK):
        e = first + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * k + e[None, :], mask=(i[:, None] < m) & (e[None, :] < k), other=0)
        y = tl.load(b + e[:, None] * n + j[None, :], mask=(e[:, None] < k) & (j[None, :] < n), other=0)
        total += tl.dot(x, y, input_precision="ieee")
    tl.store(c + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


def softmax():
    x = torch.rand(4096, 4096, device="cuda") * 16 - 8
    y = torch.empty_like(x)
    kernel = softmax_kernel
    run = lambda: kernel[(4096,)](x, y, 4096)  # noqa: E731
    run()
    assert torch.allclose(y, torch.softmax(x, 1), rtol=1e-4, atol=1e-7)
    return run, kernel


def gemm():
    a, b = (torch.rand(2048, 2048, device="cuda") * 2 - 1 for _ in range(2))
    c = torch.empty_like(a)
    kernel = gemm_kernel
    run = lambda: kernel[lambda p: (triton.cdiv(2048, p["BM"]), triton.cdiv(2048, p["BN"]))](a, b, c, 2048, 2048, 2048)  # noqa: E731
    run()
    assert torch.allclose(c, (a.double() @ b.double()).float(), rtol=1e-3, atol=1e-3)
    return run, kernel


def main():
    run, kernel = {"softmax": softmax, "gemm": gemm}[sys.argv[1]]()
    ms = triton.testing.do_bench(run, warmup=200, rep=1000, quantiles=[0.5])
    print(json.dumps({"best_s": (ms if isinstance(ms, float) else ms[0]) / 1e3, "config": str(kernel.best_config)}))


main()
