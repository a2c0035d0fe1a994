"""bench/rows.py OUT KIND SHAPE [ARGUMENT] — an ONNX model of one operator over rows, planes or the whole of a tensor.

KIND: a row of KINDS below. SHAPE: 8x128x768. ARGUMENT: axes (0,2), a permutation (0,2,1,3) or a number of groups.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def per_channel(shape, names, axis):
    """Constants of one number per channel: 1, or its like, so that nothing overflows."""
    n = shape[axis]
    return [(name, np.linspace(0.5, 1.5, n, dtype=np.float32)) for name in names]


def integers(text):
    return [int(x) for x in text.split(",")]


def layer_norm(shape, _):
    return "LayerNormalization", {"axis": -1}, per_channel(shape, ["scale", "bias"], -1)


def rms_norm(shape, _):
    return "RMSNormalization", {"axis": -1}, per_channel(shape, ["scale"], -1)


def instance_norm(shape, _):
    return "InstanceNormalization", {}, per_channel(shape, ["scale", "bias"], 1)


def group_norm(shape, groups):
    return "GroupNormalization", {"num_groups": int(groups)}, per_channel(shape, ["scale", "bias"], 1)


def batch_norm(shape, _):
    return "BatchNormalization", {}, per_channel(shape, ["scale", "bias", "mean", "variance"], 1)


def softmax(_, axis):
    return "Softmax", {"axis": int(axis)}, []


def log_softmax(_, axis):
    return "LogSoftmax", {"axis": int(axis)}, []


def transpose(_, perm):
    return "Transpose", {"perm": integers(perm)}, []


def reduction(operator):
    def made(_, axes):
        return operator, {"keepdims": 0}, [("axes", np.array(integers(axes), np.int64))]

    return made


KINDS = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "instance_norm": instance_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "transpose": transpose,
    "sum": reduction("ReduceSum"),
    "mean": reduction("ReduceMean"),
    "max": reduction("ReduceMax"),
}


def build(kind, shape, argument):
    operator, attributes, constants = KINDS[kind](shape, argument)
    node = helper.make_node(operator, ["x"] + [name for name, _ in constants], ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        kind,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants],
    )
    opset = 23 if operator == "RMSNormalization" else 21
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[2] not in KINDS:
        sys.exit(__doc__)
    onnx.save(build(sys.argv[2], [int(n) for n in sys.argv[3].split("x")], sys.argv[4] if len(sys.argv) == 5 else ""), sys.argv[1])
