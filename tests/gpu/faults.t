#!/usr/bin/env python3
"""tests/gpu/faults.t: faults planted at random places of CUDA kernels are found by the shim or by the values of the outputs: two of each kind,
with HONE_LONG a hundred. TAP."""

import os
import shutil

import cuda_tools as tools
import planted


def main():
    tap = tools.Tap("gpu/faults")
    if not os.access(f"{tools.BUILD}/shim/hone-shim-cc", os.X_OK) or not os.access(f"{tools.BUILD}/hone-gpu-bench", os.X_OK):
        tools.skip_all("hone is not built")
    if not shutil.which("g++"):
        tools.skip_all("g++ is not installed")
    n = 100 if os.environ.get("HONE_LONG") else 2
    for fault in planted.FAULTS:
        by, lost = {}, []
        for seed, name, found, changed in planted.all_of(fault, n):
            by[found] = by.get(found, 0) + 1
            if found is None or found == "nothing was planted":
                lost.append(f"{fault} {seed} in {name}: {found}: {changed}")
        tap.ok(not lost, f"{fault}: {n} planted, found by " + ", ".join(f"{k} {v}" for k, v in sorted(by.items(), key=str)), *lost)
    tap.done()


main()
