"""lowering_cases.py DIR: models of one node with inputs and expected outputs, in the layout of ONNX's backend cases:
operators in old opsets, with symbolic sizes, with every mode of padding, and those of com.microsoft. Expected values come
from ONNX Runtime without optimisations, from the reference evaluator of onnx where that runtime has no kernel, or from a
formula. Floats are eighths, so that no result hangs on how a sum is rounded."""
import itertools, os, sys, warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
ort.set_default_logger_severity(4)
rng = np.random.default_rng(1)
OUT = ""
N_CASES = 0
MS = "com.microsoft"
PADS = ("SAME_UPPER", "SAME_LOWER", "VALID")
IMAGE = {0: ["N", "C", "H", "W"]}


def f(*shape, dt=np.float32):
    return (np.round(rng.standard_normal(shape) * 8) / 8).astype(dt)


def u8(*shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


def i8(*shape):
    # Where the processor has no VNNI, ONNX Runtime adds two products of u8 and s8 in 16 bits, which saturate.
    with open("/proc/cpuinfo") as f:
        most = 128 if "vnni" in f.read() else 64
    return rng.integers(-most, most, shape).astype(np.int8)


def scale(*shape):
    return (rng.random(shape) * 0.05 + 0.01).astype(np.float32)


def i32(*x):
    return np.array(x, np.int32)


def expected(model, feeds, prefer):
    why = []
    for how in (prefer, "ref" if prefer == "ort" else "ort"):
        try:
            if how == "ref":
                return [np.asarray(r) for r in ReferenceEvaluator(model).run(None, feeds)]
            options = ort.SessionOptions()
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            return ort.InferenceSession(model.SerializeToString(), options).run(None, feeds)
        except Exception as e:
            why.append(f"{how}: {str(e)[:200]}")
    raise RuntimeError("; ".join(why))


def case(name, op, inputs, n_out=1, opset=13, domain="", syms=None, const=(), outs=None, prefer="ort", want=None, **attrs):
    """inputs: arrays, None where absent; syms: declared shapes by input; const: inputs that are initialisers."""
    global N_CASES
    inputs = [None if a is None else np.asarray(a) for a in inputs]
    names = ["" if a is None else f"i{k}" for k, a in enumerate(inputs)]
    outs = outs or [f"o{k}" for k in range(n_out)]
    given = [(k, a) for k, a in enumerate(inputs) if a is not None]
    ports = [helper.make_tensor_value_info(f"i{k}", helper.np_dtype_to_tensor_dtype(a.dtype), (syms or {}).get(k, a.shape))
             for k, a in given if k not in const]
    init = [numpy_helper.from_array(a, f"i{k}") for k, a in given if k in const]
    feeds = {f"i{k}": a for k, a in given if k not in const}
    real = [o for o in outs if o]
    node = helper.make_node(op, names, outs, domain=domain, **attrs)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])

    def model(results):
        graph = helper.make_graph([node], "g", ports, results, initializer=init)
        return helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 21 else 10)

    if want is None:
        want = expected(model([helper.make_empty_tensor_value_info(o) for o in real]), feeds, prefer)
    results = [helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(r.dtype), None if syms else r.shape)
               for o, r in zip(real, want)]
    data = os.path.join(OUT, f"test_{name}", "test_data_set_0")
    os.makedirs(data)
    onnx.save(model(results), os.path.join(OUT, f"test_{name}", "model.onnx"))
    for kind, tensors in (("input", feeds.items()), ("output", zip(real, want))):
        for k, (n, a) in enumerate(tensors):
            onnx.save_tensor(numpy_helper.from_array(np.asarray(a), n), os.path.join(data, f"{kind}_{k}.pb"))
    N_CASES += 1


def both(name, op, inputs, syms, **more):
    """Fixed sizes, then symbolic ones."""
    case(name, op, inputs, **more)
    case(name + "_sym", op, inputs, syms=syms, **more)


