#!/usr/bin/env python3
"""A C kernel through ctypes: its tile sizes and gcc's flags together, timed, checked against NumPy, with the baseline measured
again through the search. usage: c_kernel.py [EVALUATIONS]"""
import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import hone.space as ss
from hone import Search

SOURCE = """
void matmul(int n, const float *restrict a, const float *restrict b, float *restrict c) {
    for (int i0 = 0; i0 < n; i0 += TILE_I)
        for (int k0 = 0; k0 < n; k0 += TILE_K)
            for (int i = i0; i < i0 + TILE_I && i < n; i++)
                for (int k = k0; k < k0 + TILE_K && k < n; k++)
                    for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}
"""
N = 128
rng = np.random.default_rng(0)
A, B = (rng.standard_normal((N, N), dtype=np.float32) for _ in range(2))
WANT = A @ B


def pointer(x):
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def seconds(config):
    own, flags = config
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "kernel.so")
        defines = [f"-DTILE_I={own['i']}", f"-DTILE_K={own['k']}"]
        subprocess.run(["gcc", "-shared", "-fPIC", *flags, *defines, "-xc", "-", "-o", str(library)], input=SOURCE, text=True,
                       check=True, capture_output=True)  # fmt: skip
        kernel = ctypes.CDLL(str(library)).matmul
        best = float("inf")
        for _ in range(5):
            out = np.zeros((N, N), np.float32)
            begin = time.perf_counter()
            kernel(N, pointer(A), pointer(B), pointer(out))
            best = min(best, time.perf_counter() - begin)
        if not np.allclose(out, WANT, atol=1e-3):
            raise ValueError("wrong result")
        return best


space = [{"i": ss.ordinal([1, 4, 16, 64, 128]), "k": ss.ordinal([1, 4, 16, 64, 128])}, ss.compiler("gcc")]
evals = int(sys.argv[1]) if len(sys.argv) > 1 else 100
search = Search(seconds, space, max_evals=evals, seed=1, baseline=True)
results = search.start(num_workers=1, task_timeout=30)  # one at a time: it is timed
first, best = results.baseline[0], results.best
print(f"{first * 1e6:.0f} us -> {best.score * 1e6:.0f} us with {best.config[0]} and {str(best.config[1])[:120]}")
