#!/usr/bin/env python3
"""tests/gpu/place.t: a model compiled for CUDA runs on the shim and agrees with the interpreter, its kernels one by one too. TAP."""

import os
import shutil

import cuda_tools as tools


def main():
    tap = tools.Tap("gpu/place")
    if not tools.HONE:
        tools.skip_all("hone is not built")
    if not shutil.which("g++"):
        tools.skip_all("g++ is not installed")
    with tools.folder() as where:
        model = os.path.join(where, "mlp.onnx")
        tools.run([tools.HONE, "gen", "mlp", model])
        done = tools.run([tools.HONE, "verify", model, "--place", "shim"])
        tap.ok(done.returncode == 0 and "agrees with the interpreter" in done.stdout, "verify_mlp_on_the_shim", done.stdout, done.stderr)
    tap.done()


main()