def convolutions():
    sym = {0: ["N", 3, "H", "W"]}
    for opset, pad, stride in itertools.product((7, 11, 13), PADS + ("NOTSET",), ([1, 1], [2, 2], [3, 1])):
        both(f"conv_{opset}_{pad}_{stride[0]}", "Conv", [f(2, 3, 8, 7), f(4, 3, 3, 2), f(4)], sym, opset=opset, auto_pad=pad,
             strides=stride, const=(1, 2))
    case("conv_dilated_same", "Conv", [f(1, 2, 9, 9), f(2, 2, 3, 3)], auto_pad="SAME_UPPER", dilations=[2, 2])
    case("conv_stride_beyond_kernel", "Conv", [f(1, 2, 9, 10), f(2, 2, 1, 1)], auto_pad="SAME_UPPER", strides=[3, 3],
         syms={0: ["N", 2, "H", "W"]})
    case("conv_depthwise_1d", "Conv", [f(1, 6, 11), f(6, 1, 3), f(6)], group=6, pads=[1, 1], kernel_shape=[3])
    case("conv_3d", "Conv", [f(1, 2, 5, 5, 5), f(4, 1, 2, 2, 2), f(4)], group=2, pads=[1, 0, 1, 0, 1, 0], strides=[1, 2, 1],
         dilations=[2, 1, 1])
    case("conv_f64", "Conv", [f(1, 2, 5, 5, dt=np.float64), f(4, 2, 3, 3, dt=np.float64), f(4, dt=np.float64)])
    for pad, stride in itertools.product(PADS + ("NOTSET",), ([1, 1], [2, 2], [3, 2])):
        both(f"conv_transpose_{pad}_{stride[0]}", "ConvTranspose", [f(2, 3, 5, 4), f(3, 2, 3, 3), f(2)], sym, auto_pad=pad,
             strides=stride, const=(1, 2))
    case("conv_transpose_group", "ConvTranspose", [f(1, 4, 5, 5), f(4, 3, 3, 3), f(6)], group=2, strides=[2, 2],
         pads=[1, 1, 1, 1], output_padding=[1, 1])
    case("conv_transpose_depthwise", "ConvTranspose", [f(1, 4, 5, 5), f(4, 1, 3, 3)], group=4, strides=[2, 2],
         pads=[1, 0, 0, 1], dilations=[2, 1])
    for pad in ("NOTSET", "SAME_UPPER", "SAME_LOWER"):
        case(f"conv_transpose_shape_{pad}", "ConvTranspose", [f(1, 1, 3, 3), f(1, 2, 3, 3)], strides=[3, 2],
             output_shape=[8, 6], auto_pad=pad)
    case("conv_transpose_1d", "ConvTranspose", [f(1, 2, 6), f(2, 3, 4), f(3)], strides=[2], pads=[1, 1], opset=7)
    case("conv_transpose_stride_beyond_kernel", "ConvTranspose", [f(1, 2, 4, 4), f(2, 2, 1, 1)], strides=[2, 2],
         auto_pad="SAME_UPPER")
    for act in ("none", "silu"):
        case(f"causal_conv_{act}", "CausalConvWithState", [f(2, 3, 5), f(3, 1, 4), f(3), f(2, 3, 3)], n_out=2, opset=27,
             prefer="ref", activation=act, syms={0: ["B", 3, "L"], 3: ["B", 3, 3]})


