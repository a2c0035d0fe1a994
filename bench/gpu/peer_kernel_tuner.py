"""Kernel Tuner on one of the examples: usage: peer_kernel_tuner.py EXAMPLE FOLDER INCLUDE SECONDS; prints its best point as JSON.

It tunes the sizes (Kernel Tuner sets macros only), with its default strategy and its own timer, on the example's sizes.
"""

import json
import os
import re
import sys

import kernel_tuner
import numpy as np

EXAMPLES = {  # macro prefix, block and grid as expressions over tunables and sizes, sizes, arguments
    "softmax": {"sizes": {"rows": 4096, "cols": 4096}, "threads": "BLOCK", "grid": ("rows", "1"), "tune": {"BLOCK": [64, 128, 256, 512, 1024]},
                "out": ["y"], "args": [("x", "rows*cols"), ("y", "rows*cols"), "cols"]},
    "gemm": {"sizes": {"m": 2048, "n": 2048, "k": 2048}, "threads": "(BM//TM)*(BN//TN)", "grid": ("-(-n//BN)", "-(-m//BM)"),
             "tune": {"BM": [32, 64, 128], "BN": [32, 64, 128], "BK": [8, 16, 32], "TM": [2, 4, 8], "TN": [2, 4, 8]},
             "legal": "32*TM*TN <= BM*BN <= 1024*TM*TN and BK*(BM+BN+4)*4 <= 49152",
             "args": [("a", "m*k"), ("b", "k*n"), ("c", "m*n"), "m", "n", "k"]},
    "attention": {"sizes": {"heads": 32, "n_q": 1024, "n_k": 1024, "causal": 0}, "threads": "QUERIES*LANES", "grid": ("-(-n_q//QUERIES)", "heads"),
                  "tune": {"QUERIES": [8, 16, 32, 64], "LANES": [4, 8, 16, 32], "KEYS": [16, 32, 64], "STEP": [1, 2, 4, 8]},
                  "legal": "32 <= QUERIES*LANES <= 1024",
                  "args": [("q", "heads*n_q*64"), ("k", "heads*n_k*64"), ("v", "heads*n_k*64"), ("y", "heads*n_q*64"), "n_q", "n_k", 0.125, "causal"]},
    "convolution": {"sizes": {"width": 1024, "height": 1024}, "threads": ("TX", "TY"), "grid": ("-(-width//(TX*PX))", "-(-height//TY)"),
                    "tune": {"TX": [4, 8, 16, 32, 64, 128], "TY": [1, 2, 4, 8, 16], "PX": [1, 2, 4, 8], "STAGE": [0, 1], "UNROLL": [1, 5]},
                    "legal": "TX*TY <= 1024 and (TX*PX+4)*(TY+4)*4 <= 49152",
                    "args": [("x", "width*height"), ("filter", "25"), ("y", "width*height"), "height", "width"]},
}  # fmt: skip


def main():
    name, folder, include, limit = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
    if name not in EXAMPLES:
        raise SystemExit(f"{name} is several launches, which Kernel Tuner does not tune as one")
    e = EXAMPLES[name]
    opencl = os.path.exists(f"{folder}/{name}.cl")
    with open(f"{folder}/{name}.{'cl' if opencl else 'cu'}", encoding="utf-8") as f:
        source = f.read()
    if not opencl:  # Kernel Tuner defines BLOCK, the kernel reads HONE_SIZE_BLOCK
        with open(f"{include}/hone/cuda_controls.h", encoding="utf-8") as f:
            controls = f.read()
        renamed = "".join(f"#define HONE_SIZE_{t} TUNED_{t}\n" for t in e["tune"])
        source = renamed + source.replace("#include <hone/cuda_controls.h>", controls)
    prefix = "" if opencl else "TUNED_"
    random = np.random.default_rng(1)
    args = [random.uniform(-1, 1, eval(a[1], {}, e["sizes"])).astype(np.float32) if isinstance(a, tuple) else
            np.int32(e["sizes"][a]) if isinstance(a, str) else np.float32(a) for a in e["args"]]  # fmt: skip
    tune = {prefix + k: v for k, v in e["tune"].items()}

    def plain(config):
        return {k[len(prefix):]: v for k, v in config.items() if k[len(prefix):] in e["tune"]}  # fmt: skip

    if isinstance(e["threads"], tuple):
        blocks = [prefix + t for t in e["threads"]]
    else:  # the number of threads follows from other tunables: one value for each that occurs
        tune["threads"] = sorted({eval(e["threads"], {}, dict(zip(e["tune"], p))) for p in points(e["tune"])})
        blocks = ["threads", "one_y", "one_z"]
    legal = e.get("legal", "True")

    def allowed(config):
        p = plain(config)
        return eval(legal, {}, p) and ("threads" not in config or config["threads"] == eval(e["threads"], {}, p))

    # The grid is the problem's size itself: the kernels count in tiles.
    def grid(axis):
        return lambda config: eval(e["grid"][axis], {}, {**e["sizes"], **plain(config)})

    results, _ = kernel_tuner.tune_kernel(
        name, source, lambda config: (grid(0)(config), grid(1)(config)), args, tune, restrictions=allowed, block_size_names=blocks,
        grid_div_x=[], grid_div_y=[], lang="OpenCL" if opencl else cuda_language(), strategy="greedy_ils",
        strategy_options={"max_fevals": 10000, "time_limit": limit}, quiet=True, iterations=7)  # fmt: skip
    good = [r for r in results if isinstance(r.get("time"), float)]
    best = min(good, key=lambda r: r["time"])
    print(json.dumps({"point": {k: str(v) for k, v in plain(best).items()}, "trials": len(results), "own_ms": best["time"]}))


def points(tune):
    out = [()]
    for values in tune.values():
        out = [p + (v,) for p in out for v in values]
    return out


def cuda_language():
    for module, lang in (("cupy", "CUPY"), ("cuda", "NVCUDA"), ("pycuda", "CUDA")):
        try:
            __import__(module)
            return lang
        except ImportError:
            continue
    raise SystemExit("Kernel Tuner needs cupy, cuda-python or pycuda for CUDA")


main()
