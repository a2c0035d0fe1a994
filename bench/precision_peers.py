"""precision_peers.py — models in 8 bits by other quantisers beside hone, at equal error.

usage: python bench/precision_peers.py MODEL.onnx SAMPLES.npz FOLDER [--threads N] [--rounds N] [--points N] [--hone PROGRAM]

Quantisers: ONNX Runtime's (onnxruntime.quantization: static in QDQ form, weights by channel, ranges by minimum and maximum and by entropy; dynamic) and
OpenVINO's (nncf, where it is installed). Each takes three of four samples, as hone does; errors are of the fourth ones (3, 7, 11 …): the root mean
square of the differences from ONNX Runtime in f32 by that of its output, of the output where it is largest, the mean over samples.
Then hone: all products in bytes, and for each peer the fastest point of the front that is proven to have no more error (--max-error). Times
are medians of rounds in turns, one run a turn. A quantiser that fails is a row with its reason.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "build" / "python"))


def samples_of(path, session):
    """Feeds, one for each sample: the first axis of an array is the samples."""
    held, feeds = np.load(path), []
    n = max(len(held[i.name]) for i in session.get_inputs())
    for s in range(n):
        feed = {}
        for i in session.get_inputs():
            a = held[i.name]
            one = a[s if len(a) > 1 else 0]
            feed[i.name] = one if one.ndim == len(i.shape) else one[None]
        feeds.append(feed)
    return feeds


def ort(path, threads):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), o, providers=["CPUExecutionProvider"])
    return session, lambda feed: session.run(None, feed)


def ready(model, folder):
    """Constants as initializers and normalisations folded into weights, by ONNX Runtime itself: its quantiser asks for that. Scales by channel
    are of opset 13 on."""
    out, m = folder / "ort-ready.onnx", onnx.load(model)
    if next(o.version for o in m.opset_import if o.domain in ("", "ai.onnx")) < 13:
        model = folder / "ort-opset13.onnx"
        onnx.save(onnx.version_converter.convert_version(m, 13), model)
    o = onnxruntime.SessionOptions()
    o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    o.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(model), o, providers=["CPUExecutionProvider"])
    return out


def ort_static(method):
    def make(model, feeds, folder, threads):
        from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

        class Reader(CalibrationDataReader):
            def __init__(self):
                self.left = iter(feeds)

            def get_next(self):
                return next(self.left, None)

        out = folder / f"ort-{method}.onnx"
        start = ready(model, folder)
        left = [n.name for n in onnx.load(start).graph.node if n.op_type == "BatchNormalization"]  # by channel: it makes no valid model of these
        quantize_static(str(start), str(out), Reader(), nodes_to_exclude=left, quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8, calibrate_method=getattr(CalibrationMethod, method))
        return ort(out, threads)[1], f"{out.stat().st_size / 2**20:.1f} MiB"
    return make


def ort_dynamic(model, feeds, folder, threads):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    out = folder / "ort-dynamic.onnx"
    quantize_dynamic(str(ready(model, folder)), str(out), per_channel=True, weight_type=QuantType.QInt8)
    return ort(out, threads)[1], f"{out.stat().st_size / 2**20:.1f} MiB"


def openvino_nncf(model, feeds, folder, threads):
    import nncf
    import openvino
    core = openvino.Core()
    narrow = nncf.quantize(core.read_model(str(model)), nncf.Dataset(feeds), subset_size=len(feeds))
    openvino.save_model(narrow, str(folder / "nncf.xml"), compress_to_fp16=False)
    compiled = core.compile_model(narrow, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"})
    return lambda feed: list(compiled(feed).values()), f"{(folder / 'nncf.bin').stat().st_size / 2**20:.1f} MiB"


QUANTISERS = [("onnxruntime static, minmax", ort_static("MinMax")), ("onnxruntime static, entropy", ort_static("Entropy")),
              ("onnxruntime dynamic", ort_dynamic), ("openvino nncf", openvino_nncf)]


def error(run, feeds, exact):
    """Of each sample the output where it is largest; their mean."""
    each = []
    for feed, want in zip(feeds, exact):
        rms = [np.sqrt(np.mean((np.asarray(g, "f8") - w) ** 2) / max(np.mean(np.asarray(w, "f8") ** 2), 1e-300))
               for g, w in zip(run(feed), want) if np.asarray(w).dtype.kind == "f"]
        each.append(max(rms))
    return float(np.mean(each))


def compile_hone(a, folder, name, *options):
    done = subprocess.run([a.hone, "compile", str(a.model), "-o", str(folder / name), "--threads", str(a.threads), "--json", *options],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    import hone
    model = hone.load(str(folder / f"{name}.so"), threads=a.threads)
    weights = [p for p in json.loads(done.stdout).get("front", {}).get("points", []) if p["chosen"]]
    return lambda feed: list(model.run(feed).values()), weights[0]["narrow"] if weights else None


def time_all(rows, feeds, rounds):
    for k in range(rounds):
        for r in rows if k % 2 == 0 else reversed(rows):
            if "run" in r:
                begin = time.perf_counter()
                r["run"](feeds[k % len(feeds)])
                r["times"].append(time.perf_counter() - begin)


def put(rows):
    print(f"{'':40} {'error':>9} {'ms':>9}  of f32")
    for r in rows:
        if "run" in r:
            ms = 1000 * statistics.median(r["times"])
            print(f"{r['name']:40} {100 * r['error']:8.3f}% {ms:9.3f} {ms / (1000 * statistics.median(rows[r['of']]['times'])):6.3f}  {r['note']}")
        else:
            print(f"{r['name']:40} failed: {r['note']}")


def tried(rows, name, of, feeds, exact, make):
    try:
        run, note = make()
        rows.append({"name": name, "run": run, "error": error(run, feeds, exact), "times": [], "of": of, "note": note})
    except Exception as e:  # a row that says why
        rows.append({"name": name, "note": f"{type(e).__name__}: {e}".splitlines()[0][:120]})
    print(f"{name}: {rows[-1].get('error', rows[-1]['note'])}", file=sys.stderr, flush=True)
    return rows[-1]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", type=Path), p.add_argument("data", type=Path), p.add_argument("folder", type=Path)
    p.add_argument("--threads", type=int, default=1), p.add_argument("--rounds", type=int, default=60)
    p.add_argument("--points", type=int, default=64), p.add_argument("--hone", default="build/hone")
    a = p.parse_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    session, exact_run = ort(a.model, a.threads)
    feeds = samples_of(a.data, session)
    taken, held = [f for i, f in enumerate(feeds) if i % 4 != 3], feeds[3::4]
    exact, rows = [exact_run(f) for f in held], []
    tried(rows, "onnxruntime f32", 0, held, exact, lambda: (exact_run, ""))
    tried(rows, "hone f32", 1, held, exact, lambda: (compile_hone(a, a.folder, "f32")[0], ""))
    peers = []
    for name, make in QUANTISERS:
        peers.append(tried(rows, name, 0, held, exact, lambda make=make: make(a.model, taken, a.folder, a.threads)))
    narrow = ["--data", str(a.data)]
    tried(rows, "hone int8", 1, held, exact, lambda: (compile_hone(a, a.folder, "int8", "--precision", "int8", *narrow)[0], ""))
    mixed = ["--precision", "mixed", *narrow, "--front", str(a.folder / "points"), "--points", str(a.points), "--calibrate", "mse"]
    for k, peer in enumerate(q for q in peers if "run" in q):
        def chosen(k=k, peer=peer):
            run, n = compile_hone(a, a.folder, f"mixed{k}", *mixed, "--max-error", repr(peer["error"]))
            return run, f"{n} products in bytes"
        tried(rows, f"hone, as {peer['name']}", 1, held, exact, chosen)
    time_all(rows, held, a.rounds)
    put(rows)


if __name__ == "__main__":
    main()