def pools():
    kinds = (("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1}), ("LpPool", {"p": 3}))
    for (op, extra), stride in itertools.product(kinds, (1, 2, 3)):
        base = op + "".join(f"_{a}" for a in extra)
        for pad in PADS:
            both(f"{base}_{pad}_{stride}", op, [f(1, 2, 8, 7)], IMAGE, kernel_shape=[3, 2], strides=[stride] * 2, auto_pad=pad,
                 **extra)
        for pads, ceil in itertools.product(([0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 2, 1]), (0, 1)):
            more = dict(kernel_shape=[3, 3], strides=[stride, 2], pads=pads, **extra)
            if op != "LpPool":
                more.update(ceil_mode=ceil, opset=19)
            if op != "LpPool" or not ceil:
                both(f"{base}_pads{pads[2]}{pads[3]}_ceil{ceil}_{stride}", op, [f(1, 2, 8, 7)], IMAGE, **more)
    for opset in (7, 8, 10, 11, 12):
        more = dict(opset=opset, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
        case(f"MaxPool_{opset}", "MaxPool", [f(1, 2, 8, 7)], **more)
        case(f"LpPool_{opset}", "LpPool", [f(1, 2, 8, 7)], **more)
    distinct = [rng.permutation(np.prod(s)).reshape(s).astype(np.float32) for s in ((2, 3, 9), (2, 2, 9, 8), (2, 2, 5, 6, 4))]
    for order, x in itertools.product((0, 1), distinct):
        n = x.ndim - 2
        case(f"MaxPool_indices_{n}d_{order}", "MaxPool", [x], n_out=2, opset=12, kernel_shape=[3, 2, 2][:n],
             strides=[2, 1, 1][:n], pads=[1] * n + [0] * n, storage_order=order,
             syms={0: ["N", "C", "H", "W", "D"][:x.ndim]})
    case("MaxPool_u8", "MaxPool", [u8(1, 2, 6, 6)], kernel_shape=[2, 2], strides=[2, 2])
    case("MaxPool_i8", "MaxPool", [-abs(i8(1, 2, 6, 6) // 2) - 1], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        both(op, op, [f(2, 3, 4, 5)], IMAGE, opset=7)
    rois = np.array([[0, 1, 1, 6, 7], [1, 2, 0, 3, 3], [0, 5, 5, 7, 7], [1, 0, 0, 8, 8]], np.float32)
    case("MaxRoiPool", "MaxRoiPool", [f(2, 3, 9, 10), rois], pooled_shape=[3, 2])
    case("MaxRoiPool_scaled", "MaxRoiPool", [f(2, 3, 9, 10), rois], pooled_shape=[6, 7], spatial_scale=0.37)
    for size in (1, 3, 5):
        both(f"LRN_{size}", "LRN", [f(2, 6, 3, 3)], IMAGE, size=size, alpha=0.3, beta=0.6, bias=1.5)


def rows():
    for op, opset, axis in itertools.product(("Softmax", "LogSoftmax", "Hardmax"), (7, 11, 13), (None, 0, 1, 2, -1)):
        if axis != -1 or opset >= 11:
            both(f"{op}_{opset}_{axis}", op, [f(3, 4, 5)], {0: ["a", "b", "c"]}, opset=opset,
                 **({} if axis is None else {"axis": axis}))


def norms():
    def batch():
        return [f(2, 3, 4, 5), f(3), f(3), f(3), abs(f(3))]
    for opset in (7, 9, 13, 14, 15):
        both(f"BatchNormalization_{opset}", "BatchNormalization", batch(), IMAGE, opset=opset, epsilon=1e-3)
    case("BatchNormalization_per_element", "BatchNormalization", [f(2, 3, 4), f(3, 4), f(3, 4), f(3, 4), abs(f(3, 4))], opset=7,
         spatial=0)
    for opset in (7, 22):
        both(f"InstanceNormalization_{opset}", "InstanceNormalization", [f(2, 3, 4, 5), f(3), f(3)], IMAGE, opset=opset)
    sym = {0: ["N", 6, "H", "W"]}
    both("GroupNormalization_18", "GroupNormalization", [f(2, 6, 4, 5), f(2), f(2)], sym, opset=18, num_groups=2)
    both("GroupNormalization_21", "GroupNormalization", [f(2, 6, 4, 5), f(6), f(6)], sym, opset=21, num_groups=3)
    for axis in (-1, 0, 1, 2, -2):
        own = (3, 4, 5)[axis:] if axis else (3, 4, 5)
        case(f"LayerNormalization_{axis}", "LayerNormalization", [f(3, 4, 5), f(*own), f(*own)], n_out=3, opset=17, axis=axis)
        case(f"RMSNormalization_{axis}", "RMSNormalization", [f(3, 4, 5), f(*own)], opset=23, axis=axis)
    for p, axis in itertools.product((1, 2), (-1, 0, 1)):
        case(f"LpNormalization_{p}_{axis}", "LpNormalization", [f(3, 4, 5)], p=p, axis=axis)
    for opset in (9, 13):
        case(f"MeanVarianceNormalization_{opset}", "MeanVarianceNormalization", [f(2, 3, 4, 5)], opset=opset)


def quantised():
    for opset in (10, 13, 19, 21, 23, 25):
        more = dict(opset=opset, prefer="ref" if opset > 23 else "ort")
        case(f"QuantizeLinear_{opset}", "QuantizeLinear", [f(3, 4), np.float32(0.021), np.uint8(100)], **more)
        case(f"QuantizeLinear_{opset}_plain", "QuantizeLinear", [abs(f(3, 4)), np.float32(0.021)], **more)
        case(f"DequantizeLinear_{opset}", "DequantizeLinear", [u8(3, 4), np.float32(0.02), np.uint8(100)], **more)
        for axis in (0, 1, -1) if opset >= 13 else ():
            n = (3, 4, 5)[axis]
            case(f"QuantizeLinear_{opset}_{axis}", "QuantizeLinear", [f(3, 4, 5), scale(n), i8(n)], axis=axis, **more)
            case(f"DequantizeLinear_{opset}_{axis}", "DequantizeLinear", [i8(3, 4, 5), scale(n), i8(n)], axis=axis,
                 syms={0: ["a", "b", "c"]}, **more)
    for block, n in ((2, 3), (3, 2), (4, 2)):
        case(f"DequantizeLinear_block{block}", "DequantizeLinear", [i8(2, 6, 3), scale(2, n, 3), i8(2, n, 3)], opset=21, axis=1,
             block_size=block)
        case(f"QuantizeLinear_block{block}", "QuantizeLinear", [f(2, 6, 3), scale(2, n, 3), i8(2, n, 3)], opset=21, axis=1,
             block_size=block)
    for dtype in (TensorProto.UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16):
        case(f"QuantizeLinear_to_{dtype}", "QuantizeLinear", [f(3, 4) * 50, np.float32(0.11)], opset=21, output_dtype=dtype)
    for k, x in enumerate((f(3, 4), abs(f(7)) + 1, -abs(f(3, 7)) - 1, np.zeros(3, np.float32))):
        case(f"DynamicQuantizeLinear_{k}", "DynamicQuantizeLinear", [x], n_out=3, opset=11)
    case("MatMulInteger", "MatMulInteger", [u8(3, 4), u8(4, 5), np.uint8(7), np.uint8(9)], opset=10)
    case("MatMulInteger_column", "MatMulInteger", [u8(2, 3, 4), i8(4, 5), np.uint8(7), i8(5)], opset=10)
    case("MatMulInteger_sym", "MatMulInteger", [u8(2, 3, 4), u8(2, 4, 5), np.uint8(3)], opset=10, syms={0: ["B", "S", 4]})
    out = [np.float32(.05), np.uint8(100)]
    for opset in (10, 21):
        case(f"QLinearMatMul_{opset}", "QLinearMatMul", [u8(3, 4), np.float32(.02), np.uint8(7), u8(4, 5), np.float32(.03),
                                                       np.uint8(9)] + out, opset=opset)
    case("QLinearMatMul_column", "QLinearMatMul", [u8(2, 3, 4), np.float32(.02), np.uint8(7), i8(4, 5), scale(5), i8(5) * 0] + out,
         opset=10)
    case("ConvInteger", "ConvInteger", [u8(1, 2, 5, 5), u8(3, 2, 3, 3), np.uint8(5), np.uint8(6)], opset=10, pads=[1, 1, 1, 1])
    case("QLinearConv", "QLinearConv", [u8(1, 2, 5, 5), np.float32(.02), np.uint8(7), i8(3, 2, 3, 3), scale(3), i8(3) * 0] + out +
         [rng.integers(-500, 500, 3).astype(np.int32)], opset=10, pads=[1, 1, 1, 1])
    case("QLinearConv_sym", "QLinearConv", [i8(1, 4, 5, 5), np.float32(.02), np.int8(7), i8(4, 1, 3, 3), np.float32(.01),
                                            np.int8(0), np.float32(.05), np.int8(-3)], opset=10, group=4, auto_pad="SAME_LOWER",
         strides=[2, 2], syms={0: ["N", 4, "H", "W"]})


def losses():
    for how, weighted, ignored, opset in itertools.product(("none", "sum", "mean"), (0, 1), (None, -1, 2), (12, 13)):
        labels = rng.integers(0, 5, (4, 2))
        if ignored == -1:
            labels[0, 0] = -1
        inputs = [f(4, 5, 2), labels] + ([abs(f(5)) + .125] if weighted else [])
        more = dict(opset=opset, reduction=how, **({} if ignored is None else {"ignore_index": ignored}))
        name = f"{how}_{weighted}_{ignored}_{opset}"
        case("SoftmaxCrossEntropyLoss_" + name, "SoftmaxCrossEntropyLoss", inputs, n_out=2, **more)
        case("NegativeLogLikelihoodLoss_" + name, "NegativeLogLikelihoodLoss", inputs, **more)


def recurrent():
    h, size = 4, 3
    for (op, gates, outs), way in itertools.product((("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)),
                                                    ("forward", "reverse", "bidirectional")):
        d = 2 if way == "bidirectional" else 1
        for ragged, steps in itertools.product((0, 1), (1, 3, 12)):
            inputs = [f(steps, 2, size), f(d, gates * h, size) / 2, f(d, gates * h, h) / 2, f(d, 2 * gates * h) / 4,
                      i32(steps, max(1, steps - 2)) if ragged else None, f(d, 2, h) / 2]
            if op == "LSTM":
                inputs += [f(d, 2, h) / 2, f(d, 3 * h) / 2]
            both(f"{op}_{way}_{ragged}_{steps}", op, inputs, {0: ["S", "B", size]}, n_out=outs, opset=14, hidden_size=h,
                 direction=way, const=(1, 2, 3))
    for op, gates, outs in (("RNN", 1, ["Tanh"]), ("GRU", 3, ["Sigmoid", "Tanh"]), ("LSTM", 4, ["Sigmoid", "Tanh", "Tanh"])):
        inputs = [f(3, 2, size), f(1, gates * h, size) / 2, f(1, gates * h, h) / 2]
        case(f"{op}_7", op, inputs, n_out=2, opset=7, hidden_size=h)
        case(f"{op}_clip", op, [inputs[0] * 4] + inputs[1:], n_out=2, opset=14, hidden_size=h, clip=0.4)
        for act, alpha, beta in (("Relu", 0, 0), ("Affine", .7, .1), ("LeakyRelu", .1, 0), ("ThresholdedRelu", .2, 0),
                                 ("ScaledTanh", .8, .6), ("HardSigmoid", .3, .4), ("Elu", .9, 0), ("Softsign", 0, 0),
                                 ("Softplus", 0, 0)):
            more = {k: [v] for k, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v}
            case(f"{op}_{act}", op, inputs, n_out=2, opset=14, hidden_size=h, activations=outs[:-1] + [act], **more)
    gru = [f(12, 2, size), f(2, 3 * h, size), f(2, 3 * h, h), f(2, 6 * h), i32(12, 5)]
    case("GRU_linear_before_reset", "GRU", gru, n_out=2, opset=14, hidden_size=h, linear_before_reset=1,
         direction="bidirectional")
    for op, gates, outs in (("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2)):
        for lens in ((7, 3), (0, 0), (0, 1), (11, 12)):  # steps that no sample has are left out
            inputs = [f(12, 2, size), f(2, gates * h, size) / 2, f(2, gates * h, h) / 2, None, i32(*lens)]
            both(f"{op}_longest_{lens[0]}_{lens[1]}", op, inputs, {0: ["S", "B", size]}, n_out=outs, opset=14,
                 hidden_size=h, direction="bidirectional", const=(1, 2))
    case("LSTM_coupled", "LSTM", [f(3, 2, size), f(1, 4 * h, size), f(1, 4 * h, h)], n_out=3, opset=14, hidden_size=h,
         input_forget=1)


def attention():
    q, k, v = f(2, 4, 3, 8), f(2, 2, 5, 8), f(2, 2, 5, 6)
    sym = {0: ["B", 4, "S", 8], 1: ["B", 2, "T", 8], 2: ["B", 2, "T", 6]}

    def att(name, *inputs, opset=23, **more):
        case("Attention_" + name, "Attention", inputs, opset=opset, prefer="ref", **more)
    for mode in (1, 2, 3):
        att(f"scores{mode}", q, k, v, f(3, 5), None, None, n_out=4, softcap=2.0, qk_matmul_output_mode=mode)
    for name, mask in (("heads", f(2, 4, 3, 5)), ("rank3", f(4, 3, 5)), ("bool", rng.random((2, 1, 3, 5)) > .3)):
        att("mask_" + name, q, k, v, mask)
    att("past_sym", q, k, v, None, f(2, 2, 7, 8), f(2, 2, 7, 6), n_out=3, is_causal=1,
        syms={**sym, 4: ["B", 2, "P", 8], 5: ["B", 2, "P", 6]})
    att("mask_sym", q, k, v, f(2, 1, 3, 5), syms={**sym, 3: ["B", 1, "S", "T"]})
    att("valid_keys", q, k, v, None, None, None, np.array([3, 5]), opset=24)
    att("short_mask", q, k, v, f(3, 4), opset=24)
    att("packed_past", f(2, 3, 32), f(2, 5, 16), f(2, 5, 12), f(3, 9), f(2, 2, 4, 8), f(2, 2, 4, 6), q_num_heads=4, kv_num_heads=2,
        n_out=3, is_causal=1)
    for pairs, part in itertools.product((0, 1), (0, 4)):
        half = (part or 8) // 2
        more = dict(opset=23, prefer="ref", interleaved=pairs, rotary_embedding_dim=part)
        case(f"RotaryEmbedding_{pairs}_{part}", "RotaryEmbedding", [f(2, 4, 3, 8), f(50, half), f(50, half),
                                                                    rng.integers(0, 50, (2, 3))],
             syms={0: ["B", 4, "S", 8], 3: ["B", "S"]}, **more)
        case(f"RotaryEmbedding_packed_{pairs}_{part}", "RotaryEmbedding", [f(2, 3, 32), f(2, 3, half), f(2, 3, half)], num_heads=4,
             syms={0: ["B", "S", 32], 1: ["B", "S", half], 2: ["B", "S", half]}, **more)
    for rule, tokens in itertools.product(("linear", "gated", "delta", "gated_delta"), (1, 3, 12)):
        inputs = [f(2, tokens, 32) / 4, f(2, tokens, 16) / 4, f(2, tokens, 12) / 4, f(2, 2, 8, 6),
                  -abs(f(2, tokens, 16)) if "gated" in rule else None, abs(f(2, tokens, 2)) / 4 if "delta" in rule else None]
        both(f"LinearAttention_{rule}_{tokens}", "LinearAttention", inputs,
             {i: ["B", "T", inputs[i].shape[2]] for i in (0, 1, 2, 4, 5) if inputs[i] is not None}, n_out=2, opset=27,
             prefer="ref", q_num_heads=4, kv_num_heads=2, update_rule=rule)


def ms(name, op, inputs, **more):
    case("ms_" + name, op, inputs, opset=17, domain=MS, **more)


def contrib_float():
    ms("FusedMatMul", "FusedMatMul", [f(2, 3, 4), f(2, 5, 4)], transB=1, alpha=0.5)
    ms("FusedMatMul_batch", "FusedMatMul", [f(4, 2, 3), f(2, 4, 5)], transBatchA=1, transA=1)
    ms("FusedConv", "FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), f(1, 3, 3, 3)], activation="Relu")
    ms("FusedConv_clip", "FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3)], activation="Clip", activation_params=[0.0, 0.5])
    ms("FusedGemm", "FusedGemm", [f(3, 4), f(5, 4), f(5)], activation="LeakyRelu", activation_alpha=0.2, transB=1, alpha=0.5)
    for op in ("Gelu", "QuickGelu"):
        ms(op, op, [f(3, 4)])
    for op in ("BiasGelu", "FastGelu"):
        ms(op, op, [f(3, 4), f(4)])
    ms("SkipLayerNormalization", "SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], outs=["a", "", "", "d"])
    ms("SkipSimplified", "SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8)], outs=["a", "", "", "d"])
    ids, kinds = rng.integers(0, 20, (2, 5)).astype(np.int32), rng.integers(0, 2, (2, 5)).astype(np.int32)
    mask = i32([1, 1, 1, 0, 0], [1, 0, 1, 1, 1])
    ms("Embed", "EmbedLayerNormalization", [ids, kinds, f(20, 8), f(10, 8), f(2, 8), f(8), f(8), mask], n_out=3,
       syms={k: ["B", "S"] for k in (0, 1, 7)})
    ms("Embed_plain", "EmbedLayerNormalization", [ids, None, f(20, 8), f(10, 8), None, f(8), f(8)], n_out=2, epsilon=1e-5)
    qkv = [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8)]
    for name, more in (("plain", []), ("bias", [f(24)]), ("lengths", [None, i32(3, 5)]), ("mask", [None, mask]),
                       ("scores", [None, mask, f(1, 2, 3, 5)])):
        ms("MultiHeadAttention_" + name, "MultiHeadAttention", qkv + more, num_heads=2)
    ms("MultiHeadAttention_past", "MultiHeadAttention", [f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), None, None, None, f(2, 2, 4, 4),
                                                         f(2, 2, 4, 4)], n_out=3, num_heads=2)
    for causal, (name, m) in itertools.product((0, 1), (("plain", None), ("lengths", i32(3, 5)), ("mask", mask))):
        ms(f"Attention_{name}_{causal}", "Attention", [f(2, 5, 6), f(6, 24), f(24), m], num_heads=2, unidirectional=causal)
    ms("Attention_past", "Attention", [f(2, 3, 6), f(6, 24), f(24), None, f(2, 2, 2, 4, 4)], n_out=2, num_heads=2,
       unidirectional=1)
    angle = np.outer(np.arange(32), 1 / 10000 ** (np.arange(8) / 8))
    turn = [np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)]
    for rotary in (0, 1):
        more = dict(n_out=3, num_heads=4, kv_num_heads=2, do_rotary=rotary)
        tail = turn if rotary else []
        ms(f"GroupQuery_first_{rotary}", "GroupQueryAttention", [f(2, 5, 64), f(2, 5, 32), f(2, 5, 32), None, None, i32(4, 4),
                                                                 i32(5)] + tail, **more)
        ms(f"GroupQuery_next_{rotary}", "GroupQueryAttention",
           [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 6, 16), f(2, 2, 6, 16), i32(6, 6), i32(7)] + tail,
           syms={0: ["B", "S", 64], 1: ["B", "S", 32], 2: ["B", "S", 32], 3: ["B", 2, "P", 16], 4: ["B", 2, "P", 16], 5: ["B"]},
           **more)
    ms("GroupQuery_window", "GroupQueryAttention", [f(1, 6, 64), f(1, 6, 32), f(1, 6, 32), None, None, i32(5), i32(6)], num_heads=4,
       kv_num_heads=2, local_window_size=2)
    ms("RotaryEmbedding", "RotaryEmbedding", [f(2, 5, 64), rng.integers(0, 32, (2, 5))] + turn, interleaved=1)
    ms("RotaryEmbedding_from", "RotaryEmbedding", [f(2, 5, 64), np.array([3])] + turn)


def contrib_quantised():
    def arg(*shape):
        return [u8(*shape), np.float32(.0217), np.uint8(120)]
    out = [np.float32(.0431), np.uint8(110)]
    ms("QLinearAdd", "QLinearAdd", arg(2, 3, 4) + arg(3, 4) + out)
    ms("QLinearMul", "QLinearMul", arg(2, 3, 4) + arg(2, 3, 4) + out)
    ms("QLinearSigmoid", "QLinearSigmoid", arg(3, 4) + [np.float32(1 / 256), np.uint8(0)])
    ms("QLinearLeakyRelu", "QLinearLeakyRelu", arg(3, 4) + out, alpha=0.2)
    ms("QLinearGlobalAveragePool", "QLinearGlobalAveragePool", arg(2, 4, 5, 3) + out, channels_last=1)
    ms("QLinearAveragePool", "QLinearAveragePool", arg(1, 3, 6, 6) + out, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    ms("QLinearConcat", "QLinearConcat", out + arg(2, 3) + arg(4, 3), axis=0)
    bias = rng.integers(-99, 99, 5).astype(np.int32)
    ms("QGemm", "QGemm", [u8(3, 4), np.float32(.02), np.uint8(3), i8(5, 4), scale(5), i8(5) * 0, bias] + out, transB=1)
    ms("MatMulIntegerToFloat", "MatMulIntegerToFloat", [u8(3, 4), i8(4, 5), np.float32(.02), scale(5), np.uint8(3), i8(5) * 0, f(5)])
    ms("DynamicQuantizeMatMul", "DynamicQuantizeMatMul", [f(3, 4), i8(4, 5), np.float32(.02), np.int8(0), f(5)])
    for causal in (0, 1):
        ms(f"QAttention_{causal}", "QAttention", [u8(2, 5, 6), i8(6, 24), f(24), np.float32(.01), scale(24),
                                                  i32([1, 1, 1, 0, 0], [1, 1, 0, 1, 1]), np.uint8(128), i8(24) * 0],
           num_heads=2, unidirectional=causal)
    for bits, block in ((4, 32), (8, 32), (4, 16)):
        n = (50 + block - 1) // block
        ms(f"MatMulNBits_{bits}_{block}", "MatMulNBits", [f(2, 3, 50), u8(7, n, block * bits // 8), scale(7 * n)], K=50, N=7,
           bits=bits, block_size=block, const=(1, 2))
    half = lambda n: (rng.integers(1, 64, n) / 1024).astype(np.float32)
    for bits, block, scales in ((4, 32, scale), (4, 64, half), (8, 32, half), (8, 128, scale)):
        n = 256 // block
        ms(f"MatMulNBits_packed_{bits}_{block}", "MatMulNBits", [f(2, 3, 256), u8(37, n, block * bits // 8), scales(37 * n)],
           K=256, N=37, bits=bits, block_size=block, const=(1, 2))
    rows = i32([3, 0], [36, 5])
    ms("GatherBlockQuantized_u8", "GatherBlockQuantized", [u8(37, 32), rows, scale(37 * 2).reshape(37, 2), u8(37, 1)], block_size=32, bits=4,
       gather_axis=0, quantize_axis=1, const=(0, 2, 3))
    ms("GatherBlockQuantized_middle", "GatherBlockQuantized", [u8(37, 32), rows, scale(37 * 4).reshape(37, 4)], block_size=16, bits=4,
       gather_axis=0, quantize_axis=1, const=(0, 2))
    ms("MatMulNBits_packed_zeros", "MatMulNBits", [f(5, 256), u8(37, 4, 32), scale(148), u8(37, 2)], K=256, N=37, bits=4,
       block_size=64, const=(1, 2, 3))


def main():
    global OUT
    OUT = sys.argv[1]
    for family in (convolutions, pools, rows, norms, quantised, losses, recurrent, attention, contrib_float, contrib_quantised):
        family()
    print(N_CASES)


if __name__ == "__main__":
    main()
