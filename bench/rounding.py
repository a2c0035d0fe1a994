"""bench/rounding.py DIR [PART] — operators that add many terms: the error of hone and of ONNX Runtime against evaluation in double.

PART: only those whose names hold it. Errors are root mean squares over the outputs, relative to the outputs' own. Evaluation in
double is that of onnx's reference evaluator, on the same model with every f32 as f64. $HONE is the program.
"""

import math
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

import operators
from operators import ints, one, weights

SUMS = ("Conv", "MatMul", "Gemm", "Einsum", "Reduce", "Softmax", "Norm", "Pool", "CumSum", "RNN", "LSTM")
LEFT_OUT = ("ReduceMax", "ReduceProd", "MaxPool")


def more_cases():
    """The shapes of issue and networks: long sums."""
    same = {"pads": [1] * 4}
    for channels, size in ((64, 56), (128, 28), (256, 14), (512, 7)):
        constants = {"w": weights(channels, channels, 3, 3)}
        one(f"Conv 3x3 of {channels}", "Conv", [1, channels, size, size], "w", constants, **same)
    one("Conv 1x1 of 512", "Conv", [1, 512, 14, 14], "w", {"w": weights(512, 512, 1, 1)})
    for rows, terms, columns in ((1, 4096, 1024), (128, 768, 768), (128, 3072, 768)):
        one(f"MatMul {rows} x {terms} x {columns}", "MatMul", [rows, terms], "w", {"w": weights(terms, columns)})
    one("ReduceSum of 100000", "ReduceSum", [8, 100000], "a", {"a": ints(1)})


def in_double(model):
    """The model with every f32 as f64."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for ports in (wide.graph.input, wide.graph.output, wide.graph.value_info):
        for port in ports:
            if port.type.tensor_type.elem_type == TensorProto.FLOAT:
                port.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in wide.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    return wide


def inputs_of(model):
    rng = np.random.default_rng(1)
    constants = {tensor.name for tensor in model.graph.initializer}
    shapes = {p.name: [d.dim_value for d in p.type.tensor_type.shape.dim] for p in model.graph.input if p.name not in constants}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def hone(path, feeds, folder):
    np.savez(os.path.join(folder, "in.npz"), **feeds)
    out = os.path.join(folder, "out.npz")
    command = [os.environ.get("HONE", "build/hone"), "run", path, "-i", os.path.join(folder, "in.npz"), "-o", out]
    subprocess.run(command, check=True, capture_output=True)
    with np.load(out) as arrays:
        return {name: arrays[name] for name in arrays}


def error(got, want):
    """Root mean square of the difference over that of the outputs, all outputs together."""
    pairs = [(np.asarray(got[k], np.float64), np.asarray(v, np.float64)) for k, v in want.items() if v.dtype == np.float64]
    off = sum(float(((a - b) ** 2).sum()) for a, b in pairs)
    return math.sqrt(off / sum(float((b**2).sum()) for _, b in pairs))


def measure(name, folder):
    model = operators.build(name)
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    feeds = inputs_of(model)
    names = [port.name for port in model.graph.output]
    wide = {k: v.astype(np.float64) for k, v in feeds.items()}
    want = dict(zip(names, ReferenceEvaluator(in_double(model)).run(None, wide)))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    peer = dict(zip(names, session.run(None, feeds)))
    return error(hone(path, feeds, folder), want), error(peer, want)


def main():
    folder, part = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    more_cases()
    chosen = [n for n in operators.CASES if n.startswith(SUMS) and not n.startswith(LEFT_OUT) and part in n]
    if not chosen:
        sys.exit(f"no operator's name holds '{part}'")
    print("| operator | hone's error | ONNX Runtime's | hone / ONNX Runtime |\n|---|---|---|---|", flush=True)
    logs = []
    for name in chosen:
        try:
            ours, theirs = measure(name, folder)
        except Exception as e:  # what the reference evaluator lacks
            print(f"| {name} | not measured: {str(e).splitlines()[0][:80]} | | |", flush=True)
            continue
        ratio = f"{ours / theirs:.2f}" if theirs else "-"
        if ours and theirs:
            logs.append(math.log(ours / theirs))
        print(f"| {name} | {ours:.2e} | {theirs:.2e} | {ratio} |", flush=True)
    if logs:
        print(f"\nGeometric mean of {len(logs)}: {math.exp(sum(logs) / len(logs)):.2f}.")


if __name__ == "__main__":
    main()
