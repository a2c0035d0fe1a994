"""other_models.py — convolution networks as ONNX files: the shapes of published architectures, random weights.

usage: other_models.py NAME FILE.onnx    NAME-any: height and width are symbols; FILE.size says what they are in the benchmark
       other_models.py --list
       other_models.py --list-any         those that take images of any size

Batch normalisation that follows a convolution is folded into it, as exporters do.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A graph under construction; values are names, `shape` knows their sizes."""

    any_size, size = False, None

    def __init__(self, channels, height, width):
        self.rng = np.random.default_rng(7)
        self.nodes, self.constants, self.shape = [], [], {"x": [1, channels, height, width]}
        Net.size = height, width

    def op(self, kind, *inputs, shape=None, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        self.shape[out] = list(shape or self.shape[inputs[0]])
        return out

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *dims, fan=1):
        return self.constant((self.rng.standard_normal(dims) * (2 / fan) ** 0.5).astype(np.float32))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def act(self, x, kind):
        if kind == "silu":
            return self.op("Mul", x, self.op("Sigmoid", x))
        if kind == "relu6":
            return self.op("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))
        return self.op(kind, x) if kind else x

    def conv(self, x, out, kernel=3, stride=1, groups=1, act="Relu", pad=None):
        n, c, h, w = self.shape[x]
        kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        ph, pw = (kh // 2, kw // 2) if pad is None else (pad, pad)
        shape = [n, out, (h + 2 * ph - kh) // stride + 1, (w + 2 * pw - kw) // stride + 1]
        weights = self.weights(out, c // groups, kh, kw, fan=c // groups * kh * kw)
        y = self.op("Conv", x, weights, self.weights(out, fan=200), shape=shape, group=groups,
                    kernel_shape=[kh, kw], strides=[stride, stride], pads=[ph, pw, ph, pw])
        return self.act(y, act)

    def depthwise(self, x, kernel, stride=1, act="Relu"):
        return self.conv(x, self.shape[x][1], kernel, stride, self.shape[x][1], act)

    def norm(self, x, act="Relu"):
        c = self.shape[x][1]
        ones = [self.constant(np.ones(c, np.float32)) for _ in range(4)]
        return self.act(self.op("BatchNormalization", x, *ones), act)

    def pool(self, x, kernel=2, stride=2, pad=0, kind="MaxPool"):
        n, c, h, w = self.shape[x]
        shape = [n, c, (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1]
        return self.op(kind, x, shape=shape, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def mean(self, x):
        return self.op("GlobalAveragePool", x, shape=self.shape[x][:2] + [1, 1])

    def concat(self, *xs):
        channels = sum(self.shape[x][1] for x in xs)
        return self.op("Concat", *xs, axis=1, shape=[1, channels] + self.shape[xs[0]][2:])

    def upsample(self, x, mode="nearest"):
        n, c, h, w = self.shape[x]
        how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        if mode == "linear":
            how = {"coordinate_transformation_mode": "half_pixel"}
        scales = self.constant(np.array([1, 1, 2, 2], np.float32))
        return self.op("Resize", x, "", scales, mode=mode, shape=[n, c, 2 * h, 2 * w], **how)

    def excite(self, x, squeezed, inner="Relu", gate="Sigmoid"):
        y = self.conv(self.mean(x), squeezed, 1, act=inner)
        return self.op("Mul", x, self.conv(y, self.shape[x][1], 1, act=gate))

    def head(self, x, classes=1000):
        c = self.shape[x][1]
        flat = self.op("Flatten", self.mean(x), shape=[1, c])
        weights, bias = self.weights(c, classes, fan=c), self.weights(classes, fan=200)
        return self.op("Gemm", flat, weights, bias, shape=[1, classes])

    def model(self, *outputs):
        def info(name):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shape[name])

        if self.any_size:
            self.shape["x"][2:] = ["height", "width"]
            self.shape.update({y: None for y in outputs})
        graph = helper.make_graph(self.nodes, "net", [info("x")], [info(y) for y in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def vgg16():
    """Without its linear layers: those are matrix products."""
    net, y = Net(3, 224, 224), "x"
    for width, n in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(n):
            y = net.conv(y, width)
        y = net.pool(y)
    return net.model(net.head(y))


def inception_v3():
    net = Net(3, 299, 299)
    y = net.conv("x", 32, 3, 2, pad=0)
    y = net.conv(net.conv(y, 32, pad=0), 64)
    y = net.conv(net.conv(net.pool(y, 3), 80, 1), 192, pad=0)
    y = net.pool(y, 3)
    for pooled in (32, 64, 64):
        b = net.conv(net.conv(y, 48, 1), 64, 5)
        c = net.conv(net.conv(net.conv(y, 64, 1), 96), 96)
        d = net.conv(net.pool(y, 3, 1, 1, "AveragePool"), pooled, 1)
        y = net.concat(net.conv(y, 64, 1), b, c, d)
    c = net.conv(net.conv(net.conv(y, 64, 1), 96), 96, 3, 2, pad=0)
    y = net.concat(net.conv(y, 384, 3, 2, pad=0), c, net.pool(y, 3))
    for m in (128, 160, 160, 192):
        b = net.conv(net.conv(net.conv(y, m, 1), m, (1, 7)), 192, (7, 1))
        c = net.conv(net.conv(net.conv(y, m, 1), m, (7, 1)), m, (1, 7))
        c = net.conv(net.conv(c, m, (7, 1)), 192, (1, 7))
        d = net.conv(net.pool(y, 3, 1, 1, "AveragePool"), 192, 1)
        y = net.concat(net.conv(y, 192, 1), b, c, d)
    b = net.conv(net.conv(y, 192, 1), 320, 3, 2, pad=0)
    c = net.conv(net.conv(net.conv(net.conv(y, 192, 1), 192, (1, 7)), 192, (7, 1)), 192, 3, 2, pad=0)
    y = net.concat(b, c, net.pool(y, 3))
    for _ in range(2):
        b, c = net.conv(y, 384, 1), net.conv(net.conv(y, 448, 1), 384)
        d = net.conv(net.pool(y, 3, 1, 1, "AveragePool"), 192, 1)
        y = net.concat(net.conv(y, 320, 1), net.conv(b, 384, (1, 3)), net.conv(b, 384, (3, 1)),
                       net.conv(c, 384, (1, 3)), net.conv(c, 384, (3, 1)), d)
    return net.model(net.head(y))


def efficientnet_b0():
    net = Net(3, 224, 224)
    y = net.conv("x", 32, 3, 2, act="silu")
    rows = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
            (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]
    for expand, out, n, stride, kernel in rows:
        for i in range(n):
            x, c = y, net.shape[y][1]
            if expand > 1:
                y = net.conv(y, c * expand, 1, act="silu")
            y = net.depthwise(y, kernel, stride if i == 0 else 1, "silu")
            y = net.conv(net.excite(y, c // 4, "silu"), out, 1, act=None)
            y = net.op("Add", x, y) if i else y
    return net.model(net.head(net.conv(y, 1280, 1, act="silu")))


def densenet121():
    net = Net(3, 224, 224)
    y = net.pool(net.conv("x", 64, 7, 2), 3, 2, 1)
    for block, n in enumerate((6, 12, 24, 16)):
        if block:
            y = net.conv(net.norm(y), net.shape[y][1] // 2, 1, act=None)
            y = net.pool(y, kind="AveragePool")
        for _ in range(n):
            y = net.concat(y, net.conv(net.conv(net.norm(y), 128, 1), 32, act=None))
    return net.model(net.head(net.norm(y)))


def shuffle(net, x, groups):
    n, c, h, w = net.shape[x]
    y = net.op("Reshape", x, net.ints(n, groups, c // groups, h, w), shape=[n, groups, c // groups, h, w])
    y = net.op("Transpose", y, perm=[0, 2, 1, 3, 4], shape=[n, c // groups, groups, h, w])
    return net.op("Reshape", y, net.ints(n, c, h, w), shape=[n, c, h, w])


def halves(net, x):
    n, c, h, w = net.shape[x]
    shape, bounds = [n, c // 2, h, w], (net.ints(0), net.ints(c // 2), net.ints(c))
    return [net.op("Slice", x, bounds[k], bounds[k + 1], net.ints(1), shape=shape) for k in range(2)]


def shufflenet_v2():
    net = Net(3, 224, 224)
    y = net.pool(net.conv("x", 24, 3, 2), 3, 2, 1)
    for width, n in [(116, 4), (232, 8), (464, 4)]:
        half = width // 2
        a = net.conv(net.depthwise(y, 3, 2, None), half, 1)
        b = net.conv(net.depthwise(net.conv(y, half, 1), 3, 2, None), half, 1)
        y = shuffle(net, net.concat(a, b), 2)
        for _ in range(n - 1):
            a, b = halves(net, y)
            b = net.conv(net.depthwise(net.conv(b, half, 1), 3, 1, None), half, 1)
            y = shuffle(net, net.concat(a, b), 2)
    return net.model(net.head(net.conv(y, 1024, 1)))


def shufflenet_v1():
    """With groups of convolutions: 3."""
    net = Net(3, 224, 224)
    y = net.pool(net.conv("x", 24, 3, 2), 3, 2, 1)
    for width, n in [(240, 4), (480, 8), (960, 4)]:
        for i in range(n):
            x, c = y, net.shape[y][1]
            y = net.conv(y, width // 4 // 3 * 3, 1, groups=3 if c > 24 else 1)
            y = net.depthwise(shuffle(net, y, 3), 3, 1 if i else 2, None)
            y = net.conv(y, width if i else width - c, 1, groups=3, act=None)
            y = net.op("Add", x, y) if i else net.concat(net.pool(x, 3, 2, 1, "AveragePool"), y)
            y = net.op("Relu", y)
    return net.model(net.head(y))


def resnext50():
    net = Net(3, 224, 224)
    y = net.pool(net.conv("x", 64, 7, 2), 3, 2, 1)
    for out, n in [(256, 3), (512, 4), (1024, 6), (2048, 3)]:
        for i in range(n):
            x, stride = y, 2 if i == 0 and out > 256 else 1
            y = net.conv(net.conv(y, out // 2, 1), out // 2, 3, stride, groups=32)
            x = x if i else net.conv(x, out, 1, stride, act=None)
            y = net.op("Relu", net.op("Add", x, net.conv(y, out, 1, act=None)))
    return net.model(net.head(y))


def squeezenet():
    net = Net(3, 224, 224)
    y = net.conv("x", 64, 3, 2, pad=0)
    for i, squeeze in enumerate([16, 16, 32, 32, 48, 48, 64, 64]):
        y = net.pool(y, 3) if i in (0, 2, 4) else y
        y = net.conv(y, squeeze, 1)
        y = net.concat(net.conv(y, 4 * squeeze, 1), net.conv(y, 4 * squeeze))
    return net.model(net.mean(net.conv(y, 1000, 1)))


def unet():
    """Encoder and decoder of four levels, transposed convolutions, 256 x 256."""
    net, y, levels = Net(3, 256, 256), "x", []
    for width in (32, 64, 128, 256):
        y = net.conv(net.conv(y, width), width)
        levels.append(y)
        y = net.pool(y)
    y = net.conv(net.conv(y, 512), 512)
    for width in (256, 128, 64, 32):
        n, c, h, w = net.shape[y]
        y = net.op("ConvTranspose", y, net.weights(c, width, 2, 2, fan=c), net.weights(width, fan=200),
                   kernel_shape=[2, 2], strides=[2, 2], shape=[n, width, 2 * h, 2 * w])
        y = net.concat(levels.pop(), y)
        y = net.conv(net.conv(y, width), width)
    return net.model(net.conv(y, 2, 1, act=None))


def gan():
    """DCGAN's generator: transposed convolutions 4x4 with stride 2."""
    net = Net(128, 4, 4)
    y = net.conv("x", 512)
    for width in (256, 128, 64, 32, 3):
        n, c, h, w = net.shape[y]
        y = net.op("ConvTranspose", y, net.weights(c, width, 4, 4, fan=4 * c), net.weights(width, fan=200),
                   kernel_shape=[4, 4], strides=[2, 2], pads=[1, 1, 1, 1], shape=[n, width, 2 * h, 2 * w])
        y = net.act(y, "Relu" if width > 3 else "Tanh")
    return net.model(y)


def fcn():
    """Segmentation: dilated convolutions and bilinear Resize over a small trunk."""
    net = Net(3, 256, 256)
    y = net.conv(net.conv("x", 32, 3, 2), 64, 3, 2)
    low = y
    for _ in range(3):
        y = net.op("Add", y, net.conv(net.conv(y, 64), 64))
    y = net.conv(y, 128, 3, 2)
    branches = [net.conv(y, 64, 1)]
    for d in (2, 4, 8):
        z = net.op("Conv", y, net.weights(64, 128, 3, 3, fan=1152), net.weights(64, fan=200), kernel_shape=[3, 3],
                   dilations=[d, d], pads=[d] * 4, shape=[1, 64] + net.shape[y][2:])
        branches.append(net.op("Relu", z))
    y = net.upsample(net.conv(net.concat(*branches), 64, 1), "linear")
    y = net.conv(net.concat(y, net.conv(low, 32, 1)), 64)
    return net.model(net.upsample(net.upsample(net.conv(y, 21, 1, act=None), "linear"), "linear"))


def c2f(net, x, out, n, add):
    """YOLOv8's block: halves, a chain of bottlenecks, all of them side by side."""
    half = out // 2
    y = net.conv(x, out, 1, act="silu")
    parts = halves(net, y)
    for _ in range(n):
        z = net.conv(net.conv(parts[-1], half, act="silu"), half, act="silu")
        parts.append(net.op("Add", parts[-1], z) if add else z)
    return net.conv(net.concat(*parts), out, 1, act="silu")


def yolo_n():
    """YOLOv8n at 320 x 320: trunk, pyramid and heads."""
    net = Net(3, 320, 320)
    y, levels = net.conv("x", 16, 3, 2, act="silu"), []
    for width, n in [(32, 1), (64, 2), (128, 2), (256, 1)]:
        y = c2f(net, net.conv(y, width, 3, 2, act="silu"), width, n, True)
        levels.append(y)
    y = net.conv(y, 128, 1, act="silu")
    pools = [y]
    for _ in range(3):
        pools.append(net.pool(pools[-1], 5, 1, 2))
    p5 = net.conv(net.concat(*pools), 256, 1, act="silu")
    p4 = c2f(net, net.concat(net.upsample(p5), levels[2]), 128, 1, False)
    p3 = c2f(net, net.concat(net.upsample(p4), levels[1]), 64, 1, False)
    q4 = c2f(net, net.concat(net.conv(p3, 64, 3, 2, act="silu"), p4), 128, 1, False)
    q5 = c2f(net, net.concat(net.conv(q4, 128, 3, 2, act="silu"), p5), 256, 1, False)
    flat = []
    for y in (p3, q4, q5):
        box = net.conv(net.conv(net.conv(y, 64, act="silu"), 64, act="silu"), 64, 1, act=None)
        kind = net.conv(net.conv(net.conv(y, 80, act="silu"), 80, act="silu"), 80, 1, act="Sigmoid")
        both = net.concat(box, kind)
        cells = net.shape[both][2] * net.shape[both][3]
        flat.append(net.op("Reshape", both, net.ints(1, 144, cells), shape=[1, 144, cells]))
    cells = sum(net.shape[v][2] for v in flat)
    return net.model(net.op("Concat", *flat, axis=2, shape=[1, 144, cells]))


def convnext_tiny():
    """Two stages less deep than the published one."""
    net = Net(3, 224, 224)

    def layer_norm(y, channels):
        scale, shift = net.weights(channels), net.weights(channels, fan=200)
        return net.op("LayerNormalization", y, scale, shift, axis=-1, epsilon=1e-6)

    def linear(y, out):
        c = net.shape[y][-1]
        y = net.op("MatMul", y, net.weights(c, out, fan=2 * c), shape=net.shape[y][:-1] + [out])
        return net.op("Add", y, net.weights(out, fan=200))

    def across(y, perm):
        return net.op("Transpose", y, perm=perm, shape=[net.shape[y][i] for i in perm])

    y = "x"
    for width, n, size in [(96, 3, 4), (192, 3, 2), (384, 3, 2), (768, 3, 2)]:
        if width > 96:
            y = across(layer_norm(across(y, [0, 2, 3, 1]), width // 2), [0, 3, 1, 2])
        y = net.conv(y, width, size, size, pad=0, act=None)
        for _ in range(n):
            z = layer_norm(across(net.depthwise(y, 7, act=None), [0, 2, 3, 1]), width)
            z = linear(z, 4 * width)
            half = net.constant(np.float32(0.5))
            e = net.op("Erf", net.op("Mul", z, net.constant(np.float32(0.5 ** 0.5))))
            z = net.op("Mul", net.op("Mul", z, half), net.op("Add", e, net.constant(np.float32(1))))
            z = net.op("Mul", linear(z, width), net.weights(width, fan=20))
            y = net.op("Add", y, across(z, [0, 3, 1, 2]))
    return net.model(net.head(y))


def mobilenet_v3():
    net = Net(3, 224, 224)
    y = net.conv("x", 16, 3, 2, act="HardSwish")
    rows = [(3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2),
            (5, 120, 40, 1, 0, 1), (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1),
            (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1),
            (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)]
    for kernel, wide, out, squeeze, hard, stride in rows:
        x, act = y, "HardSwish" if hard else "Relu"
        y = net.conv(y, wide, 1, act=act) if wide > net.shape[y][1] else y
        y = net.depthwise(y, kernel, stride, act)
        y = net.excite(y, (wide // 4 + 7) // 8 * 8, gate="HardSigmoid") if squeeze else y
        y = net.conv(y, out, 1, act=None)
        y = net.op("Add", x, y) if stride == 1 and net.shape[x][1] == out else y
    y = net.conv(net.mean(net.conv(y, 960, 1, act="HardSwish")), 1280, 1, act="HardSwish")
    return net.model(net.head(y))


def regnet():
    """RegNetX of 800 MFLOP: groups of 16 channels."""
    net = Net(3, 224, 224)
    y = net.conv("x", 32, 3, 2)
    for width, n in [(64, 1), (128, 3), (288, 7), (672, 5)]:
        for i in range(n):
            x, stride = y, 2 if i == 0 else 1
            y = net.conv(net.conv(y, width, 1), width, 3, stride, groups=width // 16)
            x = x if i else net.conv(x, width, 1, stride, act=None)
            y = net.op("Relu", net.op("Add", x, net.conv(y, width, 1, act=None)))
    return net.model(net.head(y))


def ghostnet():
    """Half of the channels from products, half from a depthwise convolution of those."""
    net = Net(3, 224, 224)

    def ghost(y, out, act="Relu"):
        half = net.conv(y, out // 2, 1, act=act)
        return net.concat(half, net.depthwise(half, 3, act=act))

    y = net.conv("x", 16, 3, 2)
    rows = [(3, 16, 16, 0, 1), (3, 48, 24, 0, 2), (3, 72, 24, 0, 1), (5, 72, 40, 1, 2), (5, 120, 40, 1, 1),
            (3, 240, 80, 0, 2), (3, 200, 80, 0, 1), (3, 184, 80, 0, 1), (3, 480, 112, 1, 1), (3, 672, 112, 1, 1),
            (5, 672, 160, 1, 2), (5, 960, 160, 0, 1), (5, 960, 160, 1, 1)]
    for kernel, wide, out, squeeze, stride in rows:
        x, c = y, net.shape[y][1]
        y = ghost(y, wide)
        y = net.depthwise(y, kernel, stride, None) if stride > 1 else y
        y = net.excite(y, wide // 4, gate="HardSigmoid") if squeeze else y
        y = ghost(y, out, None)
        if stride > 1 or c != out:
            x = net.conv(net.depthwise(x, kernel, stride, None), out, 1, act=None)
        y = net.op("Add", x, y)
    return net.model(net.head(net.conv(net.mean(net.conv(y, 960, 1)), 1280, 1)))


def ssd():
    """SSDLite's heads over the later half of MobileNetV2, 320 x 320: boxes and classes of five scales."""
    net = Net(3, 320, 320)
    y, levels = net.conv("x", 32, 3, 2, act="relu6"), []
    for out, n, stride in [(16, 1, 1), (24, 2, 2), (32, 3, 2), (96, 4, 2), (160, 3, 2)]:
        for i in range(n):
            x = y
            y = net.depthwise(net.conv(y, 6 * net.shape[y][1], 1, act="relu6"), 3, 1 if i else stride, "relu6")
            y = net.conv(y, out, 1, act=None)
            y = net.op("Add", x, y) if i else y
        levels.append(y)
    levels = levels[-2:]
    for out in (512, 256, 256):
        y = net.depthwise(net.conv(y, out // 2, 1, act="relu6"), 3, 2, "relu6")
        y = net.conv(y, out, 1, act="relu6")
        levels.append(y)
    found = []
    for per in (4, 91):
        rows = []
        for y in levels:
            n, _, h, w = net.shape[y]
            y = net.conv(net.depthwise(y, 3, 1, "relu6"), 6 * per, 1, act=None)
            y = net.op("Transpose", y, perm=[0, 2, 3, 1], shape=[n, h, w, 6 * per])
            rows.append(net.op("Reshape", y, net.ints(1, 6 * h * w, per), shape=[1, 6 * h * w, per]))
        total = sum(net.shape[y][1] for y in rows)
        found.append(net.op("Concat", *rows, axis=1, shape=[1, total, per]))
    return net.model(found[0], net.op("Sigmoid", found[1]))


def deeplab():
    """DeepLabV3's head: dilated and pooled branches over a small trunk."""
    net = Net(3, 257, 257)
    y = net.conv(net.conv("x", 32, 3, 2), 64, 3, 2)
    for width, n in [(128, 2), (256, 2)]:
        for i in range(n):
            y = net.conv(net.conv(y, width // 2, 1), width, 3, 2 if i == 0 and width == 128 else 1)
    n, c, h, w = net.shape[y]
    branches = [net.conv(y, 128, 1)]
    for d in (6, 12, 18):
        z = net.op("Conv", y, net.weights(c, 1, 3, 3, fan=9), net.weights(c, fan=200), kernel_shape=[3, 3], group=c,
                   dilations=[d, d], pads=[d] * 4, shape=[1, c, h, w])
        branches.append(net.conv(net.op("Relu", z), 128, 1))
    sizes = net.ints(1, 128, h, w)
    pooled = net.conv(net.mean(y), 128, 1)
    branches.append(net.op("Resize", pooled, "", "", sizes, mode="linear", coordinate_transformation_mode="align_corners",
                           shape=[1, 128, h, w]))
    y = net.conv(net.conv(net.conv(net.concat(*branches), 128, 1), 128), 21, 1, act=None)
    return net.model(net.op("Resize", y, "", "", net.ints(1, 21, 257, 257), mode="linear",
                            coordinate_transformation_mode="align_corners", shape=[1, 21, 257, 257]))


def hrnet():
    """Three resolutions side by side that exchange what they have."""
    net = Net(3, 256, 192)
    y = net.conv(net.conv("x", 64, 3, 2), 64, 3, 2)
    levels = [net.conv(y, 32), net.conv(y, 64, 3, 2), net.conv(net.conv(y, 64, 3, 2), 128, 3, 2)]
    for _ in range(2):
        for _ in range(2):
            levels = [net.op("Relu", net.op("Add", y, net.conv(net.conv(y, net.shape[y][1]), net.shape[y][1], act=None)))
                      for y in levels]
        fused = []
        for i, to in enumerate(levels):
            width, total = net.shape[to][1], None
            for k, y in enumerate(levels):
                if k > i:
                    y = net.conv(y, width, 1, act=None)
                    for _ in range(k - i):
                        y = net.upsample(y)
                for step in range(i - k):
                    y = net.conv(y, width, 3, 2, act=None if step == i - k - 1 else "Relu")
                total = y if total is None else net.op("Add", total, y)
            fused.append(net.op("Relu", total))
        levels = fused
    return net.model(net.conv(levels[0], 17, 1, act=None))


def edsr():
    """Super-resolution: residual blocks and two depth-to-space steps, 64 x 64 to 256 x 256."""
    net = Net(3, 64, 64)
    first = y = net.conv("x", 64, act=None)
    for _ in range(8):
        z = net.conv(net.conv(y, 64), 64, act=None)
        y = net.op("Add", y, net.op("Mul", z, net.constant(np.float32(0.1))))
    y = net.op("Add", first, net.conv(y, 64, act=None))
    for _ in range(2):
        y = net.conv(y, 256, act=None)
        n, c, h, w = net.shape[y]
        y = net.op("DepthToSpace", y, blocksize=2, mode="CRD", shape=[n, c // 4, 2 * h, 2 * w])
    return net.model(net.conv(y, 3, act=None))


def lines(net, x, out, kernel, stride=1, dilation=1, groups=1, act="Relu"):
    """A convolution along one dimension."""
    n, c, w = net.shape[x]
    pad = dilation * (kernel // 2)
    y = net.op("Conv", x, net.weights(out, c // groups, kernel, fan=c // groups * kernel), net.weights(out, fan=200),
               kernel_shape=[kernel], strides=[stride], dilations=[dilation], pads=[pad, pad], group=groups,
               shape=[n, out, (w + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1])
    return net.act(y, act)


def tasnet():
    """Conv-TasNet: speech in dilated depthwise convolutions along time, half a second at 16 kHz."""
    net = Net(1, 1, 8000)
    net.shape["x"] = [1, 1, 8000]
    mixed = lines(net, "x", 256, 16, 8)
    y = lines(net, mixed, 128, 1, act=None)
    for _ in range(2):
        for k in range(6):
            z = net.op("PRelu", lines(net, y, 256, 1, act=None), net.weights(256, 1, fan=20))
            z = lines(net, z, 256, 3, 1, 2 ** k, 256, act=None)
            z = net.op("PRelu", z, net.weights(256, 1, fan=20))
            y = net.op("Add", y, lines(net, z, 128, 1, act=None))
    mask = lines(net, y, 256, 1, act="Sigmoid")
    y = net.op("Mul", mixed, mask)
    n, c, w = net.shape[y]
    y = net.op("ConvTranspose", y, net.weights(256, 1, 16, fan=256), kernel_shape=[16], strides=[8], pads=[8, 8],
               shape=[1, 1, (w - 1) * 8])
    return net.model(y)


def r3d():
    """Video: 3 x 3 x 3 convolutions, 8 frames of 112 x 112."""
    net = Net(3, 112, 112)
    net.shape["x"] = [1, 3, 8, 112, 112]

    def conv(x, out, kernel, stride=(1, 1, 1), act="Relu"):
        n, c, *size = net.shape[x]
        pads = [k // 2 for k in kernel]
        shape = [n, out] + [(s + 2 * p - k) // d + 1 for s, p, k, d in zip(size, pads, kernel, stride)]
        fan = c * kernel[0] * kernel[1] * kernel[2]
        y = net.op("Conv", x, net.weights(out, c, *kernel, fan=fan), net.weights(out, fan=200),
                   kernel_shape=list(kernel), strides=list(stride), pads=pads * 2, shape=shape)
        return net.act(y, act)

    y = conv("x", 32, (3, 7, 7), (1, 2, 2))
    for width in (32, 64, 128, 256):
        x, stride = y, (1, 1, 1) if width == 32 else (2, 2, 2)
        y = conv(conv(y, width, (3, 3, 3), stride), width, (3, 3, 3), act=None)
        x = x if width == 32 else conv(x, width, (1, 1, 1), stride, None)
        y = net.op("Relu", net.op("Add", x, y))
    y = net.op("GlobalAveragePool", y, shape=[1, 256, 1, 1, 1])
    y = net.op("Flatten", y, shape=[1, 256])
    return net.model(net.op("Gemm", y, net.weights(256, 400, fan=256), net.weights(400, fan=200), shape=[1, 400]))


MODELS = {f.__name__: f for f in (vgg16, inception_v3, efficientnet_b0, densenet121, shufflenet_v1, shufflenet_v2,
                                  resnext50, squeezenet, unet, gan, fcn, yolo_n, convnext_tiny, mobilenet_v3,
                                  regnet, ghostnet, ssd, deeplab, hrnet, edsr, tasnet, r3d)}

ANY_SIZE = [f.__name__ for f in (efficientnet_b0, densenet121, resnext50, unet, fcn, convnext_tiny, mobilenet_v3, regnet,
                                 ghostnet, deeplab, edsr)]


def write(name, path):
    """NAME, or NAME-any with the sizes of its benchmark beside it."""
    plain = name.removesuffix("-any")
    Net.any_size = name != plain
    onnx.save(MODELS[plain](), path)
    if Net.any_size:
        with open(path.removesuffix(".onnx") + ".size", "w") as out:
            out.write("height={},width={}\n".format(*Net.size))


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print(*MODELS)
    elif sys.argv[1:] == ["--list-any"]:
        print(*(name + "-any" for name in ANY_SIZE))
    elif len(sys.argv) == 3 and (sys.argv[1] in MODELS or sys.argv[1].removesuffix("-any") in ANY_SIZE):
        write(sys.argv[1], sys.argv[2])
    else:
        sys.exit(__doc__)
