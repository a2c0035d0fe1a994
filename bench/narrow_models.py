"""bench/narrow_models.py MODEL.onnx KIND OUT.onnx — a model of f32 in fewer bits.

f16: all floats of half precision. weights: the weights that products read are of 8 bits, dequantised in front of them.
qdq: weights and activations of 8 bits, as onnxruntime.quantization writes them (QuantizeLinear, DequantizeLinear in front
of every convolution and product; scales from two random inputs, one for each channel of the weights). signed: the same
with signed activations. dynamic: activations are quantised in each run (DynamicQuantizeLinear, MatMulInteger).
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def to_half(model):
    graph = model.graph
    tensors = list(graph.initializer) + [a.t for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.TENSOR]
    for t in tensors:
        if t.data_type == TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float16), t.name))
    for a in (a for n in graph.node if n.op_type == "Cast" for a in n.attribute):
        a.i = TensorProto.FLOAT16 if a.i == TensorProto.FLOAT else a.i
    for v in [*graph.input, *graph.output, *graph.value_info]:
        if v.type.tensor_type.elem_type == TensorProto.FLOAT:
            v.type.tensor_type.elem_type = TensorProto.FLOAT16


def narrow_weights(model):
    """One scale per column of the matrices that MatMul and Gemm read."""
    graph, nodes = model.graph, []
    weights = {t.name: t for t in graph.initializer}
    for node in graph.node:
        w = node.op_type in ("MatMul", "Gemm") and weights.get(node.input[1])
        if w and w.data_type == TensorProto.FLOAT and len(w.dims) == 2:
            x, name = numpy_helper.to_array(w), w.name
            axis = 0 if any(a.name == "transB" and a.i for a in node.attribute) else 1
            scale = np.maximum(np.abs(x).max(1 - axis), 1e-9).astype(np.float32) / 127
            q = np.rint(x / np.expand_dims(scale, 1 - axis)).astype(np.int8)
            w.CopyFrom(numpy_helper.from_array(q, name + "_q"))
            graph.initializer.append(numpy_helper.from_array(scale, name + "_scale"))
            nodes.append(helper.make_node("DequantizeLinear", [name + "_q", name + "_scale"], [name], axis=axis))
            del weights[name]
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def random_input(rng, v):
    """Floats from the normal distribution, token numbers, a mask that hides nothing."""
    shape = [d.dim_value or 1 for d in v.type.tensor_type.shape.dim]
    if v.type.tensor_type.elem_type == TensorProto.FLOAT:
        return rng.standard_normal(shape).astype(np.float32)
    return np.ones(shape, np.int64) if "mask" in v.name else rng.integers(0, 1000, shape)


def random_inputs(model):
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.seeds = iter(range(2))

        def get_next(self):
            seed = next(self.seeds, None)
            if seed is None:
                return None
            rng = np.random.default_rng(seed)
            return {v.name: random_input(rng, v) for v in model.graph.input}

    return Reader()


def main():
    path, kind, out = sys.argv[1:]
    model = onnx.load(path)
    if kind in ("f16", "weights"):
        {"f16": to_half, "weights": narrow_weights}[kind](model)
        onnx.save(model, out)
        return
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
    if kind == "dynamic":
        quantize_dynamic(path, out, weight_type=QuantType.QInt8)
    else:
        quantize_static(path, out, random_inputs(model), quant_format=QuantFormat.QDQ, per_channel=True,
                        weight_type=QuantType.QInt8,
                        activation_type=QuantType.QInt8 if kind == "signed" else QuantType.QUInt8)


main()
