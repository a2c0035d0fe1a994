"""bench/attention.py OUT QUERIES KEYS HEADS KV_HEADS DEPTH MASK — an ONNX model of one attention, as exporters write it.

MASK: none, padding (one row of the keys' length, added), causal (a square of 0 and the lowest float, added). Queries come
as [1, queries, heads * depth], keys and values as [1, keys, ...] with as many queries, else as a cache [1, heads, keys, depth].
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def build(queries, keys, heads, kv_heads, depth, mask):
    nodes, constants = [], []

    def op(kind, *inputs, **attributes):
        name = f"t{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(value):
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def split(x, n, length):
        parts = op("Reshape", x, constant(np.array([1, length, n, depth], np.int64)))
        return op("Transpose", parts, perm=[0, 2, 1, 3])

    def repeat(x):
        if heads == kv_heads:
            return x
        wide = constant(np.array([1, kv_heads, heads // kv_heads, keys, depth], np.int64))
        x = op("Expand", op("Unsqueeze", x, constant(np.array([2], np.int64))), wide)
        return op("Reshape", x, constant(np.array([1, heads, keys, depth], np.int64)))

    cache = [1, kv_heads, keys, depth] if queries != keys else [1, keys, kv_heads * depth]
    inputs = [("q", [1, queries, heads * depth]), ("k", cache), ("v", cache)]
    k, v = ("k", "v") if queries != keys else (split("k", kv_heads, keys), split("v", kv_heads, keys))
    k_t = op("Transpose", repeat(k), perm=[0, 1, 3, 2])
    scores = op("MatMul", split("q", heads, queries), k_t)
    scores = op("Div", scores, constant(np.float32(depth**0.5)))
    if mask == "padding":
        inputs.append(("mask", [1, 1, 1, keys]))
        scores = op("Add", scores, "mask")
    if mask == "causal":
        seen = np.arange(keys)[None, :] <= np.arange(queries)[:, None] + keys - queries
        lowest = np.finfo(np.float32).min
        scores = op("Add", scores, constant(np.where(seen, 0, lowest).astype(np.float32)[None, None]))
    mixed = op("MatMul", op("Softmax", scores, axis=-1), repeat(v))
    merged = op("Transpose", mixed, perm=[0, 2, 1, 3])
    shape = constant(np.array([1, queries, heads * depth], np.int64))
    nodes.append(helper.make_node("Reshape", [merged, shape], ["y"]))

    def info(name, dims):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    graph = helper.make_graph(nodes, "attention", [info(*i) for i in inputs], [info("y", None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


if __name__ == "__main__":
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    onnx.save(build(*map(int, sys.argv[2:7]), sys.argv[7]), sys.argv[1])
