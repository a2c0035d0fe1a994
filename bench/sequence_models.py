"""sequence_models.py — transformers and recurrent networks as ONNX files, as exporters write them; random weights.

usage: sequence_models.py NAME FILE.onnx      its symbolic sizes, where it has some, go to FILE.size
       sequence_models.py --list

Widths are those of published architectures, a few layers deep. Up to opset 16 norms, GELU and attention are spelt out, as
torch.onnx does with its Shape, Gather, Unsqueeze, Concat and Reshape; opset 23 has operators for them.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


class Net:
    """A graph under construction; values are names."""

    def __init__(self, opset=14, prefix=""):
        self.rng, self.opset, self.prefix = np.random.default_rng(7), opset, prefix
        self.nodes, self.constants, self.inputs = [], [], []

    def input(self, name, *dims, kind=F32):
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def op(self, kind, *inputs, n=1, **attributes):
        outs = [f"{self.prefix}v{len(self.nodes)}_{i}" for i in range(n)]
        self.nodes.append(helper.make_node(kind, list(inputs), outs, **attributes))
        return outs[0] if n == 1 else outs

    def constant(self, array):
        name = f"{self.prefix}c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def f(self, value):
        return self.constant(np.float32(value))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def weights(self, *dims, fan=1):
        return self.constant((self.rng.standard_normal(dims) / fan**0.5).astype(np.float32))

    # What exporters write for one line of Python.

    def size(self, x, axis):
        return self.op("Gather", self.op("Shape", x), self.constant(np.int64(axis)), axis=0)

    def vector(self, *dims):
        """A shape: numbers, and values of no dimensions."""
        if all(isinstance(d, int) for d in dims):
            return self.ints(*dims)
        parts = [self.ints(d) if isinstance(d, int) else self.unsqueeze(d, 0) for d in dims]
        return self.op("Concat", *parts, axis=0)

    def reshape(self, x, *dims):
        return self.op("Reshape", x, self.vector(*dims))

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", x, self.ints(*axes))

    def turn(self, x, *perm):
        return self.op("Transpose", x, perm=perm)

    def slice(self, x, axis, begin, end, step=1):
        return self.op("Slice", x, self.ints(begin), self.ints(end), self.ints(axis), self.ints(step))

    def linear(self, x, width, out, bias=True):
        y = self.op("MatMul", x, self.weights(width, out, fan=width))
        return self.op("Add", self.weights(out, fan=100), y) if bias else y

    def mean(self, x, axis=-1):
        return self.op("ReduceMean", x, axes=[axis]) if self.opset < 18 else self.op("ReduceMean", x, self.ints(axis))

    def norm(self, x, width, eps=1e-5):
        scale, shift = self.weights(width), self.weights(width, fan=100)
        if self.opset >= 17:
            return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=eps)
        d = self.op("Sub", x, self.mean(x))
        v = self.op("Add", self.mean(self.op("Pow", d, self.f(2))), self.f(eps))
        return self.op("Add", self.op("Mul", self.op("Div", d, self.op("Sqrt", v)), scale), shift)

    def rms(self, x, width, eps=1e-6):
        if self.opset >= 23:
            return self.op("RMSNormalization", x, self.weights(width), axis=-1, epsilon=eps)
        v = self.op("Add", self.mean(self.op("Pow", x, self.f(2))), self.f(eps))
        y = self.op("Mul", x, self.op("Div", self.f(1), self.op("Sqrt", v)))
        return self.op("Mul", self.weights(width), y)

    def gelu(self, x):
        if self.opset >= 20:
            return self.op("Gelu", x)
        e = self.op("Erf", self.op("Div", x, self.f(2**0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", e, self.f(1))), self.f(0.5))

    def gelu_tanh(self, x):
        y = self.op("Mul", self.op("Pow", x, self.f(3)), self.f(0.044715))
        y = self.op("Tanh", self.op("Mul", self.op("Add", x, y), self.f((2 / np.pi) ** 0.5)))
        return self.op("Mul", self.op("Mul", self.f(0.5), x), self.op("Add", y, self.f(1)))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def conv(self, x, channels, out, *kernel, stride=1, pad=0, groups=1):
        d = len(kernel)
        w = self.weights(out, channels // groups, *kernel, fan=channels // groups * np.prod(kernel))
        return self.op("Conv", x, w, self.weights(out, fan=100), kernel_shape=kernel, strides=[stride] * d,
                       pads=[pad] * 2 * d, group=groups)

    def model(self, *outputs):
        infos = [helper.make_empty_tensor_value_info(y) for y in outputs]
        graph = helper.make_graph(self.nodes, "net", self.inputs, infos, self.constants)
        ids = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=ids, ir_version=8 if self.opset < 20 else 11)
        typed = onnx.shape_inference.infer_shapes(model)
        del graph.output[:]
        for info in typed.graph.output:
            kind = info.type.tensor_type.elem_type or F32
            graph.output.append(helper.make_tensor_value_info(info.name, kind, None))
        model.graph.CopyFrom(graph)
        return model


# Parts that several models have.


def heads(net, x, batch, seq, n, width, perm=(0, 2, 1, 3)):
    return net.turn(net.reshape(x, batch, seq, n, width // n), *perm)


def unheads(net, x, batch, seq, width):
    return net.reshape(net.turn(x, 0, 2, 1, 3), batch, seq, width)


def attend(net, q, k_turned, v, mask=None, scale=None):
    """mask: of the scores, a function."""
    s = net.op("MatMul", q, k_turned)
    s = net.op("Div", s, net.f(scale)) if scale else s
    s = mask(s) if mask else s
    return net.op("MatMul", net.op("Softmax", s, axis=-1), v)


def torch_attention(net, x, width, n, mask=None, scale_q=False, memory=None, bias=True):
    """torch's: query, key and value are three linear layers; sizes are looked up in the tensor."""
    memory = memory or x
    batch, seq, others = net.size(x, 0), net.size(x, 1), net.size(memory, 1)
    q, k, v = (net.linear(y, width, width, bias) for y in (x, memory, memory))
    scale = (width // n) ** 0.5
    q = net.op("Div", q, net.f(scale)) if scale_q else q
    q = heads(net, q, batch, seq, n, width)
    k = heads(net, k, batch, others, n, width, (0, 2, 3, 1))
    v = heads(net, v, batch, others, n, width)
    y = attend(net, q, k, v, mask, None if scale_q else scale)
    return net.linear(unheads(net, y, batch, seq, width), width, width, bias)


def post_norm_layer(net, x, width, attention, act=None):
    """BERT's: norms behind the sums."""
    x = net.norm(net.op("Add", attention, x), width, 1e-12)
    y = net.linear((act or net.gelu)(net.linear(x, width, 4 * width)), 4 * width, width)
    return net.norm(net.op("Add", y, x), width, 1e-12)


def additive_mask(net, mask):
    """(1 - mask) * lowest, [batch, 1, 1, seq]"""
    m = net.op("Cast", net.unsqueeze(net.unsqueeze(mask, 1), 2), to=F32)
    m = net.op("Mul", net.op("Sub", net.f(1), m), net.f(-3.4028235e38))
    return lambda s: net.op("Add", s, m)


def token_inputs(net):
    return net.input("input_ids", "batch", "seq", kind=I64), net.input("attention_mask", "batch", "seq", kind=I64)


def embed(net, ids, words, width):
    return net.op("Gather", net.weights(words, width), ids)


# Text: encoders.


def vit_b():
    """timm's, 224 x 224: one linear layer for query, key and value."""
    net, width, n = Net(), 768, 12
    x = net.input("pixels", "batch", 3, 224, 224)
    y = net.conv(x, 3, width, 16, 16, stride=16)
    y = net.turn(net.reshape(y, net.size(y, 0), width, 196), 0, 2, 1)
    token = net.op("Expand", net.weights(1, 1, width), net.vector(net.size(y, 0), 1, width))
    y = net.op("Add", net.op("Concat", token, y, axis=1), net.weights(1, 197, width))
    for _ in range(4):
        z = net.norm(y, width, 1e-6)
        qkv = net.reshape(net.linear(z, width, 3 * width), net.size(z, 0), net.size(z, 1), 3, n, width // n)
        qkv = net.turn(qkv, 2, 0, 3, 1, 4)
        q, k, v = (net.op("Gather", qkv, net.constant(np.int64(i)), axis=0) for i in range(3))
        s = net.op("MatMul", q, net.turn(k, 0, 1, 3, 2))
        s = net.op("Softmax", net.op("Mul", s, net.f((width // n) ** -0.5)), axis=-1)
        z = net.reshape(net.turn(net.op("MatMul", s, v), 0, 2, 1, 3), net.size(z, 0), net.size(z, 1), width)
        y = net.op("Add", y, net.linear(z, width, width))
        z = net.linear(net.gelu(net.linear(net.norm(y, width, 1e-6), width, 4 * width)), 4 * width, width)
        y = net.op("Add", y, z)
    first = net.op("Gather", net.norm(y, width, 1e-6), net.constant(np.int64(0)), axis=1)
    return net.model(net.op("Gemm", first, net.weights(1000, width, fan=width), net.weights(1000), transB=1))


def distilbert():
    """The mask is a Where over what Equal and Expand give."""
    net, width = Net(), 768
    ids, mask = token_inputs(net)
    seq = net.size(ids, 1)
    places = net.op("Slice", net.weights(1, 512, width), net.ints(0), net.unsqueeze(seq, 0), net.ints(1))
    x = net.norm(net.op("Add", embed(net, ids, 5000, width), places), width, 1e-12)

    def masked(s):
        m = net.reshape(net.op("Equal", mask, net.constant(np.int64(0))), net.size(mask, 0), 1, 1, net.size(mask, 1))
        m = net.op("Expand", m, net.op("Shape", s))
        return net.op("Where", m, net.f(-3.4028235e38), s)

    for _ in range(3):
        x = post_norm_layer(net, x, width, torch_attention(net, x, width, 12, masked, scale_q=True))
    return net.model(x)


def roberta():
    """Places come from a prefix sum of what is no padding."""
    net, width = Net(), 768
    ids, mask = token_inputs(net)
    used = net.op("Cast", net.op("Not", net.op("Equal", ids, net.constant(np.int64(1)))), to=TensorProto.INT32)
    places = net.op("Mul", net.op("CumSum", used, net.constant(np.int64(1))), used)
    places = net.op("Add", net.op("Cast", places, to=I64), net.constant(np.int64(1)))
    x = net.op("Add", embed(net, ids, 5000, width), embed(net, places, 514, width))
    x, masked = net.norm(x, width), additive_mask(net, mask)
    for _ in range(3):
        x = post_norm_layer(net, x, width, torch_attention(net, x, width, 12, masked))
    first = net.op("Gather", x, net.constant(np.int64(0)), axis=1)
    first = net.op("Tanh", net.op("Gemm", first, net.weights(width, width, fan=width), net.weights(width), transB=1))
    return net.model(net.op("Gemm", first, net.weights(2, width, fan=width), net.weights(2), transB=1))


def albert():
    """One layer used three times; narrow embeddings; GELU by tanh."""
    net, width = Net(), 768
    ids, mask = token_inputs(net)
    x = net.linear(net.norm(embed(net, ids, 5000, 128), 128, 1e-12), 128, width)
    masked = additive_mask(net, mask)
    weights = {}

    def linear(y, a, b, name):
        w, c = weights.setdefault(name, (net.weights(a, b, fan=a), net.weights(b, fan=100)))
        return net.op("Add", net.op("MatMul", y, w), c)

    for _ in range(3):
        batch, seq = net.size(x, 0), net.size(x, 1)
        q, k, v = (linear(x, width, width, name) for name in "qkv")
        q, v = (heads(net, y, batch, seq, 12, width) for y in (q, v))
        y = attend(net, q, heads(net, k, batch, seq, 12, width, (0, 2, 3, 1)), v, masked, 8)
        x = net.norm(net.op("Add", x, linear(unheads(net, y, batch, seq, width), width, width, "o")), width)
        y = linear(net.gelu_tanh(linear(x, width, 4 * width, "up")), 4 * width, width, "down")
        x = net.norm(net.op("Add", y, x), width)
    return net.model(x)


def deberta():
    """Scores of content and of places, gathered by distance."""
    net, width, n, seq = Net(), 768, 12, 128
    x = net.norm(embed(net, net.input("input_ids", 1, seq, kind=I64), 5000, width), width)
    mask = net.op("Cast", net.input("attention_mask", 1, seq, kind=I64), to=TensorProto.BOOL)
    hide = net.op("Not", net.unsqueeze(mask, 1, 2))
    rel = net.norm(net.weights(256, width), width)
    distance = np.arange(seq)[:, None] - np.arange(seq)[None] + 128
    index = net.constant(np.broadcast_to(np.clip(distance, 0, 255), (1, n, seq, seq)).astype(np.int64))

    def split(y, perm=(0, 2, 1, 3)):
        return heads(net, y, net.size(y, 0), net.size(y, 1), n, width, perm)

    for _ in range(2):
        q, k, v = (net.linear(x, width, width) for _ in range(3))
        places_k = split(net.unsqueeze(net.linear(rel, width, width), 0), (0, 2, 3, 1))
        places_q = split(net.unsqueeze(net.linear(rel, width, width), 0), (0, 2, 3, 1))
        s = net.op("Div", net.op("MatMul", split(q), split(k, (0, 2, 3, 1))), net.f(192**0.5))
        c = net.op("GatherElements", net.op("MatMul", split(q), places_k), index, axis=-1)
        s = net.op("Add", s, net.op("Div", c, net.f(192**0.5)))
        c = net.op("GatherElements", net.op("MatMul", split(k), places_q), index, axis=-1)
        s = net.op("Add", s, net.op("Div", net.turn(c, 0, 1, 3, 2), net.f(192**0.5)))
        p = net.op("Softmax", net.op("Where", hide, net.f(-3.4028235e38), s), axis=-1)
        y = unheads(net, net.op("MatMul", p, split(v)), 1, seq, width)
        x = post_norm_layer(net, x, width, net.linear(y, width, width))
    return net.model(x)


def t5_bias(net, seq_q, seq_k, n, both_ways):
    """The bucket of every distance, then its bias for every head."""
    def span(size):
        return net.op("Range", net.constant(np.int64(0)), size, net.constant(np.int64(1)))

    d = net.op("Sub", net.unsqueeze(span(seq_k), 0), net.unsqueeze(span(seq_q), 1))
    buckets, base = (16, net.op("Mul", net.op("Cast", net.op("Greater", d, net.constant(np.int64(0))), to=I64),
                                net.constant(np.int64(16)))) if both_ways else (32, None)
    far = net.op("Abs", d) if both_ways else net.op("Neg", net.op("Min", d, net.constant(np.int64(0))))
    exact = buckets // 2
    f = net.op("Log", net.op("Div", net.op("Cast", far, to=F32), net.f(exact)))
    f = net.op("Mul", net.op("Div", f, net.f(np.log(128 / exact))), net.f(buckets - exact))
    large = net.op("Add", net.op("Cast", f, to=I64), net.constant(np.int64(exact)))
    large = net.op("Min", large, net.constant(np.int64(buckets - 1)))
    b = net.op("Where", net.op("Less", far, net.constant(np.int64(exact))), far, large)
    b = net.op("Add", base, b) if both_ways else b
    return net.unsqueeze(net.turn(net.op("Gather", net.weights(32, n), b), 2, 0, 1), 0)


def t5_layer(net, x, width, n, masks, memory=None):
    def attention(z, mask, other=None):
        return torch_attention(net, z, width, n, mask, memory=other, bias=False)

    x = net.op("Add", x, attention(net.rms(x, width), masks[0]))
    if memory:
        x = net.op("Add", x, attention(net.rms(x, width), masks[1], memory))
    y = net.op("Relu", net.linear(net.rms(x, width), width, 4 * width, False))
    return net.op("Add", x, net.linear(y, 4 * width, width, False))


def t5_encoder():
    net, width, n = Net(), 512, 8
    ids, mask = token_inputs(net)
    x = embed(net, ids, 5000, width)
    bias = t5_bias(net, net.size(x, 1), net.size(x, 1), n, True)
    bias = additive_mask(net, mask)(bias)
    for _ in range(3):
        x = t5_layer(net, x, width, n, [lambda s: net.op("Add", s, bias)])
    return net.model(net.rms(x, width))


def t5_decoder():
    """Without past keys: causal over its own tokens, then across the encoder's."""
    net, width, n = Net(), 512, 8
    ids, mask = token_inputs(net)
    memory = net.input("memory", "batch", "source", width)
    x, seq = embed(net, ids, 5000, width), net.size(ids, 1)
    span = net.op("Range", net.constant(np.int64(0)), seq, net.constant(np.int64(1)))
    causal = net.op("LessOrEqual", net.unsqueeze(span, 0), net.unsqueeze(span, 1))
    causal = net.op("Mul", net.op("Sub", net.f(1), net.op("Cast", causal, to=F32)), net.f(-3.4028235e38))
    bias = net.op("Add", t5_bias(net, seq, seq, n, False), net.unsqueeze(causal, 0, 1))
    bias = net.op("Max", additive_mask(net, mask)(bias), net.f(-3.4028235e38))
    for _ in range(2):
        x = t5_layer(net, x, width, n, [lambda s: net.op("Add", s, bias), None], memory)
    return net.model(net.linear(net.rms(x, width), width, 5000, False))


def bert_tf():
    """tf2onnx's: Einsum over weights of three dimensions, no Shape of what is fixed."""
    net, width, n, seq = Net(13), 512, 8, 128
    ids = net.input("input_word_ids", 1, seq, kind=I64)
    m = net.op("Cast", net.reshape(net.input("input_mask", 1, seq, kind=I64), 1, 1, seq), to=F32)
    m = net.op("Mul", net.op("Sub", net.f(1), m), net.f(-1e9))
    x = net.norm(net.op("Add", embed(net, ids, 5000, width), net.weights(1, seq, width)), width)

    def project(y):
        y = net.op("Einsum", y, net.weights(width, n, 64, fan=width), equation="abc,cde->abde")
        return net.op("Add", y, net.weights(n, 64))

    for _ in range(3):
        q, k, v = (project(x) for _ in range(3))
        s = net.op("Einsum", k, net.op("Mul", q, net.f(0.125)), equation="aecd,abcd->acbe")
        p = net.op("Softmax", net.op("Add", s, m), axis=-1)
        y = net.op("Einsum", p, v, equation="acbe,aecd->abcd")
        y = net.op("Einsum", y, net.weights(n, 64, width, fan=width), equation="abcd,cde->abe")
        x = post_norm_layer(net, x, width, net.op("Add", y, net.weights(width)), net.gelu_tanh)
    return net.model(x)


def clip_text():
    """77 tokens, causal; the token with the largest id is the sentence's."""
    net, width, n, seq = Net(), 512, 8, 77
    ids = net.input("input_ids", "batch", seq, kind=I64)
    x = net.op("Add", embed(net, ids, 5000, width), net.weights(1, seq, width))
    hidden = np.triu(np.full((1, 1, seq, seq), -3.4028235e38, np.float32), 1)
    mask = net.constant(hidden)
    for _ in range(4):
        y = torch_attention(net, net.norm(x, width), width, n, lambda s: net.op("Add", s, mask), True)
        x = net.op("Add", x, y)
        y = net.linear(net.norm(x, width), width, 4 * width)
        y = net.op("Mul", y, net.op("Sigmoid", net.op("Mul", y, net.f(1.702))))
        x = net.op("Add", x, net.linear(y, 4 * width, width))
    x = net.norm(x, width)
    last = net.unsqueeze(net.op("ArgMax", ids, axis=-1, keepdims=0), 1)
    return net.model(net.linear(net.op("GatherND", x, last, batch_dims=1), width, width, False))


# Text: decoders.


def rotary_tables(net, places, half):
    """cos and sin of places times frequencies, each twice: [batch, 1, seq, 2 half]"""
    freq = net.constant((10000.0 ** (-np.arange(half) / half)).astype(np.float32).reshape(1, half, 1))
    p = net.op("Cast", net.unsqueeze(places, 1), to=F32)
    angle = net.turn(net.op("MatMul", freq, p), 0, 2, 1)
    angle = net.op("Concat", angle, angle, axis=-1)
    return [net.unsqueeze(net.op(kind, angle), 1) for kind in ("Cos", "Sin")]


def rotary(net, x, tables, half):
    turned = net.op("Concat", net.op("Neg", net.slice(x, 3, half, 2 * half)), net.slice(x, 3, 0, half), axis=-1)
    return net.op("Add", net.op("Mul", x, tables[0]), net.op("Mul", turned, tables[1]))


def repeat_heads(net, x, n, times, size):
    """Every head several times: Unsqueeze, Expand, Reshape."""
    batch, seq = net.size(x, 0), net.size(x, 2)
    y = net.op("Expand", net.unsqueeze(x, 2), net.vector(batch, n, times, seq, size))
    return net.reshape(y, batch, n * times, seq, size)


def llama_mask(net, mask, seq, total):
    """-inf where a key comes later or is padding."""
    def span(size):
        return net.op("Range", net.constant(np.int64(0)), size, net.constant(np.int64(1)))

    rows = net.op("Add", span(seq), net.op("Sub", total, seq))
    later = net.op("Greater", net.unsqueeze(span(total), 0), net.unsqueeze(rows, 1))
    padding = net.op("Equal", net.unsqueeze(net.unsqueeze(mask, 1), 2), net.constant(np.int64(0)))
    hide = net.op("Or", net.unsqueeze(later, 0, 1), padding)
    return lambda s: net.op("Add", s, net.op("Where", hide, net.f(-3.4028235e38), net.f(0)))


def llama(past):
    """Hugging Face's: 16 heads over 4 of keys and values, 64 wide; with past, keys and values of earlier tokens come in."""
    net, width, n, kv, size, inner = Net(17), 1024, 16, 4, 64, 2816
    ids = net.input("input_ids", "batch", "seq", kind=I64)
    mask = net.input("attention_mask", "batch", "total", kind=I64)
    places = net.input("position_ids", "batch", "seq", kind=I64)
    x, present = embed(net, ids, 4000, width), []
    tables = rotary_tables(net, places, size // 2)
    masked = llama_mask(net, mask, net.size(ids, 1), net.size(mask, 1))
    for layer in range(3):
        batch, seq, y = net.size(x, 0), net.size(x, 1), net.rms(x, width)
        q = heads(net, net.linear(y, width, width, False), batch, seq, n, width)
        k, v = (heads(net, net.linear(y, width, kv * size, False), batch, seq, kv, kv * size) for _ in "kv")
        q, k = rotary(net, q, tables, size // 2), rotary(net, k, tables, size // 2)
        if past:
            old = [net.input(f"past_{kind}_{layer}", "batch", kv, "past", size) for kind in ("key", "value")]
            k, v = (net.op("Concat", a, b, axis=2) for a, b in zip(old, (k, v)))
        present += [k, v]
        k, v = (repeat_heads(net, z, kv, n // kv, size) for z in (k, v))
        y = attend(net, q, net.turn(k, 0, 1, 3, 2), v, masked, 8)
        x = net.op("Add", x, net.linear(unheads(net, y, batch, seq, width), width, width, False))
        y = net.rms(x, width)
        y = net.op("Mul", net.silu(net.linear(y, width, inner, False)), net.linear(y, width, inner, False))
        x = net.op("Add", x, net.linear(y, inner, width, False))
    return net.model(net.linear(net.rms(x, width), width, 4000, False), *present)


def llama_prefill():
    return llama(False)


def llama_decode():
    return llama(True)


def gpt_neox_decode():
    """One token at a time, written with the operators of opset 23: past keys and values go through Attention."""
    net, width, n, size = Net(23), 768, 12, 64
    ids = net.input("input_ids", "batch", "seq", kind=I64)
    places = net.input("position_ids", "batch", "seq", kind=I64)
    x, present = embed(net, ids, 4000, width), []
    angle = np.outer(np.arange(2048), 10000.0 ** (-np.arange(size // 2) / (size // 2))).astype(np.float32)
    tables = [net.constant(f(angle)) for f in (np.cos, np.sin)]
    for layer in range(4):
        y = net.norm(x, width)
        q, k, v = (net.linear(y, width, width) for _ in "qkv")
        q, k = (net.op("RotaryEmbedding", z, *tables, places, num_heads=n) for z in (q, k))
        old = [net.input(f"past_{kind}_{layer}", "batch", n, "past", size) for kind in ("key", "value")]
        out = net.op("Attention", q, k, v, "", *old, n=3, q_num_heads=n, kv_num_heads=n, is_causal=1)
        present += out[1:]
        y = net.linear(net.gelu(net.linear(y, width, 4 * width)), 4 * width, width)
        x = net.op("Add", net.op("Add", net.linear(out[0], width, width), y), x)
    return net.model(net.linear(net.norm(x, width), width, 4000, False), *present)


def encoder_23():
    """RMS norms, grouped heads and a gate, by the operators of opset 23."""
    net, width, n = Net(23), 768, 12
    x = net.input("x", "batch", "seq", width)
    for _ in range(3):
        y = net.rms(x, width)
        q, k, v = net.linear(y, width, width), net.linear(y, width, 256), net.linear(y, width, 256)
        y = net.op("Attention", q, k, v, q_num_heads=n, kv_num_heads=4)
        x = net.op("Add", x, net.linear(y, width, width))
        y = net.rms(x, width)
        y = net.op("Mul", net.op("Gelu", net.linear(y, width, 2048), approximate="tanh"), net.linear(y, width, 2048))
        x = net.op("Add", x, net.linear(y, 2048, width))
    return net.model(x)


def bloom():
    """Biases that grow with the distance; batch and heads are one dimension of the products."""
    net, width, n, size = Net(), 512, 8, 64
    ids, mask = token_inputs(net)
    x = net.norm(embed(net, ids, 4000, width), width)
    batch, seq = net.size(ids, 0), net.size(ids, 1)
    both = net.op("Mul", batch, net.constant(np.int64(n)))
    one = net.constant(np.int64(1))
    places = net.op("Mul", net.op("Sub", net.op("CumSum", mask, net.constant(np.int64(-1))), one), mask)
    slopes = net.constant((2.0 ** -np.arange(1, 9)).astype(np.float32)[:, None])
    bias = net.op("Mul", slopes, net.op("Cast", net.unsqueeze(places, 1), to=F32))
    bias = net.reshape(bias, both, 1, -1)
    masked = llama_mask(net, mask, seq, seq)
    for _ in range(2):
        y = net.reshape(net.linear(net.norm(x, width), width, 3 * width), batch, seq, n, 3, size)
        q, k, v = (net.op("Gather", y, net.constant(np.int64(i)), axis=3) for i in range(3))
        q, v = (net.reshape(net.turn(z, 0, 2, 1, 3), both, seq, size) for z in (q, v))
        k = net.reshape(net.turn(k, 0, 2, 3, 1), both, size, seq)
        s = net.op("Add", net.op("Mul", net.op("MatMul", q, k), net.f(0.125)), bias)
        p = net.op("Softmax", masked(net.reshape(s, batch, n, seq, seq)), axis=-1)
        y = net.reshape(net.op("MatMul", net.reshape(p, both, seq, seq), v), batch, n, seq, size)
        x = net.op("Add", x, net.linear(unheads(net, y, batch, seq, width), width, width))
        y = net.linear(net.gelu_tanh(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width)
        x = net.op("Add", x, y)
    return net.model(net.norm(x, width))


def soft_cap(net, x, most):
    return net.op("Mul", net.op("Tanh", net.op("Div", x, net.f(most))), net.f(most))


def gemma():
    """Scores and logits with a soft cap, one head of keys and values, places from the mask."""
    net, width, n, size, inner = Net(17), 512, 8, 64, 1536
    ids, mask = token_inputs(net)
    x = net.op("Mul", embed(net, ids, 4000, width), net.f(width**0.5))
    batch, seq, one = net.size(ids, 0), net.size(ids, 1), net.constant(np.int64(1))
    tables = rotary_tables(net, net.op("Sub", net.op("CumSum", mask, one), one), size // 2)
    masked = llama_mask(net, mask, seq, seq)
    for _ in range(2):
        y = net.rms(x, width)
        q = rotary(net, heads(net, net.linear(y, width, width, False), batch, seq, n, width), tables, size // 2)
        k, v = (heads(net, net.linear(y, width, size, False), batch, seq, 1, size) for _ in "kv")
        k, v = (repeat_heads(net, z, 1, n, size) for z in (rotary(net, k, tables, size // 2), v))
        s = net.op("Mul", net.op("MatMul", q, net.turn(k, 0, 1, 3, 2)), net.f(0.125))
        y = net.op("MatMul", net.op("Softmax", masked(soft_cap(net, s, 50)), axis=-1), v)
        y = net.linear(unheads(net, y, batch, seq, width), width, width, False)
        x = net.op("Add", x, net.rms(y, width))
        y = net.rms(x, width)
        y = net.op("Mul", net.gelu_tanh(net.linear(y, width, inner, False)), net.linear(y, width, inner, False))
        x = net.op("Add", x, net.rms(net.linear(y, inner, width, False), width))
    return net.model(soft_cap(net, net.linear(net.rms(x, width), width, 4000, False), 30))


def experts():
    """Four experts, two for each token: those of an expert are found by NonZero, its results added by ScatterND."""
    net, width, n, inner = Net(18), 256, 4, 512
    x = net.input("x", "tokens", width)
    best, which = net.op("TopK", net.op("Softmax", net.linear(x, width, n, False), axis=-1), net.ints(2), n=2, axis=-1)
    best = net.op("Div", best, net.op("ReduceSum", best, net.ints(-1), keepdims=1))
    chosen = net.op("OneHot", which, net.constant(np.int64(n)), net.constant(np.array([0, 1], np.int64)))
    chosen = net.turn(chosen, 2, 1, 0)
    total = net.op("ConstantOfShape", net.op("Shape", x))
    for i in range(n):
        found = net.op("NonZero", net.op("Gather", chosen, net.constant(np.int64(i)), axis=0))
        slot, token = net.op("Split", found, net.ints(1, 1), n=2, axis=0)
        y = net.op("Gather", x, net.op("Squeeze", token, net.ints(0)), axis=0)
        y = net.op("Mul", net.silu(net.linear(y, width, inner, False)), net.linear(y, width, inner, False))
        at = net.turn(net.op("Concat", token, slot, axis=0), 1, 0)
        y = net.op("Mul", net.linear(y, inner, width, False), net.unsqueeze(net.op("GatherND", best, at), 1))
        total = net.op("ScatterND", total, net.turn(token, 1, 0), y, reduction="add")
    return net.model(net.op("Add", x, total))


# Speech, images, sets.


def whisper_encoder():
    net, width = Net(17), 384
    x = net.gelu(net.conv(net.input("mel", "batch", 80, 3000), 80, width, 3, pad=1))
    x = net.turn(net.gelu(net.conv(x, width, width, 3, stride=2, pad=1)), 0, 2, 1)
    x = net.op("Add", x, net.weights(1500, width))
    for _ in range(2):
        x = net.op("Add", x, torch_attention(net, net.norm(x, width), width, 6, scale_q=True))
        y = net.linear(net.gelu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width)
        x = net.op("Add", x, y)
    return net.model(net.norm(x, width))


def roll(net, x, axis, by, size):
    return net.op("Concat", net.slice(x, axis, by, size), net.slice(x, axis, 0, by), axis=axis)


def windows(net, x, side, width):
    n = side // 7
    return net.reshape(net.turn(net.reshape(x, 1, n, 7, n, 7, width), 0, 1, 3, 2, 4, 5), n * n, 49, width)


def shift_mask(side):
    """-100 between tokens of a window that the roll brought together."""
    part = np.digitize(np.arange(side), [side - 7, side - 3])
    label = (part[:, None] * 3 + part[None]).reshape(side // 7, 7, side // 7, 7).transpose(0, 2, 1, 3).reshape(-1, 49)
    return np.where(label[:, None] == label[:, :, None], 0, -100).astype(np.float32)


def swin_attention(net, x, width, n, side, shifted):
    y = net.reshape(net.norm(x, width), 1, side, side, width)
    if shifted:
        y = roll(net, roll(net, y, 1, 3, side), 2, 3, side)
    count = (side // 7) ** 2
    qkv = net.reshape(net.linear(windows(net, y, side, width), width, 3 * width), count, 49, 3, n, width // n)
    qkv = net.turn(qkv, 2, 0, 3, 1, 4)
    q, k, v = (net.op("Gather", qkv, net.constant(np.int64(i)), axis=0) for i in range(3))
    s = net.op("MatMul", net.op("Mul", q, net.f((width // n) ** -0.5)), net.turn(k, 0, 1, 3, 2))
    s = net.op("Add", s, net.weights(1, n, 49, 49))
    if shifted:
        s = net.reshape(s, 1, count, n, 49, 49)
        s = net.op("Add", s, net.constant(shift_mask(side)[None, :, None]))
        s = net.reshape(s, count, n, 49, 49)
    y = net.op("MatMul", net.op("Softmax", s, axis=-1), v)
    y = net.linear(net.reshape(net.turn(y, 0, 2, 1, 3), count, 49, width), width, width)
    y = net.turn(net.reshape(y, 1, side // 7, side // 7, 7, 7, width), 0, 1, 3, 2, 4, 5)
    y = net.reshape(y, 1, side, side, width)
    if shifted:
        y = roll(net, roll(net, y, 1, side - 3, side), 2, side - 3, side)
    return net.op("Add", x, net.reshape(y, 1, side * side, width))


def swin():
    """The first two stages of Swin-T: windows of 7 x 7, every second block shifted, merging of 2 x 2 tokens."""
    net, width, n, side = Net(), 96, 3, 56
    x = net.conv(net.input("pixels", 1, 3, 224, 224), 3, width, 4, 4, stride=4)
    x = net.norm(net.turn(net.reshape(x, 1, width, side * side), 0, 2, 1), width)
    for stage in range(2):
        for block in range(2):
            x = swin_attention(net, x, width, n, side, block == 1)
            y = net.linear(net.gelu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width)
            x = net.op("Add", x, y)
        if stage == 0:
            x = net.reshape(x, 1, side, side, width)
            parts = [net.slice(net.slice(x, 1, i, side, 2), 2, j, side, 2) for j in (0, 1) for i in (0, 1)]
            side, width, n = side // 2, 2 * width, 2 * n
            x = net.reshape(net.op("Concat", *parts, axis=-1), 1, side * side, 2 * width)
            x = net.linear(net.norm(x, 2 * width), 2 * width, width, False)
    return net.model(net.mean(net.norm(x, width), 1))


def mlp_mixer():
    net, width = Net(17), 512
    x = net.conv(net.input("pixels", 1, 3, 224, 224), 3, width, 16, 16, stride=16)
    x = net.turn(net.reshape(x, 1, width, 196), 0, 2, 1)
    for _ in range(4):
        y = net.turn(net.norm(x, width), 0, 2, 1)
        y = net.linear(net.gelu(net.linear(y, 196, 256)), 256, 196)
        x = net.op("Add", x, net.turn(y, 0, 2, 1))
        y = net.linear(net.gelu(net.linear(net.norm(x, width), width, 2048)), 2048, width)
        x = net.op("Add", x, y)
    return net.model(net.linear(net.mean(net.norm(x, width), 1), width, 1000))


def conformer():
    """Two blocks: half feed-forward, attention, convolution with a gate, half feed-forward."""
    net, width = Net(), 256
    x = net.input("features", "batch", "seq", width)

    def half(y):
        z = net.linear(net.silu(net.linear(net.norm(y, width), width, 4 * width)), 4 * width, width)
        return net.op("Add", y, net.op("Mul", z, net.f(0.5)))

    for _ in range(2):
        x = half(x)
        x = net.op("Add", x, torch_attention(net, net.norm(x, width), width, 4, scale_q=True))
        y = net.conv(net.turn(net.norm(x, width), 0, 2, 1), width, 2 * width, 1)
        a, b = net.op("Split", y, net.ints(width, width), n=2, axis=1)
        y = net.conv(net.op("Mul", a, net.op("Sigmoid", b)), width, width, 31, pad=15, groups=width)
        ones = [net.constant(np.ones(width, np.float32)) for _ in range(4)]
        y = net.conv(net.silu(net.op("BatchNormalization", y, *ones)), width, width, 1)
        x = half(net.op("Add", x, net.turn(y, 0, 2, 1)))
        x = net.norm(x, width)
    return net.model(x)


def relative_scores(net, q, places, n):
    """Transformer-XL's shift: a column of zeros in front, rows of one more read as rows of one less."""
    batch, seq, span = net.size(q, 0), net.size(q, 2), net.size(places, 2)
    s = net.op("MatMul", q, net.turn(places, 0, 1, 3, 2))
    s = net.op("Concat", net.op("ConstantOfShape", net.vector(batch, n, seq, 1)), s, axis=-1)
    s = net.reshape(s, batch, n, net.op("Add", span, net.constant(np.int64(1))), seq)
    s = net.reshape(net.slice(s, 2, 1, 2**62), batch, n, seq, span)
    return net.op("Slice", s, net.ints(0), net.unsqueeze(seq, 0), net.ints(3), net.ints(1))


def conformer_relative():
    """Attention of a conformer with relative places, as in NeMo and ESPnet."""
    net, width, n, size, most = Net(), 256, 4, 64, 1000
    x = net.input("features", 1, "seq", width)
    one, middle = net.constant(np.int64(1)), net.constant(np.int64(most))
    seq = net.size(x, 1)
    first, last = net.op("Sub", middle, seq), net.op("Sub", net.op("Add", middle, seq), one)
    places = net.weights(1, 2 * most - 1, width)
    places = net.op("Slice", places, net.unsqueeze(first, 0), net.unsqueeze(last, 0), net.ints(1), net.ints(1))
    for _ in range(2):
        y = net.norm(x, width)
        q, k, v = (net.reshape(net.linear(y, width, width), 1, -1, n, size) for _ in "qkv")
        p = net.turn(net.reshape(net.linear(places, width, width, False), 1, -1, n, size), 0, 2, 1, 3)
        content, place = (net.turn(net.op("Add", q, net.weights(n, size)), 0, 2, 1, 3) for _ in range(2))
        s = net.op("MatMul", content, net.turn(k, 0, 2, 3, 1))
        s = net.op("Div", net.op("Add", s, relative_scores(net, place, p, n)), net.f(8))
        y = net.op("MatMul", net.op("Softmax", s, axis=-1), net.turn(v, 0, 2, 1, 3))
        x = net.op("Add", x, net.linear(unheads(net, y, 1, -1, width), width, width))
        y = net.linear(net.silu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width)
        x = net.op("Add", x, y)
    return net.model(net.norm(x, width))


def perceiver():
    """256 latents look at 2048 inputs, then at themselves; no biases on keys."""
    net, width = Net(17), 512
    data = net.input("data", "batch", 2048, width)
    batch = net.size(data, 0)
    x = net.op("Expand", net.weights(1, 256, width), net.vector(batch, 256, width))
    for memory in (net.norm(data, width), None, None):
        x = net.op("Add", x, torch_attention(net, net.norm(x, width), width, 8, memory=memory))
        y = net.linear(net.gelu(net.linear(net.norm(x, width), width, width)), width, width)
        x = net.op("Add", x, y)
    return net.model(x)


def diffusion_block():
    """A residual block with time, then attention within and across, of a U-Net at 32 x 32."""
    net, width, side, n = Net(17), 320, 32, 8
    x = net.input("x", 1, width, side, side)
    time, text = net.input("time", 1, 1280), net.input("text", 1, 77, width)

    def group_norm(y, eps):
        z = net.reshape(y, 0, 32, -1)
        ones, zeros = net.constant(np.ones(32, np.float32)), net.constant(np.zeros(32, np.float32))
        z = net.op("InstanceNormalization", z, ones, zeros, epsilon=eps)
        z = net.op("Mul", net.op("Reshape", z, net.op("Shape", y)), net.weights(width, 1, 1))
        return net.op("Add", z, net.weights(width, 1, 1, fan=100))

    y = net.conv(net.silu(group_norm(x, 1e-5)), width, width, 3, 3, pad=1)
    t = net.op("Gemm", net.silu(time), net.weights(width, 1280, fan=1280), net.weights(width), transB=1)
    y = net.op("Add", y, net.unsqueeze(net.unsqueeze(t, 2), 3))
    x = net.op("Add", x, net.conv(net.silu(group_norm(y, 1e-5)), width, width, 3, 3, pad=1))
    y = net.conv(group_norm(x, 1e-6), width, width, 1, 1)
    y = net.reshape(net.turn(y, 0, 2, 3, 1), 1, side * side, width)
    for memory in (None, text):
        y = net.op("Add", torch_attention(net, net.norm(y, width), width, n, memory=memory, bias=False), y)
    z = net.linear(net.norm(y, width), width, 8 * width)
    a, b = net.op("Split", z, net.ints(4 * width, 4 * width), n=2, axis=-1)
    y = net.op("Add", net.linear(net.op("Mul", a, net.gelu(b)), 4 * width, width), y)
    y = net.turn(net.reshape(y, 1, side, side, width), 0, 3, 1, 2)
    return net.model(net.op("Add", net.conv(y, width, width, 1, 1), x))


# Recurrent networks.


def rnn(kind, gates):
    """Two layers in both directions, 256 wide, over [seq, batch, features]."""
    net, hidden, width = Net(), 256, 256
    x = net.input("x", "seq", "batch", width)
    for _ in range(2):
        w, r = (net.weights(2, gates * hidden, k, fan=k) for k in (width, hidden))
        b = net.weights(2, 2 * gates * hidden, fan=100)
        start = net.op("ConstantOfShape", net.vector(2, net.size(x, 1), hidden))
        states = [start] * (2 if kind == "LSTM" else 1)
        more = {"linear_before_reset": 1} if kind == "GRU" else {}
        y = net.op(kind, x, w, r, b, "", *states, n=2, hidden_size=hidden, direction="bidirectional", **more)[0]
        x = net.op("Reshape", net.turn(y, 0, 2, 1, 3), net.ints(0, 0, -1))
        width = 2 * hidden
    return net.model(x)


def lstm():
    return rnn("LSTM", 4)


def gru():
    return rnn("GRU", 3)


def lstm_step(net, x, h, c, hidden, width):
    """One step, spelt out as Keras's cells and torch's scripted ones are."""
    gates = net.op("Add", net.op("MatMul", x, net.weights(width, 4 * hidden, fan=width)),
                   net.op("MatMul", h, net.weights(hidden, 4 * hidden, fan=hidden)))
    gates = net.op("Add", gates, net.weights(4 * hidden))
    i, f, g, o = net.op("Split", gates, net.ints(*[hidden] * 4), n=4, axis=1)
    c = net.op("Add", net.op("Mul", net.op("Sigmoid", f), c), net.op("Mul", net.op("Sigmoid", i), net.op("Tanh", g)))
    return net.op("Mul", net.op("Sigmoid", o), net.op("Tanh", c)), c


def lstm_scan():
    net, hidden, width = Net(), 256, 256
    x = net.input("x", "seq", 1, width)
    body = Net(prefix="step_")
    h, c, row = body.input("h", 1, hidden), body.input("c", 1, hidden), body.input("row", 1, width)
    h, c = lstm_step(body, row, h, c, hidden, width)
    kept = body.op("Identity", h)
    outs = [helper.make_tensor_value_info(v, F32, [1, hidden]) for v in (h, c, kept)]
    graph = helper.make_graph(body.nodes, "step", body.inputs, outs, body.constants)
    zero = net.constant(np.zeros((1, hidden), np.float32))
    y = net.op("Scan", zero, zero, x, n=3, body=graph, num_scan_inputs=1)[2]
    return net.model(net.linear(y, hidden, 64))


def lstm_loop():
    """torch.jit.script's: a Loop that takes the row of its step."""
    net, hidden, width = Net(), 256, 256
    x = net.input("x", "seq", 1, width)
    body = Net(prefix="step_")
    step, go = body.input("step", kind=I64), body.input("go", kind=TensorProto.BOOL)
    h, c = body.input("h", 1, hidden), body.input("c", 1, hidden)
    h, c = lstm_step(body, body.op("Gather", x, step, axis=0), h, c, hidden, width)
    outs = [helper.make_tensor_value_info(body.op("Identity", go), TensorProto.BOOL, [])]
    outs += [helper.make_tensor_value_info(v, F32, [1, hidden]) for v in (h, c, body.op("Identity", h))]
    graph = helper.make_graph(body.nodes, "step", body.inputs, outs, body.constants)
    zero = net.constant(np.zeros((1, hidden), np.float32))
    y = net.op("Loop", net.size(x, 0), net.constant(np.bool_(True)), zero, zero, n=3, body=graph)[2]
    return net.model(net.linear(y, hidden, 64))


# Tables and graphs.


def tabular():
    """Twenty columns looked up in tables, ten numbers beside them, three layers."""
    net = Net()
    kinds = net.input("kinds", "batch", 20, kind=I64)
    parts = [net.input("numbers", "batch", 10)]
    for i in range(20):
        column = net.op("Gather", kinds, net.constant(np.int64(i)), axis=1)
        parts.append(embed(net, column, 100 + 10 * i, 16))
    x, width = net.op("Concat", *parts, axis=1), 330
    for out in (512, 256):
        x = net.op("Gemm", x, net.weights(out, width, fan=width), net.weights(out), transB=1)
        ones = [net.constant(np.ones(out, np.float32)) for _ in range(4)]
        x, width = net.op("BatchNormalization", net.op("Relu", x), *ones), out
    return net.model(net.op("Sigmoid", net.op("Gemm", x, net.weights(1, 256, fan=256), net.weights(1), transB=1)))


def wide_and_deep():
    """A sum of single weights beside embeddings through three layers, products of pairs as in factorisation machines."""
    net = Net()
    ids = net.input("ids", "batch", 26, kind=I64)
    wide = net.op("ReduceSum", embed(net, ids, 5000, 1), net.ints(1), keepdims=0)
    e = embed(net, ids, 5000, 16)
    total = net.op("ReduceSum", e, net.ints(1), keepdims=0)
    squares = net.op("ReduceSum", net.op("Mul", e, e), net.ints(1), keepdims=0)
    pairs = net.op("Sub", net.op("Mul", total, total), squares)
    pairs = net.op("Mul", net.op("ReduceSum", pairs, net.ints(1), keepdims=1), net.f(0.5))
    x, width = net.reshape(e, -1, 26 * 16), 26 * 16
    for out in (400, 400, 1):
        x, width = net.op("Relu", net.linear(x, width, out)) if out > 1 else net.linear(x, width, out), out
    return net.model(net.op("Sigmoid", net.op("Add", net.op("Add", wide, pairs), x)))


def graph_net():
    """Messages along 4096 edges, added up at 1024 nodes; then attention's softmax over the edges of a node."""
    net, width, nodes, edges = Net(18), 128, 1024, 4096
    x = net.input("x", nodes, width)
    ends = net.rng.integers(0, nodes, (2, edges))
    source, target = (net.constant(e.astype(np.int64)) for e in ends)
    spread = net.op("Expand", net.unsqueeze(target, 1), net.ints(edges, width))
    zero = net.constant(np.zeros((nodes, width), np.float32))
    for _ in range(2):
        m = net.op("Gather", net.linear(x, width, width), source, axis=0)
        y = net.op("ScatterElements", zero, spread, m, axis=0, reduction="add")
        x = net.op("Relu", net.op("Add", net.linear(x, width, width), y))
    a, b = (net.op("GatherND", net.linear(x, width, 1), net.unsqueeze(e, 1)) for e in (source, target))
    s = net.op("Exp", net.op("LeakyRelu", net.op("Add", a, b), alpha=0.2))
    column = net.unsqueeze(target, 1)
    total = net.op("ScatterND", net.constant(np.zeros((nodes, 1), np.float32)), column, s, reduction="add")
    s = net.op("Div", s, net.op("GatherND", total, column))
    m = net.op("Mul", net.op("Gather", x, source, axis=0), s)
    return net.model(net.op("ScatterElements", zero, spread, m, axis=0, reduction="add"))


TOKENS = "batch=1,seq=128"
MODELS = {f.__name__: (f, sizes) for f, sizes in (
    (llama_prefill, TOKENS + ",total=128"), (llama_decode, "batch=1,seq=1,past=127,total=128"), (vit_b, "batch=1"),
    (distilbert, TOKENS), (whisper_encoder, "batch=1"), (t5_encoder, TOKENS), (t5_decoder, "batch=1,seq=32,source=128"),
    (swin, ""), (clip_text, "batch=1"), (lstm, "batch=1,seq=100"), (gru, "batch=1,seq=100"), (lstm_scan, "seq=100"),
    (lstm_loop, "seq=100"), (roberta, TOKENS), (albert, TOKENS), (deberta, ""), (bert_tf, ""),
    (gpt_neox_decode, "batch=1,seq=1,past=127"), (encoder_23, TOKENS), (mlp_mixer, ""),
    (conformer, "batch=1,seq=200"), (perceiver, "batch=1"), (diffusion_block, ""), (tabular, "batch=64"),
    (wide_and_deep, "batch=64"), (graph_net, ""), (bloom, TOKENS), (gemma, TOKENS), (experts, "tokens=64"),
    (conformer_relative, "seq=100"))}

if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print(*MODELS)
    elif len(sys.argv) == 3 and sys.argv[1] in MODELS:
        function, its_sizes = MODELS[sys.argv[1]]
        onnx.save(function(), sys.argv[2])
        if its_sizes:
            with open(sys.argv[2].removesuffix(".onnx") + ".size", "w", encoding="utf-8") as file:
                print(its_sizes, file=file)
    else:
        sys.exit(__doc__)
