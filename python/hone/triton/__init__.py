"""Triton kernels: their own configurations and the controls of ptxas, searched together.

    @hone.triton.tune({"BLOCK": [1024, 2048], "num_warps": [4, 8, 16]}, outputs=["out"])
    @triton.jit
    def softmax(out, x, n, BLOCK: tl.constexpr): ...

    softmax[(4096,)](out, x, 2000)          # with what was proven on this device, else with the first values
    softmax.tune((4096,), out, x, 2000)     # searches, proves and keeps

docs/python-triton.md. Triton itself is imported when a kernel is compiled.
"""
from __future__ import annotations

from .folder import Bench, Folder, write
from .kernel import Compiled, Tensor, compile, render, toolkit
from .tuned import Device, Tuned, TunedKernel, tune

__all__ = ["Bench", "Compiled", "Device", "Folder", "Tensor", "Tuned", "TunedKernel", "compile", "render", "toolkit", "tune", "write"]
