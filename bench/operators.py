"""bench/operators.py OUT NAME — an ONNX model of one operator, or of the two that make one; --list: the names, a line each.

Sizes are those of a layer of a small network: some tens to some thousand microseconds.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(0)
CASES = {}


def weights(*shape):
    return (RNG.standard_normal(shape) * 0.05).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def case(name, inputs, nodes, constants=None, opset=20):
    """inputs: {name: shape}, all f32; nodes: (operator, inputs, outputs, attributes), names of values apart by blanks."""
    CASES[name] = (inputs, nodes, constants or {}, opset)


def one(name, operator, shape, more="", constants=None, opset=20, **attributes):
    """One operator on x and on what else it takes, by name."""
    case(name, {"x": shape}, [(operator, f"x {more}", "y", attributes)], constants, opset)


def functions():
    for operator in (
        "Relu Sigmoid Tanh Erf Exp Log Sqrt Neg Abs Floor Ceil Round Sign Sin Softplus Elu Selu HardSigmoid HardSwish "
        "Mish LeakyRelu Gelu Reciprocal"
    ).split():
        one(operator, operator, [64, 4096])
    case("Add", {"x": [64, 4096], "z": [64, 4096]}, [("Add", "x z", "y", {})])
    case("Add of a row", {"x": [64, 4096], "z": [4096]}, [("Add", "x z", "y", {})])
    case("Mul by a column", {"x": [64, 4096], "z": [64, 1]}, [("Mul", "x z", "y", {})])
    one("Pow 2.5", "Pow", [64, 4096], "p", {"p": np.float32(2.5)})
    one("Pow 2", "Pow", [64, 4096], "p", {"p": np.float32(2)})
    one("Mod", "Mod", [64, 4096], "m", {"m": np.float32(0.7)}, fmod=1)
    one("Clip", "Clip", [64, 4096], "a b", {"a": np.float32(-0.5), "b": np.float32(0.5)})
    case("Where", {"x": [64, 4096]}, [("Greater", "x q", "b", {}), ("Where", "b x q", "y", {})], {"q": np.float32(0.1)})
    one("PRelu", "PRelu", [8, 64, 56, 56], "s", {"s": weights(64, 1, 1)})
    one("Cast to i32", "Cast", [64, 4096], to=TensorProto.INT32)
    halves = [("Cast", "x", "t", {"to": TensorProto.FLOAT16}), ("Cast", "t", "y", {"to": TensorProto.FLOAT})]
    case("Cast to f16 and back", {"x": [64, 4096]}, halves)
    scale = {"s": np.float32(0.02), "z": np.uint8(128)}
    quantized = [("QuantizeLinear", "x s z", "q", {}), ("DequantizeLinear", "q s z", "y", {})]
    case("QuantizeLinear and back", {"x": [128, 768]}, quantized, scale)


def images():
    for kind in ("MaxPool", "AveragePool"):
        for size, stride, pad in ((3, 2, 1), (2, 2, 0), (3, 1, 1)):
            shape = {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
            one(f"{kind} {size}x{size} / {stride}", kind, [1, 64, 112, 112], **shape)
    one("GlobalAveragePool", "GlobalAveragePool", [8, 512, 14, 14])
    one("GlobalMaxPool", "GlobalMaxPool", [8, 512, 14, 14])
    one("LRN", "LRN", [1, 96, 55, 55], size=5)
    for mode, how in (("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners"), ("cubic", "half_pixel")):
        attributes = {"mode": mode, "coordinate_transformation_mode": how}
        if mode == "nearest":
            attributes["nearest_mode"] = "floor"
        scales = {"none": np.zeros(0, np.float32), "s": np.array([1, 1, 2, 2], np.float32)}
        one(f"Resize {mode} {how}", "Resize", [1, 64, 28, 28], "none s", scales, **attributes)
    one("Pad", "Pad", [1, 64, 56, 56], "p", {"p": ints(0, 0, 1, 1, 0, 0, 1, 1)})
    one("Pad reflect", "Pad", [1, 64, 56, 56], "p", {"p": ints(0, 0, 3, 3, 0, 0, 3, 3)}, mode="reflect")
    one("DepthToSpace", "DepthToSpace", [1, 64, 56, 56], blocksize=2)
    one("DepthToSpace CRD", "DepthToSpace", [1, 64, 56, 56], blocksize=2, mode="CRD")
    one("SpaceToDepth", "SpaceToDepth", [1, 16, 112, 112], blocksize=2)
    case("GridSample", {"x": [1, 16, 32, 32], "g": [1, 32, 32, 2]}, [("GridSample", "x g", "y", {})], opset=16)
    statistics = {**dict.fromkeys("sbm", weights(64)), "v": np.ones(64, np.float32)}
    one("BatchNormalization", "BatchNormalization", [1, 64, 56, 56], "s b m v", statistics)


def convolutions():
    rows = (
        # name, channels in, out, size, window, stride, groups, dilation
        ("depthwise 3x3", 256, 256, 28, 3, 1, 256, 1),
        ("depthwise 3x3 / 2", 128, 128, 56, 3, 2, 128, 1),
        ("depthwise 7x7", 96, 96, 56, 7, 1, 96, 1),
        ("8 groups", 256, 256, 28, 3, 1, 8, 1),
        ("64 groups", 256, 256, 28, 3, 1, 64, 1),
        ("dilated", 128, 128, 28, 3, 1, 1, 2),
        ("5x5", 64, 64, 28, 5, 1, 1, 1),
        ("7x7 / 2 of 3 channels", 3, 64, 112, 7, 2, 1, 1),
        ("1x1", 256, 64, 28, 1, 1, 1, 1),
        ("1x1 / 2", 256, 512, 28, 1, 2, 1, 1),
        ("of 1 channel", 1, 16, 64, 3, 1, 1, 1),
        ("to 1 channel", 64, 1, 64, 3, 1, 1, 1),
        ("9x9 to 3 channels", 64, 3, 64, 9, 1, 1, 1),
        ("of 8 channels", 8, 8, 64, 3, 1, 1, 1),
        ("of 12 channels", 12, 12, 64, 3, 1, 1, 1),
        ("of 20 channels", 20, 20, 32, 3, 1, 1, 1),
    )
    for name, c, d, size, window, stride, groups, dilation in rows:
        pad = dilation * (window - 1) // 2
        shape = {"strides": [stride] * 2, "pads": [pad] * 4, "group": groups, "dilations": [dilation] * 2}
        constants = {"w": weights(d, c // groups, window, window), "b": weights(d)}
        one(f"Conv {name}", "Conv", [1, c, size, size], "w b", constants, **shape)
    one("Conv over a line", "Conv", [1, 64, 1000], "w b", {"w": weights(64, 64, 5), "b": weights(64)}, pads=[2, 2])
    own = {"w": weights(256, 1, 31), "b": weights(256)}
    one("Conv over a line, depthwise", "Conv", [1, 256, 1000], "w b", own, pads=[15, 15], group=256)
    one("Conv over a volume", "Conv", [1, 16, 16, 28, 28], "w b", {"w": weights(16, 16, 3, 3, 3), "b": weights(16)}, pads=[1] * 6)
    for window, stride, pad in ((2, 2, 0), (4, 2, 1), (3, 1, 1)):
        constants = {"w": weights(64, 32, window, window), "b": weights(32)}
        shape = {"strides": [stride] * 2, "pads": [pad] * 4}
        one(f"ConvTranspose {window}x{window} / {stride}", "ConvTranspose", [1, 64, 28, 28], "w b", constants, **shape)


def movements():
    for name, shape, perm in (
        ("rows and columns", [12, 128, 64], [0, 2, 1]),
        ("heads", [128, 12, 64], [1, 0, 2]),
        ("reversed", [32, 64, 128], [2, 1, 0]),
        ("3 channels last", [1, 3, 224, 224], [0, 2, 3, 1]),
        ("3 channels first", [1, 224, 224, 3], [0, 3, 1, 2]),
    ):
        one(f"Transpose {name}", "Transpose", shape, perm=perm)
    case("Concat", {"x": [1, 64, 56, 56], "z": [1, 64, 56, 56]}, [("Concat", "x z", "y", {"axis": 1})])
    case("Concat of columns", {"x": [4096, 64], "z": [4096, 64]}, [("Concat", "x z", "y", {"axis": 1})])
    one("Slice, every other", "Slice", [64, 4096], "a b d s", {"a": ints(1), "b": ints(4000), "d": ints(1), "s": ints(2)})
    one("Slice, backwards", "Slice", [64, 4096], "a b d s", {"a": ints(-1), "b": ints(-100000), "d": ints(1), "s": ints(-1)})
    one("Expand", "Expand", [64, 1, 128], "s", {"s": ints(64, 32, 128)})
    one("Tile", "Tile", [64, 128], "s", {"s": ints(4, 8)})
    one("Trilu", "Trilu", [8, 256, 256])
    one("Gather of columns", "Gather", [256, 1000], "i", {"i": RNG.integers(0, 1000, 500)}, axis=1)
    one("GatherElements", "GatherElements", [1000, 128], "i", {"i": RNG.integers(0, 1000, (200, 128))}, axis=0)
    nodes = [("ScatterND", "x i u", "y", {})]
    case("ScatterND", {"x": [1000, 128], "u": [200, 128]}, nodes, {"i": RNG.integers(0, 1000, (200, 1))})


def reductions():
    one("Softmax of short rows", "Softmax", [4096, 10], axis=-1)
    one("Softmax of channels", "Softmax", [1, 21, 64, 64], axis=1)
    one("ReduceSum in the middle", "ReduceSum", [64, 128, 256], "a", {"a": ints(1)})
    one("ReduceMax of short rows", "ReduceMax", [4096, 64], "a", {"a": ints(1)})
    one("ReduceProd", "ReduceProd", [64, 4096], "a", {"a": ints(1)})
    one("ReduceL2", "ReduceL2", [64, 4096], "a", {"a": ints(1)})
    one("ReduceLogSumExp", "ReduceLogSumExp", [64, 4096], "a", {"a": ints(1)})
    one("ArgMax of rows", "ArgMax", [64, 1000], axis=1)
    one("ArgMax of columns", "ArgMax", [64, 1000], axis=0)
    one("CumSum along rows", "CumSum", [64, 4096], "a", {"a": np.int64(1)})
    one("CumSum along columns", "CumSum", [512, 512], "a", {"a": np.int64(0)})
    case("TopK", {"x": [64, 1000]}, [("TopK", "x k", "y i", {})], {"k": ints(10)})


def products():
    case("MatMul", {"x": [128, 256], "z": [256, 128]}, [("MatMul", "x z", "y", {})])
    case("MatMul of 12", {"x": [12, 128, 64], "z": [12, 64, 128]}, [("MatMul", "x z", "y", {})])
    case("Gemm, both turned", {"x": [256, 128], "z": [96, 256]}, [("Gemm", "x z", "y", {"transA": 1, "transB": 1})])
    one("MatMul of one row", "MatMul", [1, 4096], "w", {"w": weights(4096, 4096)})
    equation = {"equation": "bihd,bjhd->bhij"}
    case("Einsum", {"x": [4, 128, 8, 32], "z": [4, 128, 8, 32]}, [("Einsum", "x z", "y", equation)])
    one("RNN", "RNN", [50, 1, 128], "w r", {"w": weights(1, 128, 128), "r": weights(1, 128, 128)}, hidden_size=128)
    one("LSTM", "LSTM", [50, 1, 128], "w r", {"w": weights(1, 512, 128), "r": weights(1, 512, 128)}, hidden_size=128)


def build(name):
    inputs, nodes, constants, opset = CASES[name]
    made = [helper.make_node(op, i.split(), o.split(), **attributes) for op, i, o, attributes in nodes]
    graph = helper.make_graph(
        made,
        "operator",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs.items()],
        [onnx.ValueInfoProto(name=n) for n in nodes[-1][2].split()],
        [numpy_helper.from_array(np.asarray(value), n) for n, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model)


for group in (functions, images, convolutions, movements, reductions, products):
    group()

if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
    elif len(sys.argv) == 3 and sys.argv[2] in CASES:
        onnx.save(build(sys.argv[2]), sys.argv[1])
    else:
        sys.exit(__doc__)
